"""The last resort for a Python: the one that runs a vLLM unit, where it is as safe to run as root as the system's own.

A unit's interpreter may lie in a folder that its user can write. It is used only if it and every folder on the way to it,
through every link, belong to root and can be written by nobody else.
"""

from __future__ import annotations

from specconsole.text import one_line

# A digit of a mode that is 2, 3, 6 or 7 means: may write. A sticky folder of all is no safe place either.
_SAFE = (
    "safe() { p=$1; while :; do"
    ' s=$(stat -L -c "%u %a" "$p") || return 1;'
    ' case $s in "0 "*[2367]? | "0 "*[2367]) return 1 ;; "0 "*) ;; *) return 1 ;; esac;'
    ' [ "$p" = / ] && return 0; p=$(dirname "$p"); done; }'
)
# Each link on the way is a file that somebody could point elsewhere: it is judged where it lies, and where it leads.
_FOLLOW = (
    "follow() { q=$1; while :; do"
    ' d=$(readlink -f "$(dirname "$q")") && safe "$q" && safe "$d/$(basename "$q")" || return 1;'
    ' [ -L "$q" ] || return 0; t=$(readlink "$q");'
    " case $t in /*) q=$t ;; *) q=$d/$t ;; esac; done; }"
)
_UNITS = 'systemctl show -p ExecStart "*.service" | grep -i vllm | grep -o "path=[^ ;]*" | cut -c 6- | sort -u'
_INTERPRETER = (
    'case $f in */python*) i=$f ;; *) IFS= read -r l < "$f" || continue;'
    ' case $l in "#"?/*) i=${l#??}; i=${i%% *} ;; *) continue ;; esac ;; esac'
)
_VERSION = 'v=$("$i" -I -S -c "import sys;print(sys.version.split()[0])") && echo "python $v $i"'
SCRIPT = (
    "PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin:$PATH; LC_ALL=C; export PATH LC_ALL; "
    f"{_SAFE}; {_FOLLOW}; for f in $({_UNITS}); do {_INTERPRETER}; "
    f'[ -x "$i" ] || continue; if follow "$i"; then {_VERSION}; else echo "unsafe $i"; fi; done 2>/dev/null; echo end'
)
"""For `sh -c`, in single quotes, as the survey's."""


def parse(output: bytes) -> tuple[tuple[tuple[str, str], ...], tuple[str, ...]]:
    """Read the answer: interpreters as (version, path), and those that are not safe to run."""
    found: list[tuple[str, str]] = []
    unsafe: list[str] = []
    for line in output.decode(errors="replace").splitlines():
        key, _, value = line.partition(" ")
        version, _, path = value.partition(" ")
        if key == "python" and path.startswith("/"):
            found.append((version, path))
        elif key == "unsafe":
            unsafe.append(one_line(value))
    return tuple(found), tuple(unsafe)
