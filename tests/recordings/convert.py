"""Turn captures of real vLLM starts into the recordings that the demo replays.

    python -m tests.recordings.convert CAPTURES [OUT]

CAPTURES is a folder with `runs/NAME/` and `failures/NAME/` as the recorder left them: `server.raw.log` with its index,
`events.jsonl`, `samples.jsonl.gz`, the two scrapes of `/metrics`, `bench-*.json`, and where there are any
`vllm-bench-T0.json` and `sse-raw.jsonl`. OUT is `console/specconsole/host/recordings`. The same captures always give
the same bytes. What the lines of a recording mean is said in `specconsole/host/simulated/recording.py`.
"""

from __future__ import annotations

import gzip
import json
import re
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from tests.recordings import counters
from tests.recordings.counters import REST, Request

NAMES = {
    "moe-baseline": ("runs/M0-moe30b-base", "MoE 30B-A3B, baseline"),
    "moe-ngram": ("runs/M5-moe30b-ngram-k5", "MoE 30B-A3B, n-gram, 5 tokens"),
    "moe-eagle3": ("runs/E3-moe30b-eagle3-k3", "MoE 30B-A3B, EAGLE-3, 3 tokens"),
    "moe-sync": ("runs/M0s-moe30b-base-sync", "MoE 30B-A3B, baseline without async scheduling"),
    "dense-baseline": ("runs/D0-dense8b-base", "dense 8B, baseline"),
    "dense-ngram": ("runs/D5-dense8b-ngram-k5", "dense 8B, n-gram, 5 tokens"),
    "dense-dies": ("failures/engine-dies-after-weights", "dense 8B, a start that fails after the weights"),
}
OUT = Path(__file__).resolve().parents[2] / "console/specconsole/host/recordings"
CARD = {
    "uuid": "GPU-00000000-0000-0000-0000-000000000000",
    "name": "NVIDIA H200",
    "bus": "00000000:00:06.0",
    "memory_reserved": 644939776,
    "power_limit_w": 700.0,
    "sm_mhz_max": 1980,
    "driver": "580.159.04",
    "ecc_corrected": 0,
    "ecc_uncorrected": 0,
    "ecc_corrected_ever": 0,
    "ecc_uncorrected_ever": 0,
    "mig": False,
}
"""What never changes on the recorded card, from nvidia-smi's query of it at rest."""

_OURS = re.compile(r"^VLLM::|-m vllm\.mod|cli\.main ser")
_PREFIX = re.compile(rb"^\(APIServer pid=(\d+)\)", re.MULTILINE)


def main(captures: Path, out: Path = OUT) -> None:
    """Write a recording for each capture."""
    out.mkdir(parents=True, exist_ok=True)
    for name, (folder, title) in NAMES.items():
        lines = [json.dumps(line, separators=(",", ":")) for line in convert(captures / folder, name, title)]
        with (out / f"{name}.jsonl.gz").open("wb") as raw, gzip.GzipFile("", "wb", 9, raw, mtime=0) as file:
            file.write(("\n".join(lines) + "\n").encode())


def convert(folder: Path, name: str, title: str) -> Iterator[dict[str, Any]]:
    """Yield the header of a recording and then its records in order of time."""
    events = [json.loads(line) for line in (folder / "events.jsonl").read_text().splitlines()]
    spawn: float = events[0]["t"]
    requests = sorted(_requests(folder, spawn), key=lambda request: request.at)
    commands: list[str] = []
    header = _header(folder, events, name, title)
    records: list[dict[str, Any]] = [*_log(folder, spawn), *_samples(folder, spawn, header["main_pid"], commands)]
    if "ready" in header:
        records += _metrics(folder, header, requests)
        records += [_request(request) for request in requests]
    yield header | {"commands": commands}
    yield from sorted(records, key=lambda record: float(record["t"]))


def _header(folder: Path, events: list[dict[str, Any]], name: str, title: str) -> dict[str, Any]:
    by_name = {event["ev"]: event for event in events}
    spawn = by_name["spawn"]["t"]
    main_pid = int(_first(_PREFIX, (folder / "server.raw.log").read_bytes()))
    header: dict[str, Any] = {"v": 1, "name": name, "title": title, "spawned": spawn}
    header |= {"argv": by_name["spawn"]["cmd"], "environment": by_name["spawn"]["env"]}
    header |= {"card": CARD, "cpu_count": 16, "shm_total": 131981020 * 1024, "main_pid": main_pid}
    if "ready" not in by_name:
        return header | {
            "exited": by_name["exit_before_ready"]["after_s"],
            "status": by_name["exit_before_ready"]["rc"],
        }
    own = [process for process in by_name["tree"]["tree"] if process["pid"] == main_pid or process["ppid"] == main_pid]
    ends = [event["t"] - spawn for event in events if event["ev"] in ("batch_end", "vllm_bench_end")]
    again = next(event["t"] for event in events if event["ev"] == "batch_start" and event["label"] == "main-T0")
    stop = by_name["sigterm"]["t"] - spawn
    return header | {
        "ready": by_name["ready"]["after_s"],
        "again": round(again - spawn, 4),
        "served": round(min(max(ends), stop), 4),
        "stop": round(stop, 4),
        "exited": round(by_name["term_api_exit"]["t"] - spawn, 4),
        "status": by_name["term_api_exit"]["rc"],
        "gone": round(by_name["term_no_procs"]["t"] - spawn, 4),
        "tracker": [[process["pid"], process["cmd"]] for process in own if "resource_tracker" in process["cmd"]],
        "shm": [entry for entry in by_name["tree"]["shm"] if entry not in by_name["spawn"]["shm"]],
        "version": _body(folder / "get_version.txt")["version"],
        "models": _body(folder / "get_v1_models.txt"),
        "ring": _ring(folder),
        "drafts": _drafts(folder),
    }


def _first(pattern: re.Pattern[bytes], text: bytes) -> bytes:
    match = pattern.search(text)
    if match is None:
        raise ValueError(f"{pattern.pattern!r} is not in the log")
    return match[1]


def _body(path: Path) -> Any:
    return json.loads(path.read_text().partition("\n")[2])


def _ring(folder: Path) -> list[str]:
    """The words that the recorded model follows at temperature 0, each once, in their order."""
    request = json.loads((folder / "bench-main-T0.json").read_text())["requests"][0]
    words: list[str] = []
    for line in _sse(folder, "sse-raw-completion.jsonl"):
        for word in (" " + word for word in line["choices"][0]["text"].split()) if line["choices"] else ():
            if word in words:
                return words
            words.append(word)
    raise ValueError(f"no ring in {folder.name}: {request['text']}")


def _drafts(folder: Path) -> dict[str, list[float]]:
    """What the chunks do not tell of drafts, by batch; {} without speculation.

    The share of the one-token steps for which nothing had been drafted; and of the places that the draft of a request's
    last step had left beyond its end, the share that was accepted: vLLM counts those too.
    """
    found: dict[str, list[float]] = {}
    for path in sorted(folder.glob("bench-*.json")):
        batch = json.loads(path.read_text())
        if (drafts := batch["summary"].get("drafts")) is not None and batch["summary"]["ok"]:
            steps = [tokens for request in batch["requests"] for _, tokens in request["chunks"][1:]]
            undrafted = (len(steps) - drafts) / max(steps.count(1), 1)
            left = sum(len(batch["summary"]["per_pos"]) + 1 - request["chunks"][-1][1] for request in batch["requests"])
            beyond = (batch["summary"]["accepted"] - sum(steps) + len(steps)) / max(left, 1)
            found[path.stem.removeprefix("bench-")] = [round(undrafted, 4), round(beyond, 4)]
    return found


def _sse(folder: Path, name: str) -> Iterator[dict[str, Any]]:
    path = folder / name
    text = path.read_text() if path.exists() else gzip.decompress((folder / f"{name}.gz").read_bytes()).decode()
    for line in text.splitlines():
        moment, data = json.loads(line)
        if data.startswith("data: {"):
            yield json.loads(data[6:]) | {"moment": moment / 1000}


def _log(folder: Path, spawn: float) -> Iterator[dict[str, Any]]:
    """Each read of the server's output, byte for byte; a read may end inside a line, even inside a character."""
    raw = (folder / "server.raw.log").read_bytes()
    for line in (folder / "server.idx.jsonl").read_text().splitlines():
        at, offset, length = json.loads(line)
        text = raw[offset : offset + length].decode("utf-8", "surrogateescape")
        yield {"t": round(at - spawn, 4), "log": text}


def _samples(folder: Path, spawn: float, main_pid: int, commands: list[str]) -> Iterator[dict[str, Any]]:
    """The card, the host and the server's processes, five times a second; `commands` collects their titles."""
    for line in gzip.decompress((folder / "samples.jsonl.gz").read_bytes()).decode().splitlines():
        sample = json.loads(line)
        own = [process for process in sample["procs"] if _is_own(process, main_pid)]
        for process in own:
            if process["cmd"] not in commands:
                commands.append(process["cmd"])
        gpm, host = sample.get("gpm") or {}, sample["host_mb"]
        pids = {process["pid"] for process in own}
        yield {
            "t": round(sample["t"] - spawn, 3),
            "gpu": [sample[key] for key in ("mem_used", "mem_total", "util_gpu", "util_mem", "power_mw", "temp")]
            + [sample[key] for key in ("sm_mhz", "mem_mhz", "throttle")]
            + [gpm.get(key) for key in ("sm", "dram", "pcie_rx_MiBs", "pcie_tx_MiBs")],
            "holders": [holder for holder in sample["gpu_procs"] if holder[0] in pids],
            "host": [host["MemTotal"], host["MemAvailable"], host["Cached"], sample["load1"], sample["shm_used"]],
            "tree": [
                [process["pid"], commands.index(process["cmd"])]
                + [process[key] for key in ("state", "rss_mb", "cpu_s", "rchar", "read_bytes", "majflt")]
                for process in own
            ],
        }


def _is_own(process: dict[str, Any], main_pid: int) -> bool:
    """Other servers and the client ran beside some of the captures."""
    if not _OURS.search(process["cmd"]) or "cli.main ben" in process["cmd"]:
        return False
    return process["pid"] == main_pid or (
        "cli.main" not in process["cmd"] and main_pid < process["pid"] < main_pid + 250
    )


def _requests(folder: Path, spawn: float) -> Iterator[Request]:
    for path in sorted(folder.glob("bench-*.json")):
        batch = path.stem.removeprefix("bench-")
        for item in json.loads(path.read_text())["requests"]:
            if item["status"] == 200:
                yield _seen(item["w0"] - spawn, item, batch)
    if (folder / "sse-raw.jsonl").exists():
        yield _chat(folder, spawn)
    if (folder / "vllm-bench-T0.json").exists():
        yield from _vllm_bench(folder, spawn)


def _seen(at: float, item: dict[str, Any], batch: str) -> Request:
    chunks = tuple((at + moment / 1000, tokens) for moment, tokens in item["chunks"])
    prompt_tokens = item["usage"]["prompt_tokens"]
    return Request(at, at + item["end_ms"] / 1000, batch, prompt_tokens, chunks, item["T"], item["prompt"])


def _posts(folder: Path, spawn: float, path: str) -> list[float]:
    """When the server answered posts to a path, by its access log."""
    lines = "".join(f"{record['t']}\t{line}\n" for record in _log(folder, spawn) for line in record["log"].splitlines())
    return [float(line.split("\t")[0]) for line in lines.splitlines() if f'"POST {path} ' in line]


def _chat(folder: Path, spawn: float) -> Request:
    at = _posts(folder, spawn, "/v1/chat/completions")[0]
    lines = [line for line in _sse(folder, "sse-raw.jsonl") if line["choices"] and line["usage"]["completion_tokens"]]
    counts = [0, *(line["usage"]["completion_tokens"] for line in lines)]
    chunks = tuple((at + line["moment"], counts[i + 1] - counts[i]) for i, line in enumerate(lines))
    return Request(at, chunks[-1][0], REST, lines[0]["usage"]["prompt_tokens"], chunks)


def _vllm_bench(folder: Path, spawn: float) -> Iterator[Request]:
    """The requests of `vllm bench serve`: eight, after one that warms up and of which only the start is known."""
    result = json.loads((folder / "vllm-bench-T0.json").read_text())
    warm_up, first = _posts(folder, spawn, "/v1/completions")[-9:-7]
    for index, start in enumerate([None, *result["start_times"]]):
        item = max(index - 1, 0)
        at = warm_up if start is None else first + start - result["start_times"][0]
        moments = [at + result["ttfts"][item]]
        for gap in result["itls"][item]:
            moments.append(moments[-1] + gap)
        share = result["output_lens"][item] / len(moments)
        chunks = tuple((moment, share) for moment in moments)
        yield Request(at, moments[-1], REST, result["input_lens"][item], chunks)


def _metrics(folder: Path, header: dict[str, Any], requests: list[Request]) -> Iterable[dict[str, Any]]:
    """The page at the end as a template, the values at ready, and from then on what changes at each tick."""
    page = (folder / "metrics-end.txt").read_text()
    ready = counters.parse((folder / "metrics-ready.txt").read_text())
    end = counters.parse(page)
    labels = next(name for name in end if name.startswith("vllm:generation_tokens_total")).partition("{")[2]
    batches = {summary["label"]: _growth(summary, labels) for summary in _summaries(folder)}
    span = (header["ready"], header["served"])
    ticks = counters.course(ready, end, span, counters.events(requests), batches)
    order = {series: index for index, series in enumerate(end)}
    yield {"t": header["ready"], "page": page, "values": [ready.get(series) for series in end]}
    for at, values in ticks.items():
        yield {"t": round(at, 4), "set": [[order[series], value] for series, value in values.items()]}


def _summaries(folder: Path) -> Iterator[dict[str, Any]]:
    for path in sorted(folder.glob("bench-*.json")):
        yield json.loads(path.read_text())["summary"]


def _growth(summary: dict[str, Any], labels: str) -> dict[str, float]:
    growth = {f"{name}{{{labels}": value for name, value in summary.get("metrics", {}).items()}
    for position, value in (summary.get("per_pos") or {}).items():
        name = "vllm:spec_decode_num_accepted_tokens_per_pos_total"
        growth[f'{name}{{{labels[:-1]},position="{position}"}}'] = value
    return growth


def _request(request: Request) -> dict[str, Any]:
    record: dict[str, Any] = {"t": round(request.at, 4), "end": round(request.end, 4), "batch": request.batch}
    record["prompt_tokens"] = request.prompt_tokens
    if request.prompt is None:
        return record
    chunks = [[round((at - request.at) * 1000, 2), int(tokens)] for at, tokens in request.chunks]
    return record | {"prompt": request.prompt, "temperature": request.temperature, "chunks": chunks}


if __name__ == "__main__":
    main(*map(Path, sys.argv[1:]))
