"""The completion scripts of bash, zsh and fish, written from the syntax of every verb."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from shlex import quote

from specconsole.verb.syntax import FILES, Option, Syntax, Value

_BASH = r"""# bash completion of specconsole:  eval "$(specconsole completions bash)"  in ~/.bashrc
_specconsole_syntax() { # what a verb takes: options, those with a value as NAME=KIND, kinds of its places
    flags= valued= places=
    case $1 in
%(verbs)s
    esac
}

_specconsole_offer() { # KIND, into COMPREPLY: =a,b are choices; file, folder; else what the program knows
    local kind=$1 IFS=$'\n'
    case $kind in
    =*) kind=${kind#=}; COMPREPLY=($(compgen -W "${kind//,/$IFS}" -- "$cur")) ;;
    file) compopt -o filenames 2>/dev/null; COMPREPLY=($(compgen -f -- "$cur")) ;;
    folder) compopt -o filenames 2>/dev/null; COMPREPLY=($(compgen -d -- "$cur")) ;;
    ?*) COMPREPLY=($("${program/#\~/$HOME}" completions words "$kind" -- "$cur" 2>/dev/null))
        case $kind in profile | plan)
            local file; for file in $(compgen -f -- "$cur"); do COMPREPLY+=("$file"); done ;;
        esac ;;
    esac
}

_specconsole() {
    local program=$1 cur line words flags valued places word before= place=0 i kind
    COMPREPLY=()
    line=${COMP_LINE:0:COMP_POINT}
    read -ra words <<<"$line" # not COMP_WORDS: those are cut at : and @, which hosts are made of
    [[ $line == *[[:space:]] ]] && words+=("")
    cur=${words[${#words[@]} - 1]}
    if ((${#words[@]} <= 2)); then
        COMPREPLY=($(compgen -W "%(names)s --help --version" -- "$cur"))
        return
    fi
    _specconsole_syntax "${words[1]}"
    for ((i = 2; i < ${#words[@]} - 1; i++)); do
        word=${words[i]}
        if [[ -n $before ]]; then before=; continue; fi
        case $word in
        --) ;;
        -*) [[ " $valued " == *" $word="* ]] && before=$word ;;
        *) place=$((place + 1)) ;;
        esac
    done
    if [[ -n $before ]]; then
        kind=" $valued "; kind=${kind#*" $before="}; _specconsole_offer "${kind%%%% *}"
    elif [[ $cur == --*=* ]]; then
        before=${cur%%%%=*} cur=${cur#*=}
        kind=" $valued "
        [[ $kind == *" $before="* ]] && { kind=${kind#*" $before="}; _specconsole_offer "${kind%%%% *}"; }
        return # bash takes = for the end of a word
    elif [[ $cur == -* ]]; then
        COMPREPLY=($(compgen -W "$flags" -- "$cur"))
    else
        set -- $places
        ((place >= $# && $# > 0)) && [[ ${!#} == *+ ]] && place=$(($# - 1))
        shift $((place < $# ? place : $#)); kind=${1-}; _specconsole_offer "${kind%%+}"
    fi
    # What bash takes for the word begins behind the last :, or at the last @; the answers must, too.
    local own=${COMP_WORDS[COMP_CWORD]}
    [[ $own == [:@=] ]] && own=
    local cut=${cur%%"$own"}
    cut=${cut%%@} # readline keeps an @ with the word behind it
    for i in "${!COMPREPLY[@]}"; do COMPREPLY[i]=${COMPREPLY[i]#"$cut"}; done
}
complete -F _specconsole specconsole
"""


def bash(verbs: Sequence[Syntax]) -> str:
    """The script for bash 4.2 and newer."""
    cases = []
    for one in verbs:
        flags = " ".join(name for option in one.options for name in option.names)
        valued = " ".join(
            f"{name}={_kind(option.value)}" for option in one.options for name in option.names if option.value
        )
        places = " ".join((_kind(place) or "-") + ("+" if place.many else "") for place in one.places)
        cases.append(f"    {one.verb}) flags={quote(flags)} valued={quote(valued)} places={quote(places)} ;;")
    return _BASH % {"verbs": "\n".join(cases), "names": " ".join(one.verb for one in verbs)}


def _kind(value: Value | None) -> str:
    if value is None:
        return ""
    return f"={','.join(value.choices)}" if value.choices else value.kind


_ZSH = r"""#compdef specconsole
# zsh completion of specconsole:  source <(specconsole completions zsh)  behind compinit in ~/.zshrc, or as _specconsole on the fpath
_specconsole_words() { # options of compadd, then the kind
    local kind=$argv[-1]
    local -a found
    found=(${(f)"$(_call_program words ${(q)words_program} completions words $kind -- ${(q)PREFIX} 2>/dev/null)"})
    (( $#found )) && compadd "${(@)argv[1,-2]}" -- $found
    case $kind in profile|plan) _files ;; esac
}

_specconsole() {
    local words_program=$words[1] state line
    local -a verbs
    if (( CURRENT == 2 )); then
        verbs=(
%(verbs)s
        )
        _describe verb verbs
        _arguments '--help[show this page and end]' '--version[tell the version]'
        return
    fi
    local verb=$words[2]
    shift words; (( CURRENT-- ))
    case $verb in
%(cases)s
    esac
}

if [[ $funcstack[1] == _specconsole ]]; then _specconsole "$@"; else compdef _specconsole specconsole; fi
"""


def zsh(verbs: Sequence[Syntax]) -> str:
    """The script for zsh 5."""
    lines = [f"            {quote(f'{one.verb}:{one.line}')}" for one in verbs]
    cases = [f"    {one.verb}) _arguments -S \\\n        {_zsh_specs(one)} ;;" for one in verbs]
    return _ZSH % {"verbs": "\n".join(lines), "cases": "\n".join(cases)}


def _zsh_specs(one: Syntax) -> str:
    return " \\\n        ".join([*(_zsh_option(option) for option in one.options), *_zsh_places(one.places)])


def _zsh_option(option: Option) -> str:
    told = "[" + _zsh_text(option.help) + "]"
    names = list(option.names)
    if option.value:
        told += f":{_zsh_text(option.value.name)}:{_zsh_action(option.value)}"
        names = [f"{name}=" if name.startswith("--") else f"{name}+" for name in names]  # = or a blank before the value
    if len(names) == 1:
        return quote(names[0] + told)
    exclusive = " ".join(option.names)
    return f"{quote(f'({exclusive})')}{{{','.join(names)}}}{quote(told)}"


def _zsh_places(places: Sequence[Value]) -> Iterator[str]:
    for number, place in enumerate(places, 1):
        at = "*" if place.many else str(number)
        yield quote(f"{at}:{_zsh_text(place.name)}:{_zsh_action(place)}")


def _zsh_text(text: str) -> str:
    """A text within a spec: brackets and colons mean something there."""
    return "".join("\\" + c if c in "[]:\\" else c for c in text)


def _zsh_action(value: Value) -> str:
    if value.choices:
        return f"({' '.join(value.choices)})"
    if value.kind in FILES:
        return "_files" + (" -/" if value.kind == "folder" else "")
    return f"_specconsole_words {value.kind}" if value.kind else " "


_FISH = r"""# fish completion of specconsole:  specconsole completions fish | source  in ~/.config/fish/config.fish
function __specconsole_at # VERB NUMBER [VALUED…]: whether word NUMBER behind VERB (1: the first) is typed now
    set -l words (commandline -opc)
    set -l number 1
    set -l skip 0
    test "$words[2]" = "$argv[1]"; or return 1
    for word in $words[3..-1]
        if test $skip = 1
            set skip 0
        else if contains -- $word $argv[3..-1]
            set skip 1
        else if not string match -q -- '-*' $word
            set number (math $number + 1)
        end
    end
    test $skip = 0; and test $number = $argv[2]
end

function __specconsole_verb
    set -l words (commandline -opc)
    test "$words[2]" = "$argv[1]"
end

function __specconsole_words
    set -l words (commandline -opc)
    $words[1] completions words $argv[1] -- (commandline -ct) 2>/dev/null
end

complete -c specconsole -f
complete -c specconsole -n 'test (count (commandline -opc)) = 1' -l version -d 'tell the version'
"""


def fish(verbs: Sequence[Syntax]) -> str:
    """The script for fish 3."""
    first = "complete -c specconsole -n 'test (count (commandline -opc)) = 1' -f"
    lines = [_FISH, *(f"{first} -a {one.verb} -d {_fish(one.line)}" for one in verbs)]
    for one in verbs:
        valued = " ".join(name for option in one.options if option.value for name in option.names)
        verb = f"complete -c specconsole -n '__specconsole_verb {one.verb}'"
        lines += [f"{verb} {_fish_option(option)}" for option in one.options]
        for number, place in enumerate(one.places, 1):
            at = (
                _fish(f"__specconsole_at {one.verb} {number} {valued}")
                if not place.many
                else f"'__specconsole_verb {one.verb}'"
            )
            lines.append(f"complete -c specconsole -n {at} {_fish_value(place)}")
    return "\n".join(lines) + "\n"


def _fish_option(option: Option) -> str:
    names = " ".join(f"-l {name[2:]}" if name.startswith("--") else f"-s {name[1:]}" for name in option.names)
    value = "" if option.value is None else f" -r {_fish_value(option.value)}"
    return f"{names}{value} -d {_fish(option.help)}"


def _fish_value(value: Value) -> str:
    if value.choices:
        return f"-f -a {_fish(' '.join(value.choices))}"
    if value.kind == "folder":
        return "-f -a '(__fish_complete_directories (commandline -ct))'"
    if value.kind == "file":
        return "-F"
    if not value.kind:
        return "-f"
    files = "-F" if value.kind in ("profile", "plan") else "-f"
    return f"{files} -a '(__specconsole_words {value.kind})'"


def _fish(text: str) -> str:
    """Quote for fish, where only \\ and ' mean something within '…'."""
    return "'" + text.replace("\\", "\\\\").replace("'", "\\'") + "'"


SCRIPTS: Mapping[str, Callable[[Sequence[Syntax]], str]] = {"bash": bash, "zsh": zsh, "fish": fish}
