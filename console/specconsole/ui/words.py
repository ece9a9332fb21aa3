"""What each pane shows, in words: the name on the screen, what it means, and where it comes from."""

from __future__ import annotations

from collections.abc import Mapping

Entry = tuple[str, str, str]
"""What stands on the screen, its meaning, its source."""

HEADER: tuple[Entry, ...] = (
    (
        "● up 12 ms",
        "the link stands; a message to the host and back took this long",
        "our keepalive, every few seconds",
    ),
    ("◌ stale 4 s", "the host has not answered for so long; what is shown may be old", "our keepalive"),
    ("✖ lost", "the link is broken; it is tried again by itself, for ever", "the SSH connection"),
    (
        "✖ refused",
        "the host said no: key, password or host key; nothing is tried again by itself",
        "the SSH connection",
    ),
    ("read/write, read-only", "whether anything that changes the host is offered", "your login's rights, --read-only"),
)

PANES: Mapping[str, tuple[Entry, ...]] = {
    "units": (
        ("● serving", "active, and its server answers health and model list", "systemd; /health and /v1/models"),
        ("● running", "active; whether its server answers is not known now", "systemd"),
        ("◐ loading", "active, and nothing listens at its port yet", "systemd; the host's sockets"),
        ("▲ not answering", "active; it answered before, and does not any more", "systemd; /health"),
        ("▲ stalled", "requests run, but no token was counted for 5 s or more", "/metrics"),
        ("✖ engine dead", "the server says that its engine has died", "/health"),
        ("◐ starting, stopping", "on its way", "systemd"),
        ("○ stopped", "not running, and not by failure", "systemd"),
        ("✖ failed", "the last run ended badly; systemd's reason stands in brackets", "systemd"),
        ("↻ restarting", "it ended and systemd is about to start it again", "systemd"),
        ("3 restarts", "how often systemd has started it again since it was last started by hand", "systemd"),
        (
            "load 24:10",
            "how long its last load took to be ready, or answering where nobody tried a token",
            "this machine's history",
        ),
        ("load failed", "its last load ended before it was ready", "this machine's history"),
        ("enabled, disabled …", "whether it starts with the host; masked: it cannot be started at all", "systemd"),
        ("ngram k=5", "its speculative method and how many tokens it drafts", "its command"),
        ("the time at the right", "how long it has been in this state, by the host's clock", "systemd"),
    ),
    "GPUs": (
        (
            "the bar, 92.8/95.6 GiB",
            "memory used and there is, without the driver's reserve",
            "NVML, as nvidia-smi counts",
        ),
        ("99%", "share of the last sample's time in which any kernel ran; not how busy the card was", "NVML"),
        (
            "▁▂▅▇█",
            "utilisation, and beside the bar memory, over the last samples, on a fixed scale from 0 to 100 %",
            "NVML",
        ),
        ("288/600W", "power now against the limit that is set; coloured from 98 % of it on", "NVML"),
        ("61°, ▲91°", "temperature of the chip in °C; marked from 85 on", "NVML"),
        ("▼2.1▲2.0", "PCIe into and out of the card, GB/s; dear to read, so it may be left out", "NVML"),
        ("2,415/2,600 MHz", "clock of the multiprocessors now, and the highest there is", "NVML"),
        ("SM 43 %, DRAM 61 %", "multiprocessors that had work, bandwidth used; newer server cards only", "NVML's GPM"),
        (
            "▲ only waits",
            "ghost utilisation: busy at a power near idle, and memory still: a kernel only waits for others",
            "NVML",
        ),
        ("›", "the selected card: arrows choose, Enter shows all of it", ""),
        ("▾ power cap", "why the clocks are lowered now", "NVML"),
        ("✖ Xid 79, ECC 3", "the driver's last error; memory errors that were not corrected", "NVML"),
        ("✖ GPU is lost", "nothing can be read of this card; the others go on", "NVML"),
        ("no fault seen", "every card could be asked, and none reports Xid or uncorrected memory errors", "NVML"),
        ("—", "cannot be read here; it is never shown as 0", ""),
    ),
    "load": (
        ("loading 38m12s", "since this start began, by the host's clock", "systemd"),
        ("weights 12/64 shards", "how many the model's loader has read; a drafter's stand apart", "the log"),
        ("✖ ended", "this start failed: systemd's words, then the first error of the log", "systemd; the log"),
    ),
    "GPU": (
        (
            "the curves",
            "the last minutes on fixed scales; full up to the least value of a column's time, faint up to the greatest",
            "NVML",
        ),
        ("┄", "nothing was read then: the link was cut, or the driver gave no number; zero is blank", ""),
        ("utilisation, SM", "share of time in which any kernel ran; share of multiprocessors that had work", "NVML"),
        ("PCIe in, out", "both on one scale: 1, 4, 16, 64 or 128 GB/s, the least that holds all", "NVML"),
        ("processes", "who holds the card, the biggest first, and the unit that it belongs to", "NVML; /proc, cgroup"),
        ("age", "since the value came here; ≤10 s for what is read only every ten seconds", "when it came here"),
        ("—", "unknown, and why; it is never shown as 0", ""),
    ),
    "engine": (
        (
            "● answering",
            "health and model list answer; it does not prove that tokens can be generated",
            "/health, /v1/models",
        ),
        (
            "over 10 s, latencies 60 s",
            "how long the windows are that the figures are taken over",
            "the times of our polls",
        ),
        ("running, waiting", "requests in the engine, and queued before it", "/metrics"),
        ("out, in", "tokens generated and prompt tokens computed per second", "/metrics"),
        (
            "TPOT",
            "(last token − first) / (tokens − 1) of requests that ended, without those of one token; a mean before 0.11",
            "/metrics",
        ),
        ("TTFT", "arrival to first token with queueing, of requests that got theirs", "/metrics"),
        ("step", "between two outputs of a request: of one token, or of several with speculation", "/metrics"),
        (
            "p50 p90 p99",
            "estimated within a bucket: such that the exact mean comes out, else by a straight line; <10: only that is known",
            "/metrics",
        ),
        ("queue, ended", "mean wait for a place, and how many requests ended", "/metrics"),
        ("KV 41 % (12–87)", "share of the KV cache in use; from least to most among several engines", "/metrics"),
        ("prefix hits", "prompt tokens found in the prefix cache, of those looked up in the window", "/metrics"),
        ("preemptions", "requests that lost their place in the window, for want of KV cache", "/metrics"),
        ("τ", "tokens per step, over all steps of the window: what a step brings", "/metrics"),
        ("coverage", "share of steps that drafted", "/metrics"),
        ("AL", "1 + accepted / drafts: tokens per step that drafted, bonus token included", "/metrics"),
        ("accepted", "draft tokens accepted, of those drafted", "/metrics"),
        ("by position", "share of all drafts whose token at that position was accepted", "/metrics"),
        ("engine 0", "one of several engines (data parallel); the rows above are their sum", "/metrics"),
        ("—", "no data; it is never shown as 0", ""),
    ),
    "log": (
        ("▲", "a warning, by the record's own header", "the journal, or the unit's log file"),
        ("✖", "an error; reversed when critical", "the same"),
        ("◆", "what systemd says of the unit", "the journal"),
        ("╌", "lines are missing here: rotated, suppressed or vacuumed", "the journal"),
        ("▸", "the last state of a progress bar", "the unit"),
        ("→", "a request in the server's access log; equal ones are folded", "the unit"),
        ("following", "the end is shown and kept in view", ""),
        ("▮ held, 12 new entries", "you scrolled; this many came since. G follows the end again", ""),
        ("a time in reverse", "the cursor: Enter shows that record, y copies it, m marks it", ""),
        ("⚑", "a record that you marked; ' and \" go from one to the next", ""),
        ("×8", "so many ranks said this, word for word, within 10 s; x shows each", "the unit"),
        ("(+11 like it)", "so many more of the console's own polls, of which only one is shown", "the unit"),
        ('"oom" 3/1,204', "the search, the hit you are at, and how many lines hold it; /…/ is an expression", ""),
        ("invalid, too slow", "it is no expression, or one that would take for ever; nothing is marked", ""),
        ("only errors, TP3", "what the filters let through; Esc clears them. Gaps and systemd pass every level", ""),
        ("looking, 34 %", "so much of the log has passed the filter; the newest comes first", ""),
        ("⇤ 32 cells", "so much of each line is out of view at the left; h leads back", ""),
        ("›", "the line goes on; l shows more, w wraps it", ""),
        ("\ufffd", "a control character that your terminal would have obeyed", "the unit"),
        ("quiet for 38 s", "nothing was logged for so long; alone it means nothing", ""),
    ),
    "benchmark": (
        ("▶ measuring, 12/25", "what runs now, and requests done of those planned", "the run"),
        ("TTFT", "from sending to the first token that came back", "the load generator on the host"),
        ("TPOT", "(last token − first) / (tokens − 1), by usage, never by chunks", "the load generator"),
        ("step", "time between streamed chunks: what others call ITL", "the load generator"),
        ("τ", "tokens per step, over all steps; it leads", "/metrics, or the streams"),
        ("AL, coverage", "tokens per step that drafted, and the share of steps that did", "/metrics"),
        ("▲", "what weakens these figures; ✖ makes them worthless", "checks after the run"),
        ("—", "not known; it is never shown as 0", ""),
    ),
    "unit": (
        (
            "command",
            "every word as systemd starts it, variables put in; ? is not known, *** a secret",
            "unit files, D-Bus",
        ),
        (
            "environment",
            "what the unit sets; systemd adds PATH, INVOCATION_ID and a few more",
            "unit files, environment files",
        ),
        ("starts", "when each began, how long it ran, how it ended", "the journal"),
        ("loads", "what this machine watched of them: answering is not ready", "this machine's history"),
        ("files", "the unit's file, its drop-ins in their order, scripts that it runs", "the host's files"),
        ("- and +", "what only this unit has, and what only the other one has", "both definitions"),
    ),
    "doctor": (
        ("✖ missing", "what the console leans on is not there", "looked at on the host, just now"),
        ("▲ limited", "it is there, and something of it does not work", "the same"),
        ("? not known", "it could not be read: it passes neither for good nor for bad", "the same"),
        ("✔ work", "all that depends on it works", "the same"),
        ("works, not", "what works because of it, and what does not", "the console's own needs"),
        (
            "do",
            "the command that would change it, for the host's shell where it says no other; nothing is done by itself",
            "",
        ),
        ("looked 12 s ago", "how old all of it is; r looks again", ""),
    ),
    "swap": (
        (
            "▶ ✔ ✖ – ○",
            "a step that runs, is done, failed, was left out, is still to come",
            "the swap's record on the host",
        ),
        ("the time at the left", "how long a step took, or has run, by the host's clock", "the record"),
        ("the lines below a step", "what was seen and done in it", "the record"),
        ("the last moving line", "how it stands this second", "the runner on the host"),
        ("roll back", "the way back to the unit that served before, after a failure or on request", "the record"),
        ("✖ interrupted", "the host was rebooted or the runner killed: nobody goes on with it", "the record; systemd"),
        ("What to do", "commands for what the swap could not settle by itself", "the record"),
    ),
}

AGES: tuple[Entry, ...] = (
    ("<1 s", "how old the pane's data is", "when it came here"),
    ("◌ stale 14 s", "older than three of its intervals, or the link is down: do not take it for the present", ""),
)
