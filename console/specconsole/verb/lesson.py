"""What each verb's help teaches beside its options: lines to type, keys, and how it ends. Data."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

USAGE = {2: "usage or configuration", 130: "interrupted"}
LINK = {**USAGE, 4: "the link is refused or lost"}
FAILED = {1: "failed, or not permitted"}
OF_A_SWAP = {0: "it is done", 1: "blocked, failed or rolled back", 3: "no such unit, or none runs", **LINK}


@dataclass(frozen=True)
class Lesson:
    """What one verb teaches."""

    examples: tuple[tuple[str, str], ...]
    """A line to type, and what it does; the first is what mistakes are answered with."""
    ends: Mapping[int, str]
    """Exit code and what it means here."""
    keys: tuple[tuple[str, str], ...] = field(default=())
    """Keys of its screen, or while it runs."""

    def text(self) -> str:
        """As paragraphs for the end of a help page; lines that begin with a blank stay as they are."""
        parts = ["Examples:\n" + _rows(self.examples)]
        if self.keys:
            parts.append("Keys:\n" + _rows(self.keys))
        codes = "; ".join(f"{code} {meaning}" for code, meaning in sorted(self.ends.items()))
        return "\n\n".join([*parts, f"Exit codes: {codes}."])


def _rows(pairs: tuple[tuple[str, str], ...]) -> str:
    wide = max(len(first) for first, _ in pairs)
    if wide <= 44:
        return "\n".join(f"  {first:<{wide}}  {second}".rstrip() for first, second in pairs)
    return "\n".join(f"  {first}" + (f"\n      {second}" if second else "") for first, second in pairs)


SCREEN = (
    ("?", "what the keys and the numbers of a pane mean"),
    ("Tab  j k", "from pane to pane, up and down"),
    ("Enter", "all of the selected unit, GPU, load or engine"),
    ("1 … 8", "dashboard, log, bench, compare, history, doctor, swap, experiment"),
    ("S X R D", "swap to, stop, restart, derive from a unit; asks first"),
    ("b  B", "measure the running unit; an experiment: swap to each arm of a plan in turn and measure it"),
    (": ctrl+p", "find a command by its name"),
    ("q", "leave"),
)

LESSONS: Mapping[str, Lesson] = {
    "connect": Lesson(
        (
            ("specconsole connect root@gpu-1", ""),
            ("specconsole connect gpu-1 --read-only", "nothing can be changed"),
            ("specconsole connect gpu-1 -J bastion", "through another host"),
            ("specconsole connect localhost", "the machine you are on"),
        ),
        {0: "you left", **FAILED, **LINK},
        SCREEN,
    ),
    "demo": Lesson(
        (
            ("specconsole demo", "recorded starts of a real vLLM"),
            ("specconsole demo --scenario oom --speed 60", "a start that fails, 60 times as fast"),
            ("specconsole demo --list", "all scenarios"),
            ("specconsole demo --replay specconsole-gpu-1.tar.gz", "what bundle collected"),
            ("specconsole demo --replay FILE --at error", "from just before the first error of its log"),
        ),
        {0: "you left", **USAGE},
        SCREEN,
    ),
    "status": Lesson(
        (
            ("specconsole status root@gpu-1", ""),
            ("specconsole status gpu-1 --json", "for a script: docs/json.md names every key"),
            ("specconsole status gpu-1 --look 60", "a load for a minute: after that a hang is certain"),
            ("specconsole status demo:normal:ngram", "without a host"),
        ),
        {
            0: "a vLLM unit runs at the end of the look, loading or serving",
            1: "the units could not be read",
            3: "none runs then",
            **LINK,
        },
    ),
    "units": Lesson(
        (
            ("specconsole units root@gpu-1", ""),
            ("specconsole units gpu-1 --follow", "again after each change"),
            ("specconsole units gpu-1 --lint", "and what is wrong with them"),
        ),
        {0: "listed", 1: "failed; with --lint: a unit would not start", **LINK},
    ),
    "gpus": Lesson(
        (
            ("specconsole gpus root@gpu-1 --once", ""),
            ("specconsole gpus gpu-1 --json --interval 0.5", "a line of JSON a sample"),
        ),
        {0: "there were samples", 1: "failed", 5: "nothing on the host tells of a GPU", **LINK},
    ),
    "engine": Lesson(
        (
            ("specconsole engine root@gpu-1", "a line every 10 s"),
            ("specconsole engine gpu-1 --once --window 60", "one minute, all figures"),
        ),
        {0: "measured", 1: "failed", 3: "nothing runs or answers", 5: "the server gives no numbers", **LINK},
    ),
    "logs": Lesson(
        (
            ("specconsole logs root@gpu-1 -n 50 -f", "the newest 50, and on"),
            ("specconsole logs gpu-1 --level warning", "what is worth reading"),
            ('specconsole logs gpu-1 -S "last start" -g KV', "of the last start, with a text"),
            ("specconsole logs gpu-1 -u ngram --json", "a line of JSON a record"),
        ),
        {0: "shown, or no record is such", **FAILED, 3: "no such unit, none runs, or it has never logged", **LINK},
    ),
    "bench": Lesson(
        (
            ("specconsole bench root@gpu-1 --label base", "five prompts, three times each"),
            ("specconsole bench gpu-1 --concurrency 1,4,16 --context 0,32k", "a row a combination"),
            ("specconsole bench gpu-1 --json > base.json", "for compare, or a script"),
            ("specconsole bench demo:ngram-loses:ngram@60", "without a host"),
        ),
        {
            0: "measured",
            1: "failed",
            3: "nothing runs",
            5: "measured, and a check says that the figures are wrong",
            **LINK,
            130: "ended by ctrl+c or --cancel; what was measured is kept",
        },
        (("ctrl+c", "end the run and keep what was measured; again: leave at once"),),
    ),
    "compare": Lesson(
        (
            ("specconsole compare 1 2", "two runs of specconsole history runs"),
            ("specconsole compare 1 2 3 4", "A-B-B-A: two starts each, enough for a verdict"),
            ("specconsole compare base.json ngram.json --md", "files, as Markdown"),
        ),
        {0: "a verdict", 5: "not comparable, or the starts give no verdict, as one each never do", **USAGE},
    ),
    "experiment": Lesson(
        (
            ("specconsole experiment plans", "those that there are"),
            ("specconsole experiment run this-host root@gpu-1 --dry-run", "the plan, and when it will end"),
            ("specconsole experiment run this-host root@gpu-1", "do it"),
            ("specconsole experiment report root@gpu-1 --to report", "the answer, with charts"),
        ),
        {0: "finished", **FAILED, 3: "none runs or lies there", 5: "too little to tell", **LINK},
        (("ctrl+c", "leave it to the host"),),
    ),
    "breakeven": Lesson(
        (
            ("specconsole breakeven --base 13.6 --spec 16.2 --tau 1.31 --k 5 --coverage 0.4", ""),
            ("specconsole breakeven --base 74tok/s --spec 62tok/s --step 21ms", "from step latency"),
        ),
        {0: "told", **USAGE},
    ),
    "bundle": Lesson(
        (
            ("specconsole bundle root@gpu-1", "specconsole-HOST-DATE.tar.gz"),
            ("specconsole bundle gpu-1 -S 2h --seconds 60 -o night.tar.gz", ""),
        ),
        {0: "written", **FAILED, **LINK},
    ),
    "explain": Lesson(
        (
            ("specconsole explain vllm.log", ""),
            ("specconsole explain night.tar.gz", "what bundle collected"),
            ("specconsole explain log.txt metrics.txt nvidia-smi.txt --json", "judged together"),
        ),
        {
            0: "explained, whatever it says",
            1: "with --exit-code: what is told failed or is stuck",
            5: "nothing of it is known",
            **USAGE,
        },
    ),
    "watch": Lesson(
        (
            ("specconsole watch root@gpu-1", "the unit that starts or runs"),
            ("specconsole watch gpu-1 ngram --timeout 7200", "two hours at most"),
            ("specconsole watch gpu-1 --on-ready 'say ready'", "and run something here at its end"),
            ("specconsole watch gpu-1 --on-stuck 'say stuck'", "and when it hangs"),
            ("specconsole watch demo:slow-disk@600", "without a host"),
        ),
        {
            0: "ready (answering, where read-only or without the key)",
            1: "the start failed, or had failed before",
            3: "the unit does not run",
            5: "the time is up",
            **LINK,
            4: "the link is refused, or down when the time is up",
        },
    ),
    "derive": Lesson(
        (
            (
                "specconsole derive gpu-1 vllm-kimi --variant ngram --method ngram --set num_speculative_tokens=5",
                "n-gram, 5 tokens",
            ),
            (
                "specconsole derive gpu-1 vllm-kimi --variant eagle3 --method eagle3 --set model=/models/kimi-eagle3 --dry-run",
                "a drafter; only the diff",
            ),
            ("specconsole derive gpu-1 vllm-kimi --variant ngram", "as the profile describes it; again: what changes"),
        ),
        {0: "written, or nothing to write", 1: "refused, declined or not permitted", 3: "no such unit", **LINK},
    ),
    "underive": Lesson(
        (
            ("specconsole underive gpu-1 vllm-kimi-ngram", ""),
            ("specconsole underive gpu-1 vllm-kimi-ngram --dry-run", "only say what would go"),
        ),
        {0: "removed", 1: "refused, declined or not permitted", 3: "no such unit", **LINK},
    ),
    "swap": Lesson(
        (
            ("specconsole swap root@gpu-1 ngram --dry-run", "the plan"),
            ("specconsole swap root@gpu-1 ngram", "the plan, then after a yes the swap"),
            ("specconsole swap root@gpu-1 --follow", "the one that runs, from its first step"),
            ("specconsole swap root@gpu-1 --cancel", "roll it back"),
        ),
        {**OF_A_SWAP, 0: "TARGET serves, or with --dry-run: could be begun"},
        (("ctrl+c", "asks: cancel (which rolls back), leave it to the host, or keep watching"),),
    ),
    "start": Lesson(
        (
            ("specconsole start root@gpu-1 baseline", ""),
            ("specconsole start root@gpu-1 baseline --yes --detach", "for a script; do not wait"),
        ),
        OF_A_SWAP,
    ),
    "stop": Lesson(
        (
            ("specconsole stop root@gpu-1", "the unit that runs"),
            ("specconsole stop root@gpu-1 ngram --drain 120", "wait two minutes for its requests"),
        ),
        OF_A_SWAP,
    ),
    "restart": Lesson(
        (
            ("specconsole restart root@gpu-1", "the unit that runs"),
            ("specconsole restart root@gpu-1 baseline --within 7200", "a load of two hours at most"),
        ),
        OF_A_SWAP,
    ),
    "lint": Lesson(
        (
            ("specconsole lint root@gpu-1", "all units"),
            ("specconsole lint root@gpu-1 ngram --fix", "mend one, after a yes"),
            ("specconsole lint root@gpu-1 baseline --drafters", "which drafters lie there, and fit"),
        ),
        {0: "nothing fails", 1: "something fails, or failed", 3: "no such unit", **LINK},
    ),
    "history": Lesson(
        (
            ("specconsole history runs", ""),
            ("specconsole history loads --host gpu-1 -n 5", ""),
            ("specconsole history trend gpu-1 vllm-kimi", "what got worse"),
            ("specconsole history export all.jsonl.gz", "for another machine"),
            ("specconsole history import result.json --host gpu-1 --unit vllm-kimi", "of vllm bench serve"),
        ),
        {0: "told", 1: "of trend: something got worse; or the history cannot be read", **USAGE},
    ),
    "profile": Lesson(
        (
            ("specconsole profile list", ""),
            ("specconsole profile init root@gpu-1", "write one from what is found there"),
            ("specconsole profile init root@gpu-1 -o -", "only print it"),
            ("specconsole profile validate kimi.toml", "file, line and nearest right key of a mistake"),
        ),
        {0: "good", 1: "failed", **LINK},
    ),
    "doctor": Lesson(
        (
            ("specconsole doctor root@gpu-1", ""),
            ("specconsole doctor localhost", "the machine you are on"),
            ("specconsole doctor --resources", "themes, profiles and recordings, and where they lie"),
        ),
        {0: "it works, perhaps limited", 1: "something is missing", **LINK},
    ),
    "completions": Lesson(
        (
            ('eval "$(specconsole completions bash)"', "bash: this line in ~/.bashrc"),
            ("source <(specconsole completions zsh)", "zsh: behind compinit in ~/.zshrc"),
            ("specconsole completions fish | source", "fish: in ~/.config/fish/config.fish"),
        ),
        {0: "printed", **USAGE},
    ),
}
