"""Where in a unit's command vLLM is started, behind whatever starts it: env, numactl, a shell, a script, a container."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from specconsole.remote import unit_search
from specconsole.service import container, environment
from specconsole.service.container import Container
from specconsole.service.shell import Run, Shell
from specconsole.service.shellword import UNKNOWN

MODULES = ("vllm.entrypoints.openai.api_server", "vllm.entrypoints.api_server")
"""Started with -m, or by their file; their arguments follow at once."""
COMMAND_MODULES = ("vllm.entrypoints.cli.main", "vllm", "vllm.scripts")
"""The module forms of the `vllm` program: `serve` follows."""
STARTERS = (
    "env",
    "numactl",
    "taskset",
    "nice",
    "ionice",
    "chrt",
    "stdbuf",
    "timeout",
    "nohup",
    "setsid",
    "sudo",
    "conda",
)
"""Programs that start another one and are never scripts of ours."""

_ASSIGNED = re.compile(r"[A-Za-z_]\w*=")
_MENTION = re.compile(r"vllm\s+serve|vllm\.entrypoints|vllm/vllm-openai")


class Files:
    """What is known of the host's files; what is asked for and not known is `wanted`."""

    def __init__(self, known: Mapping[str, str | None] | None = None, folder: str = "/") -> None:
        self.known: dict[str, str | None] = dict(known or {})
        """None: not there, or not readable."""
        self.wanted: set[str] = set()
        self.missed: set[str] = set()
        """What was asked for and gave nothing."""
        self.folder = folder
        """Relative paths start here: the unit's working directory."""

    def read(self, path: str) -> str | None:
        """The content of a file; None when it is not readable, or not yet known."""
        if UNKNOWN in path or not path:
            return None
        if not path.startswith("/"):
            path = f"{self.folder.rstrip('/')}/{path.removeprefix('./')}"
        if path not in self.known:
            self.wanted.add(path)
        elif self.known[path] is None:
            self.missed.add(path)
        return self.known.get(path)


@dataclass(frozen=True)
class Launch:
    """One way in which vLLM is started."""

    launcher: str
    """serve, module, docker, or shell: a wrapper that could not be looked into."""
    arguments: tuple[str, ...] = field(default=(), repr=False)
    """vLLM's own, after `serve` or the module."""
    environment: Mapping[str, str] = field(default_factory=dict, repr=False)
    program: str = ""
    """The interpreter, or the `vllm` script: where the installed version can be read."""
    container: Container | None = None
    output: str | None = None
    """The file that its output goes to, where a shell redirects it."""
    certain: bool = True
    """False: a script starts it only under some condition, or starts several."""


def find(argv: Sequence[str], env: Mapping[str, str], files: Files, *, complete: bool = True) -> Launch | None:
    """Find vLLM in a command; None: this command does not start it. `complete`: `env` is all of the environment."""
    for at, word in enumerate(argv):
        name = word.rpartition("/")[2]
        if name in container.PROGRAMS and (found := container.parse(argv[at + 1 :], word)):
            return _contained(found, env, files)
        if (script := _script(argv, at, files)) is not None:
            launch = _in_script(script, _assigned(argv[:at], env), files, complete=complete)
            return launch or find(argv[at + 1 :], env, files, complete=complete)
        if launch := _direct(argv, at):
            return replace(launch, environment=_assigned(argv[:at], env))
    return None


def _direct(argv: Sequence[str], at: int) -> Launch | None:
    word, rest = argv[at], tuple(argv[at + 1 :])
    interpreter = next((w for w in reversed(argv[:at]) if w.rpartition("/")[2].startswith("python")), "")
    if word.rpartition("/")[2] == "vllm" and rest[:1] == ("serve",):
        return Launch("serve", rest[1:], program=interpreter or word)
    module = word[2:] if word.startswith("-m") and word != "-m" else rest[0] if word == "-m" and rest else ""
    after = rest if word != "-m" else rest[1:]
    if module in MODULES:
        return Launch("module", after, program=interpreter)
    if module in COMMAND_MODULES and after[:1] == ("serve",):
        return Launch("module", after[1:], program=interpreter)
    if any(word.endswith(f"{name.replace('.', '/')}.py") for name in MODULES):
        return Launch("module", rest, program=interpreter)
    return None


def _assigned(words: Sequence[str], env: Mapping[str, str]) -> dict[str, str]:
    """The environment after `env A=1 …`."""
    if not any(word.rpartition("/")[2] == "env" for word in words):
        return dict(env)
    return {**env, **environment.assignments([word for word in words if _ASSIGNED.match(word)])}


# -- shells and scripts --


@dataclass(frozen=True)
class _Script:
    text: str | None
    """None: not readable."""
    arguments: tuple[str, ...]
    name: str


def _script(argv: Sequence[str], at: int, files: Files) -> _Script | None:
    """The script that the word at `at` runs: after a shell, or as a program of its own."""
    word = argv[at]
    if word.rpartition("/")[2] in unit_search.SHELLS:
        return _after_shell(argv[at + 1 :], files)
    if word.endswith((".sh", ".bash")) or (_leads(argv[:at]) and _may_be_script(argv[at:])):
        text = files.read(word)
        first = (text or "").partition("\n")[0]
        if text is not None and first.startswith("#!") and first.split()[-1].rpartition("/")[2] in unit_search.SHELLS:
            return _Script(text, tuple(argv[at + 1 :]), word)
        if word.endswith((".sh", ".bash")):
            return _Script(text, tuple(argv[at + 1 :]), word)
    return None


def _leads(words: Sequence[str]) -> bool:
    """Whether the next word is the program: nothing stands before it, or env with variables."""
    rest = words[1:] if words[:1] and words[0].rpartition("/")[2] == "env" else words
    return all(_ASSIGNED.match(word) for word in rest) if rest is not words else not words


def _may_be_script(argv: Sequence[str]) -> bool:
    """A program that is worth a look: it starts nothing that we know, and is none of those that start others."""
    name = argv[0].rpartition("/")[2]
    known = name.startswith("python") or name in (*STARTERS, *container.PROGRAMS)
    return (
        "/" in argv[0]
        and not _ASSIGNED.match(argv[0])
        and not known
        and not any(_direct(argv, at) for at in range(len(argv)))
    )


def _after_shell(words: Sequence[str], files: Files) -> _Script | None:
    rest = list(words)
    while rest and rest[0].startswith(("-", "+")):
        option = rest.pop(0)
        if not option.startswith("--") and option.endswith("c"):
            return _Script(rest[0], tuple(rest[2:]), "-c") if rest else None
        if option in ("-o", "+o", "--rcfile", "--init-file") and rest:
            rest.pop(0)
    return _Script(files.read(rest[0]), tuple(rest[1:]), rest[0]) if rest else None


def _in_script(script: _Script, env: Mapping[str, str], files: Files, *, complete: bool) -> Launch | None:
    if script.text is None:
        return Launch("shell", certain=False) if "vllm" in script.name.lower() else None
    shell = Shell(env, script.arguments, files.read, complete=complete)
    runs = shell.read(script.text)
    found = [(run, launch) for run in runs if (launch := _of_run(run, shell, files))]
    if not found:
        return Launch("shell", certain=False) if _MENTION.search(script.text) else None
    run, launch = found[0]
    alike = all(other.arguments == launch.arguments for _, other in found)
    return replace(launch, output=launch.output or run.output, certain=launch.certain and alike)


def _of_run(run: Run, shell: Shell, files: Files) -> Launch | None:
    env = {**shell.words.variables, **run.assigned}
    return find(run.words, env, files, complete=shell.words.unset == "")


# -- containers --


def _contained(found: Container, env: Mapping[str, str], files: Files) -> Launch | None:
    inside = {name: env.get(name, "") if value is None else value for name, value in found.environment.items()}
    for path in found.environment_files:
        inside = {**_plain_file(files.read(path) or ""), **inside}
    launch = find(found.command, inside, Files())
    if launch is None or launch.launcher == "shell":
        if "vllm" not in found.image.lower():
            return None
        words = tuple(found.command)
        launch = launch or Launch("docker", words[1:] if words[:1] == ("serve",) else words)
    return replace(launch, launcher="docker", environment=inside, container=found, program="")


def _plain_file(text: str) -> dict[str, str]:
    """A file of --env-file: NAME=VALUE lines, no quotes."""
    return environment.assignments([line for line in text.splitlines() if not line.startswith("#")])
