"""Start scripts as people write them: what would run, and what only running would tell."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from specconsole.service.shell import Run, Shell
from specconsole.service.shellword import UNKNOWN

U = UNKNOWN


def runs(
    script: str, *arguments: str, complete: bool = True, files: dict[str, str] | None = None, **env: str
) -> list[Run]:
    return Shell(env, arguments, (files or {}).get, complete=complete).read(script)


def words(script: str, *arguments: str, **env: str) -> list[list[str]]:
    return [run.words for run in Shell(env, arguments).read(script)]


@pytest.mark.parametrize(
    ("script", "expected"),
    [
        ("a 'b c' \"d $X\" e\\ f $'g'", [["a", "b c", "d 1 2", "e f", "g"]]),
        ('a $X "$X" ${X} x$X', [["a", "1", "2", "1 2", "1", "2", "x1", "2"]]),
        ('a "" \'\' $EMPTY "$EMPTY" ${NO:-} end', [["a", "", "", "", "end"]]),
        ('a ${NO:-d e} "${NO-d e}" ${X:+set} ${NO:+set} ${X:=y}', [["a", "d", "e", "d e", "set", "1", "2"]]),
        ("B=b; a $B; B+=c; a $B; export C=$B D='x y'; a $C $D", [["a", "b"], ["a", "bc"], ["a", "bc", "x", "y"]]),
        (
            'L=(p "q r" # note\n s)\nL+=(t)\na "${L[@]}" $L ${L[*]}',
            [["a", "p", "q r", "s", "t", "p", "p", "q", "r", "s", "t"]],
        ),
        ('E=(); a "${E[@]}" b', [["a", "b"]]),
        ("a b \\\n  c # d\n#e\n f", [["a", "b", "c"], ["f"]]),
        ("a && b || c | d & e;f", [["a"], ["b"], ["d"], ["e"], ["f"]]),
        ("cat <<EOF >/x\nvllm serve no\nEOF\na", [["cat"], ["a"]]),
        ("C='a b'; $C c; eval \"$C 'd e'\"", [["a", "b", "c"], ["a", "b", "d e"]]),
        ("f() {\n a\n}\nf", [["f"], ["a"], ["f"]]),
        ("exec a; command b; time c", [["a"], ["b"], ["c"]]),
        ("a 2>&1 >/dev/null <in", [["a"]]),
        ('a "\\$X \\" `date`"', [["a", f'$X " {U}']]),
        ('a $(b "c d" (e)) $((1+2))', [["a", U, U]]),
        ("a ${X%%.*} ${#L[@]} $? $0", [["a", U, U, U, U]]),
        ('set -- p q; a $1 "$@" $3; shift; a $1', [["a", "p", "p", "q"], ["a", "q"]]),
    ],
)
def test_words(script: str, expected: list[list[str]]) -> None:
    assert words(script, X="1 2", EMPTY="") == expected


@pytest.mark.parametrize(
    ("condition", "says"),
    [
        ('[ -n "$S" ]', True),
        ('[ -z "$S" ]', False),
        ('[ -n "$NO" ]', False),
        ("[[ -n $NO ]]", False),
        ("[[ -z ${NO:-} ]]", True),
        ('[ "$S" = on ]', True),
        ('[ "$S" == "off" ]', False),
        ("[[ $S != o* ]]", False),
        ('! [ "$S" = on ]', False),
        ('[ ! "$S" = on ]', False),
        ("test 8 -gt 4", True),
        ('[ -n "$S" ] && [ -n "$NO" ]', False),
        ('[ -n "$S" ] || [ -n "$NO" ]', True),
        ("true", True),
        ("false", False),
        ("[ -v S ]", True),
        ("[ -f /x ]", None),
        ('[ "$(id -u)" = 0 ]', None),
        ("[[ $S =~ o. ]]", None),
    ],
)
def test_a_condition_that_can_be_known_decides(condition: str, says: bool | None) -> None:
    found = runs(f"if {condition}; then yes; else no; fi\nafter", S="on")
    taken = [(run.words[0], run.certain) for run in found]
    expected = {True: [("yes", True)], False: [("no", True)], None: [("yes", False), ("no", False)]}
    assert taken == [*expected[says], ("after", True)]


def test_the_first_true_part_of_an_if_is_taken() -> None:
    script = 'if [ "$S" = a ]; then one; elif [ "$S" = b ]; then two; elif [ "$S" = b ]; then three; else four; fi'
    assert words(script, S="b") == [["two"]]
    assert words(script, S="c") == [["four"]]
    nested = 'if [ -n "$S" ]; then if [ "$S" = x ]; then a; else b; fi; c; fi; d'
    assert words(nested, S="x") == [["a"], ["c"], ["d"]]
    assert words(nested, S="") == [["d"]]


def test_what_may_be_added_is_marked_and_what_is_not_added_is_not_there() -> None:
    script = 'A=(--x)\nif {}; then A+=(--spec "$S"); O="$O --spec"; fi\nrun "${{A[@]}}" $O'
    assert words(script.format('[ -n "$S" ]'), S="", O="--o") == [["run", "--x", "--o"]]
    assert words(script.format('[ -n "$S" ]'), S="s", O="--o") == [["run", "--x", "--spec", "s", "--o", "--spec"]]
    assert words(script.format("[ -f /x ]"), S="s", O="--o") == [["run", "--x", U, "--o", U]]
    assert words('[ -n "$S" ] && A=b\nrun $A', S="", A="a")[-1] == ["run", "a"]
    assert words('[ -n "$S" ] || A=b\nrun $A', S="", A="a")[-1] == ["run", "b"]
    assert words('[ -n "$S" ] && A=x || A=y\nrun $A', S="")[-1] == ["run", "y"]
    assert words('[ -n "$S" ] && A=x || A=y\nrun $A', S="1")[-1] == ["run", "x"]
    assert words("P=8\nif [ -f /x ]; then P=9; fi\nrun $P") == [["run", U]]


def test_loops_and_cases_are_never_certain() -> None:
    found = runs(
        'for i in 1 2; do a $i; done\nuntil curl x; do sleep 1; done\ncase "$S" in on) b ;; *) c ;; esac\nd', S="on"
    )
    assert [(run.words[0], run.certain) for run in found if run.words[0] in "abcd"] == [
        ("a", False),
        ("b", False),
        ("c", False),
        ("d", True),
    ]
    assert found[0].words == ["a", U]


def test_a_sourced_file_is_read_and_one_that_cannot_be_read_leaves_variables_open() -> None:
    assert words("source /etc/x; run $A", "arg") == [["run", U]]
    found = runs('. /etc/x\nrun $A "$1" $NO', "arg", files={"/etc/x": "A=a\nexport B=b"})
    assert [run.words for run in found] == [["run", "a", "arg"]]
    assert words("source /opt/venv/bin/activate && run $NO x") == [["run", "x"]]
    assert [run.words for run in runs("run $NO", complete=False)] == [["run", U]]
    loop = runs(". /a\nrun", files={"/a": ". /a\nb"})
    assert loop[-1].words == ["run"]


def test_where_the_output_goes() -> None:
    assert [run.output for run in runs("a > /x 2>&1; b >>/y; c &> $L; d 2>/e; e | tee /t; f 1>/o", L="/z")] == [
        *("/x", "/y", "/z", None, None, None),
        "/o",
    ]
    assert [run.output for run in runs("exec >> /all 2>&1\na\nb > /x")] == ["/all", "/x"]


def test_assignments_before_a_command_are_its_own() -> None:
    (run,) = runs("A=1 B='2 3' cmd x")
    assert (run.words, run.assigned) == (["cmd", "x"], {"A": "1", "B": "2 3"})


@given(st.text("abc $\"'\\(){}[]<>|&;\n#=`@*!:-+ifthenfdoe", max_size=80))
def test_no_script_breaks_the_reader(script: str) -> None:
    runs(script, "x", A="b c")
