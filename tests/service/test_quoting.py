"""Words as systemd reads them: a table of what 252 and 257 made of real lines, and round trips of anything."""

from __future__ import annotations

import json
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from specconsole.service import environment, quoting, unitfile
from tests.service.machine import RECORDED

REAL = json.loads((RECORDED / "words.json").read_text(encoding="utf-8"))
ENVIRONMENT = json.loads((RECORDED / "environment.json").read_text(encoding="utf-8"))


def specifiers(name: str) -> dict[str, str]:
    stem = name.removesuffix(".service")
    fixed = "H=gpu-1 h=/root u=root U=0 t=/run S=/var/lib C=/var/cache L=/var/log E=/etc T=/tmp V=/var/tmp q=gpu-1 i="
    return (
        dict(pair.split("=", 1) for pair in fixed.split()) | {"n": name, "f": f"/{stem}"} | dict.fromkeys("NpPjJ", stem)
    )


@pytest.mark.parametrize("case", REAL, ids=[case["line"][:40] for case in REAL])
def test_a_line_becomes_the_words_that_systemd_made_of_it(case: dict[str, object]) -> None:
    settings = unitfile.parse(f"[Service]\nType=oneshot\nExecStart={case['line']}\nKillMode=none\n")
    mine = [
        [quoting.resolve(word, specifiers(str(case["name"]))) for word in command.argv[("@" in command.prefixes) :]]
        for command in settings.commands()
    ]
    real = [
        words[1:] if re.match(r"[-+!:]*@", str(case["line"])) else words
        for words in case["commands"]  # type: ignore[attr-defined]
    ]
    assert mine == real


def test_a_real_environment() -> None:
    settings = unitfile.parse(ENVIRONMENT["unit"])
    words = [quoting.resolve(word, {"n": "env.service"}) for word in settings.words("Environment")]
    mine = {**environment.assignments(words), **environment.parse_file(ENVIRONMENT["file"])}
    assert mine == ENVIRONMENT["real"]


@given(st.lists(st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"])), min_size=1))
def test_any_words_survive_being_written(words: list[str]) -> None:
    argv = ["/bin/program", *words]
    (command,) = unitfile.parse(f"[Service]\nExecStart={quoting.join(argv)}\n").commands()
    assert quoting.expand([quoting.resolve(word, {"a": "!"}) for word in command.argv], {"A": "!"}) == argv


@given(st.text())
def test_no_text_breaks_the_reader(text: str) -> None:
    for command in unitfile.parse(f"[Service]\nExecStart={text}\n").commands():
        assert command.argv
    environment.parse_file(text)


@pytest.mark.parametrize(
    ("argv", "expanded"),
    [
        (["$P", "${P}"], ["$P", "8"]),
        (["p", "a${P}b${Q}c", "$P", "$NO", "${NO}"], ["p", "a8bx yc", "8", ""]),
        (["p", "$Q", "a$Q", "$$Q", "$${P}", "$"], ["p", "x", "y", "a$Q", "$Q", "${P}", "$"]),
        (["p", "$J"], ["p", "--c", '{"a": 1}']),
        (["p", "$BAD"], ["p", "it's", "so"]),
        (["p", "${P", "${P-1}", "$1"], ["p", "${P", "${P-1}", "$1"]),
    ],
)
def test_variables(argv: list[str], expanded: list[str]) -> None:
    env = {"P": "8", "Q": "x y", "J": "--c '{\"a\": 1}'", "BAD": "it's so"}
    assert quoting.expand(argv, env) == expanded


def test_what_is_not_known_is_marked() -> None:
    assert quoting.expand(["p", "${A}x", "$A"], {}, "?") == ["p", "?x", "?"]
    assert quoting.resolve("%i/%z/%%", {"i": "1"}) == "1/%z/%"


def test_lists_are_reset_by_an_empty_value_and_single_values_by_the_last() -> None:
    main = "[Service]\nExecStart=/a\nExecStart=/b\nUser=x\n[Install]\nUser=z\n"
    settings = unitfile.parse(main, "[Service]\nExecStart=\nExecStart=/c d\nUser=y\n")
    assert [command.argv for command in settings.commands()] == [("/c", "d")]
    assert (settings.last("User"), settings.last("User", "Install"), settings.last("None")) == ("y", "z", "")
    assert settings.all("ExecStart") == ["/c d"]


def test_an_end_of_line_of_another_system() -> None:
    assert unitfile.parse("[Service]\r\nExecStart=/a b\r\n").commands()[0].argv == ("/a", "b")


@given(st.text(st.sampled_from("ab=\\\n \t\r#;[]'\"é")))
def test_every_letter_of_a_setting_is_found_in_its_file(text: str) -> None:
    for entry in unitfile.parse(text).entries:
        for at, letter in enumerate(entry.value):
            there = text[entry.place(at)]
            assert there == letter or (letter, there) == (" ", "\\")  # a continued line's backslash is a blank
        assert text[entry.begin :].startswith(entry.key[:1])


def test_where_a_continued_setting_stands() -> None:
    text = "[Service]\n  ExecStart = /a \\\n  # not this\n   b \\\n\n"
    (entry,) = unitfile.parse(text).entries
    assert (entry.value, entry.continued) == ("/a  b", True)
    assert [text[entry.place(at)] for at in (0, 1, 4)] == ["/", "a", "b"]
    assert text[entry.place(5) :] == " \\\n\n"
    assert text[entry.begin :].startswith("ExecStart")


@given(st.text(st.sampled_from("ab\\\"' ;%$nx4\t"), min_size=1))
def test_where_words_stand(text: str) -> None:
    for command in unitfile.parse(f"[Service]\nExecStart=/p {text}\n").commands():
        (entry,) = unitfile.parse(f"[Service]\nExecStart=/p {text}\n").entries
        for word, (start, end) in zip(command.argv[1:], command.spans[1:], strict=True):
            if entry.value[start:end] != "\\;":
                assert quoting.split(entry.value[start:end]) == [word]
                assert "".join(letter for letter, _, _ in quoting.spelling(entry.value, start, end)) == word


@given(st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"]), min_size=1), st.sampled_from("\"'"))
def test_text_put_into_a_word(added: str, mark: str) -> None:
    for line in (f"/p {mark}a{quoting.within(added, mark)}b{mark}", f"/p a{quoting.within(added, '')}b"):
        (command,) = unitfile.parse(f"[Service]\nExecStart={line}\n").commands()
        words = quoting.expand([quoting.resolve(word, {"a": "!"}) for word in command.argv], {"A": "!"})
        assert words == ["/p", f"a{added}b"]


def test_a_dollar_behind_a_colon_is_one() -> None:
    assert quoting.quote("$A%", variables=False) == "$A%%"
    assert quoting.quote('{"a": 1}') == "'{\"a\": 1}'"
