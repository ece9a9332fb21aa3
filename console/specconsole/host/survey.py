"""The first look at a host: one shell script whose answer says who we are there and what can run our programs.

The script then becomes that interpreter, with the best rights: a session less to open, and over a slow link the programs
are on their way while it looks.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from specconsole.text import one_line

MARK = "specconsole-survey-1"
OLDEST = (3, 8)
_PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
# RHEL 8 keeps 3.6 as python3 and platform-python, and newer ones beside it under their full names.
_NAMES = "python3 /usr/libexec/platform-python " + " ".join(f"python3.{minor}" for minor in range(14, 7, -1))

SCRIPT = "; ".join(
    (
        "p=$PATH l=$LC_ALL w= y=",
        f"PATH={_PATH}:$PATH",
        "LC_ALL=C",
        "export PATH LC_ALL",
        f"echo {MARK}",
        "u=$(id -u)",
        'echo "uid $u"',
        'echo "user $(id -un)"',
        'echo "groups $(id -Gn)"',
        'echo "hostname $(uname -n)"',
        'echo "boot $(cat /proc/sys/kernel/random/boot_id)"',
        f"for n in {_NAMES}; do q=$(command -v $n) || continue",
        'v=$("$q" -I -S -c "import sys;print(sys.version.split()[0])" 2>/dev/null) || continue',
        'echo "python $v $q"',
        'case $v in 3.[0-7].*) ;; 3.*) y=$q; break ;; *) break ;; esac; done',
        # sudo may ask a directory service that does not answer: the survey must not wait for it.
        'if [ "$u" = 0 ]; then :; else t=$(command -v timeout) && t="$t 4"',
        's=$($t sudo -n true 2>&1 </dev/null) && echo "sudo yes" && w="sudo -n" || echo "sudo no $s"; fi',
        "echo end",
        '[ "$#" = 0 ] || [ -z "$y" ] && exit',
        'PATH=$p; if [ "$l" ]; then LC_ALL=$l; else unset LC_ALL; fi',  # what runs then is to speak the login's language
        'exec $w "$y" "$@"',
    )
)  # fmt: skip
"""For `sh -c`, in single quotes: without a single quote, newline, backslash or "!" (csh's history) in it. Where a name and
words follow it, they are the arguments of the interpreter that it ends as."""


@dataclass(frozen=True)
class Survey:
    """What the script said."""

    uid: int = -1
    user: str = ""
    hostname: str = ""
    boot_id: str = ""
    groups: tuple[str, ...] = ()
    pythons: tuple[tuple[str, str], ...] = ()
    """Interpreters that were tried, as (version, path), in the order of preference."""
    sudo: bool = False
    sudo_reason: str = ""
    whole: bool = False
    """Its last line came."""
    noise: tuple[str, ...] = field(default=())
    """What the login shell printed before it."""

    @property
    def python(self) -> tuple[str, str] | None:
        """The first interpreter that is new enough, as (version, path)."""
        return next((found for found in self.pythons if _version(found[0]) >= OLDEST), None)


def parse(output: bytes) -> Survey:
    """Read the script's answer; lines before its mark are noise of the login shell."""
    lines = output.decode(errors="replace").splitlines()
    at = next((i for i, line in enumerate(lines) if line.strip() == MARK), None)
    if at is None:
        return Survey(noise=tuple(lines))
    survey = Survey(noise=tuple(lines[:at]))
    for line in lines[at + 1 :]:
        survey = _add(survey, line)
        if survey.whole:
            break  # what follows is the interpreter's
    return survey


def _add(survey: Survey, line: str) -> Survey:
    key, _, value = line.strip().partition(" ")
    if key == "uid" and value.isdecimal() and len(value) < 11:
        return replace(survey, uid=int(value))
    if key == "user":
        return replace(survey, user=one_line(value))
    if key == "hostname":
        return replace(survey, hostname=one_line(value))
    if key == "boot":
        return replace(survey, boot_id=one_line(value).replace("-", ""))
    if key == "groups":
        return replace(survey, groups=tuple(value.split()))
    if key == "python":
        version, _, path = value.partition(" ")
        return replace(survey, pythons=(*survey.pythons, (version, path)))
    if key == "sudo":
        answer, _, reason = value.partition(" ")
        return replace(survey, sudo=answer == "yes", sudo_reason=one_line(reason))
    return replace(survey, whole=True) if key == "end" else survey


def _version(text: str) -> tuple[int, ...]:
    return tuple(int(part) for part in text.split(".")[:2] if part.isdecimal() and len(part) < 6)
