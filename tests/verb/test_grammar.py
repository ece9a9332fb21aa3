"""The command line as a whole: what help teaches is true, and a mistake is answered in one sentence with what is right."""

from __future__ import annotations

import re
import shlex

import pytest

from specconsole import cli
from specconsole.verb import grammar
from specconsole.verb.lesson import LESSONS


def test_the_command_alone_shows_every_verb(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main([]) == 2, "nothing was asked for"
    alone = capsys.readouterr().out
    for words in (["--help"], ["-h"], ["help"]):
        assert cli.main(words) == 0
        assert capsys.readouterr().out == alone
    listed = re.findall(r"^  (\w+) +\S", alone, re.MULTILINE)
    assert listed == list(grammar.VERBS)
    assert set(LESSONS) == set(grammar.VERBS)
    assert "specconsole demo" in alone


@pytest.mark.parametrize("name", grammar.VERBS)
def test_help_teaches(name: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "100")
    with pytest.raises(SystemExit) as ended:
        cli.main(["help", name])
    assert ended.value.code == 0
    said = capsys.readouterr().out
    for line, _ in LESSONS[name].examples:
        assert f"  {line}" in said
    for code, meaning in LESSONS[name].ends.items():
        assert f"{code} {meaning}" in " ".join(said.split())
    assert len({0, 2, 130} & set(LESSONS[name].ends)) == 3


EXAMPLES = [
    pytest.param(name, line, id=f"{name}-{number}")
    for name, lesson in LESSONS.items()
    for number, (line, _) in enumerate(lesson.examples)
]


@pytest.mark.parametrize(("name", "line"), EXAMPLES)
def test_examples_are_right(name: str, line: str) -> None:
    ours = re.search(r"specconsole [^|>)]*", line)
    assert ours
    words = shlex.split(ours[0])
    assert words[1] == name
    assert cli.parse(words[1:]).verb == name


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ("statos gpu-1", "There is no verb 'statos'. Did you mean status?"),
        ("xyzzy", "There is no verb 'xyzzy'. specconsole --help names them all."),
        ("status", "status needs HOST (USER@HOST[:PORT], an alias of ~/.ssh/config, localhost or demo)."),
        ("underive gpu-1", "underive needs UNIT."),
        ("status gpu-1 --jsn", "status takes no option --jsn. Did you mean --json?"),
        ("status gpu-1 x", "status takes no word x."),
        ("logs gpu-1 ngram", "logs takes no word ngram. Did you mean --unit ngram?"),
        ("status gpu-1 -p", "--port needs a value."),
        ("status gpu-1 -p x", "--port takes a whole number, not 'x'."),
        ("connect gpu-1 --rate x", "--rate takes a number, not 'x'."),
        ("bench gpu-1 --api x", "--api takes one of chat, completions, not 'x'."),
        ("bench gpu-1 --csv --md", "--md and --csv exclude each other."),
        ("breakeven --base 1 --spec 1", "breakeven needs one of --tau, --step, --length, --rate."),
        ("compare 1 2 --margin x", "--margin: x is no share: write 2% or 0.02."),
        ("watch gpu-1 --timeout nan", "--timeout nan is out of range."),
        ("completions words", "Which words? One of host"),
    ],
)
def test_a_mistake_is_one_sentence(words: str, said: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(words.split()) == 2
    told = capsys.readouterr()
    assert told.err.startswith(f"specconsole: {said}")
    assert told.err.count("\n") == 1
    assert not told.out


def test_a_mistake_shows_an_example(capsys: pytest.CaptureFixture[str]) -> None:
    cli.main(["swap"])
    assert "For example: specconsole swap root@gpu-1 ngram --dry-run; specconsole swap --help tells all." in (
        capsys.readouterr().err
    )
