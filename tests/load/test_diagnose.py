"""Failures are named from the deepest process, with vLLM's numbers; consequences and harmless lines are told apart."""

from __future__ import annotations

import re
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from specconsole.host.simulated import recording
from specconsole.load import clue
from specconsole.load import failures as table
from specconsole.load.clue import KEPT, Clues
from specconsole.load.diagnose import Around, Ending, Xid, diagnose
from specconsole.load.diagnosis import Diagnosis
from specconsole.load.evidence import Holder
from specconsole.load.failures import CONSEQUENCES, FAILURES
from specconsole.load.failures_host import SYSTEM
from specconsole.load.phase import Phase
from specconsole.logs.reader import read
from specconsole.logs.record import Level, LogRecord
from tests.load.failing import EXAMPLES, HARMLESS
from tests.load.replay import GIB, records_of
from tests.load.test_properties import WILD, harmless


def clues_of(log: str) -> Clues:
    clues = Clues()
    for record in read(log.encode()):
        clues = clue.read(clues, record)
    return clues


def named(log: str, **known: Any) -> Diagnosis:
    found = diagnose(clues_of(log), **known)
    assert found is not None
    return found


@pytest.mark.parametrize(
    ("line", "name", "numbers"), EXAMPLES, ids=[f"{name}-{at}" for at, (_, name, _) in enumerate(EXAMPLES)]
)
def test_each_failure_has_its_name_its_numbers_and_a_way_out(line: str, name: str, numbers: dict[str, Any]) -> None:
    found = named(line + "\n")
    assert found.name == name
    assert {key: found.numbers.get(key) for key in numbers} == numbers
    assert found.advice
    assert found.sentence
    assert not re.search(r"\{\w+[:}]", found.sentence + "".join(found.advice))
    harmless(found)


OOM = "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 1.16 GiB. GPU 1 has a total capacity of 79.11 GiB of which 821.56 MiB is free."
KV = "INFO 11-30 10:00:00 [gpu_worker.py:298] Available KV cache memory: {} GiB\n"
NONE_LEFT = "ValueError: No available memory for the cache blocks. Try increasing `gpu_memory_utilization` when initializing the engine."
TOO_SMALL = "ValueError: To serve at least one request with the model's max seq len (131072), (16.0 GiB KV cache is needed, which is larger than the available KV cache memory (4.35 GiB)."


@pytest.mark.parametrize(
    ("log", "sentence", "advice"),
    [
        (OOM, "1.16 GiB more were wanted on GPU 1, where 0.802 of 79.11 GiB were free.", "Lower --gpu-memory-utilization or --max-num-seqs, so that"),
        (OOM + " Including non-PyTorch memory, this process has 78.30 GiB memory in use.", "were free; the process itself held 78.3 GiB.", "Lower"),
        (KV.format("12.50") + OOM, "1.16 GiB more were wanted", "Lower --gpu-memory-utilization by 0.01 at least: 0.36 GiB were short beside a KV cache of 12.5 GiB."),
        (KV.format("0.10") + OOM, "1.16 GiB more were wanted", "Lower --gpu-memory-utilization or"),
        (KV.format("12.50") + OOM.replace("821.56 MiB", "1.50 GiB"), "1.5 of 79.11 GiB were free", "Lower --gpu-memory-utilization or"),
        (KV.format("-2.35") + NONE_LEFT, "take 2.35 GiB more than the whole budget", "it has to give more than 2.35 GiB."),
        (KV.format("0.00") + NONE_LEFT, "fill the whole budget", "Raise --gpu-memory-utilization."),
        (NONE_LEFT, "fill the whole budget", "Raise --gpu-memory-utilization."),
        (TOO_SMALL, "needs 16.0 GiB of KV cache; 4.35 GiB are there", "if memory is free: 11.65 GiB more are needed."),
    ],
)  # fmt: skip
def test_full_memory_is_told_in_the_numbers_of_the_log_alone(log: str, sentence: str, advice: str) -> None:
    found = named(log + "\n")
    assert sentence in found.sentence
    assert advice in "\n".join(found.advice)


def test_every_row_of_the_table_has_an_example() -> None:
    found = [each for line, _, _ in EXAMPLES for each in clues_of(line + "\n").found]
    seen = {each.failure.pattern for each in found if each.failure}
    assert [row.pattern for row in (*FAILURES, *SYSTEM) if row.pattern not in seen] == []


@pytest.mark.parametrize("line", HARMLESS)
def test_a_line_that_looks_like_a_failure_is_none(line: str) -> None:
    assert diagnose(clues_of(line + "\n")) is None


@pytest.mark.parametrize("name", [name for name in recording.names() if name != "dense-dies"])
def test_a_healthy_start_and_its_stop_hold_no_cause(name: str) -> None:
    clues = Clues()
    for record in records_of(name):
        clues = clue.read(clues, record)
    assert not [found for found in clues.found if found.failure]
    assert diagnose(clues, Ending(result="success", stop_asked=True)) is None


def test_the_recorded_failing_start_is_named_from_the_engine() -> None:
    clues = Clues()
    for record in records_of("dense-dies"):
        clues = clue.read(clues, record)
    found = diagnose(clues, Ending(result="exit-code", exit_status=1), phase=Phase.PROFILE)
    assert found is not None
    assert (found.name, found.process, found.numbers["module"]) == ("module_missing", "EngineCore", "flashinfer")
    assert found.root_line == "ModuleNotFoundError: No module named 'flashinfer'"
    assert found.option == "VLLM_USE_FLASHINFER_SAMPLER=0"
    assert any("Engine core initialization failed" in line for line in found.consequences)


WORKER = "(Worker_TP1 pid=536) ERROR 10-06 19:54:30 [multiproc_executor.py:597] "
ENGINE = "(EngineCore pid=8733) ERROR 08-19 19:34:27 [core.py:1349] "
API = "(APIServer pid=8711) "


def test_the_deepest_process_tells_though_another_one_was_heard_first() -> None:
    log = (
        f"{API}RuntimeError: Engine core initialization failed. See root cause above. Failed core proc(s): {{}}\n"
        f"{ENGINE}EngineCore failed to start.\n{ENGINE}Traceback (most recent call last):\n"
        f"{ENGINE}Exception: WorkerProc initialization failed due to an exception in a background process.\n"
        f"{WORKER}WorkerProc failed to start.\n{WORKER}Traceback (most recent call last):\n"
        f"{WORKER}KeyError: 'layers.0.mlp.experts.w13'\n"
    )
    found = named(log)
    assert (found.name, found.process) == ("unknown_error", "Worker_TP1")
    assert found.root_line.startswith("KeyError")
    assert len(found.consequences) >= 3


def test_an_unknown_end_of_a_worker_goes_before_what_the_api_server_makes_of_it() -> None:
    log = (
        f"{API}TimeoutError: RPC call to init_device timed out.\n"
        f"{WORKER}WorkerProc hit an exception.\n{WORKER}Traceback (most recent call last):\n{WORKER}AssertionError: 7 != 8\n"
    )
    assert named(log).root_line == "AssertionError: 7 != 8"


def test_of_two_known_failures_the_deeper_process_tells() -> None:
    log = (
        f"{ENGINE}EngineCore encountered a fatal error.\n{ENGINE}TimeoutError: RPC call to sample_tokens timed out.\n"
        f"{WORKER}WorkerProc hit an exception.\n{WORKER}torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB\n"
    )
    assert (named(log).name, named(log).process) == ("oom", "Worker_TP1")


def test_the_compilers_line_before_the_traceback_is_the_cause() -> None:
    log = (
        f"{ENGINE}/bin/sh: 1: /usr/local/cuda/bin/nvcc: not found\n{ENGINE}ninja: build stopped: subcommand failed.\n"
        f"{API}Traceback (most recent call last):\n"
        f"{API}RuntimeError: Engine core initialization failed. See root cause above. Failed core proc(s): {{}}\n"
    )
    found = named(log)
    assert (found.name, found.process, found.phase) == ("jit_build_failed", "EngineCore", "warmup")
    assert found.root_line == "/bin/sh: 1: /usr/local/cuda/bin/nvcc: not found"


def test_advice_does_not_begin_with_an_alternative_to_what_is_not_said() -> None:
    for line, _, _ in EXAMPLES:
        assert not [text for text in named(line).advice[:1] if text.startswith("Or ")], line
    found = named("torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB")
    assert found.advice[0].startswith("Lower --gpu-memory-utilization or --max-num-seqs")
    assert "KV cache" in found.advice[0]


def test_the_suggestion_that_vllm_printed_before_is_offered() -> None:
    log = (
        "(Worker_TP1 pid=3) INFO 07-14 10:50:23 [gpu_worker.py:855] Free memory on device (77.57/79.11 GiB) on startup. Desired"
        " GPU memory utilization is (0.92, 72.78 GiB). Replace gpu_memory_utilization config with"
        " `--kv-cache-memory=65565989131` (61.06 GiB) to fit into requested memory, or `--kv-cache-memory=70712017408` (65.86"
        " GiB) to fully utilize gpu memory. Current kv cache memory in use is 63.25 GiB.\n"
        f"{WORKER}torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 1.16 GiB. GPU 1 has a total capacity\n"
    )
    found = named(log, phase=Phase.WARMUP_AFTER)
    assert found.option == "--kv-cache-memory=65565989131"
    assert (found.numbers["kv_in_use_gib"], found.phase) == (63.25, "warmup_after")


def test_what_two_lines_say_of_one_failure_is_put_together() -> None:
    log = (
        f"{ENGINE}torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 296.00 MiB. GPU 0 has a total capacity of 22.05"
        f" GiB\n{ENGINE}The above exception was the direct cause of the following exception:\n{ENGINE}RuntimeError: CUDA out of"
        " memory occurred when warming up sampler with 256 dummy requests. Please try lowering `max_num_seqs`\n"
    )
    found = named(log)
    assert (found.name, found.numbers["max_num_seqs"], found.phase) == ("oom", 256, "warmup")
    assert "below 256" in found.advice[0]


def test_the_port_comes_from_the_arguments() -> None:
    log = (
        "INFO 10-10 11:23:00 api_server.py:527] args: Namespace(model_tag='x', host=None, port=19000, uvicorn_log_level='info')\n"
        'Traceback (most recent call last):\n  File "api_server.py", line 530, in run_server\n    temp_socket.bind(("", args.port))\n'
        "OSError: [Errno 98] Address already in use\n"
    )
    assert named(log).numbers["port"] == 19000
    rendezvous = log.replace("run_server", "get_open_port")
    assert named(rendezvous).numbers["scope"] == "distributed_init"
    assert "port" not in named(rendezvous).numbers


def test_a_drafter_that_fails_leaves_the_baseline_as_a_way_out() -> None:
    log = f"(Worker_TP1 pid=536) INFO 10-06 19:54:29 [m.py:1] Loading drafter model...\n{WORKER}WorkerProc failed to start.\n{WORKER}Traceback (most recent call last):\n"
    found = named(log, phase=Phase.DRAFTER, around=Around(baseline="vllm-base.service"))
    assert (found.name, found.numbers["affects"], found.phase) == ("drafter_load_failed", "speculative_only", "drafter")
    assert any("vllm-base.service would start" in note for note in found.notes)
    assert named(log, phase=Phase.DRAFTER, around=Around(drafter=False)).name == "unknown_error"
    full = log + f"{WORKER}torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 1.16 GiB.\n"
    assert named(full, phase=Phase.DRAFTER).name == "oom"


def test_a_gpu_that_failed_is_the_cause_of_what_its_processes_say() -> None:
    log = f"{WORKER}torch.AcceleratorError: CUDA error: unspecified launch failure\n"
    assert named(log).name == "gpu_error"
    assert named(log, around=Around(xids=(Xid(3, 79),))).name == "gpu_fault"
    minor = named(log, around=Around(xids=(Xid(3, 31),)))
    assert minor.name == "gpu_error"
    assert any("Xid 31" in note for note in minor.notes)


def test_the_kernels_killer_is_the_cause_whatever_python_says() -> None:
    log = f"{WORKER}EOFError\n{API}RuntimeError: Engine core initialization failed. See root cause above.\n"
    assert named(log, ending=Ending(result="oom-kill")).name == "host_oom"
    assert diagnose(Clues(), Ending(result="oom-kill")).name == "host_oom"  # type: ignore[union-attr]


@pytest.mark.parametrize(
    ("ending", "name"),
    [
        (Ending(result="timeout"), "start_timeout"),
        (Ending(result="protocol"), "wrong_type"),
        (Ending(result="watchdog"), "watchdog"),
        (Ending(result="start-limit-hit"), "start_limit"),
        (Ending(result="exit-code", exit_status=203), "bad_unit"),
        (Ending(result="exit-code", exit_status=1), "unknown_error"),
        (Ending(result="signal", exit_status=9), "killed"),
        (Ending(result="core-dump", exit_status=11), "crashed"),
        (Ending(result="success"), "exited"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_systemd_tells_where_the_log_does_not(ending: Ending, name: str) -> None:
    found = diagnose(Clues(), ending)
    assert found is not None
    assert found.name == name
    assert found.advice


def test_an_exit_with_0_after_the_engines_death_is_no_success() -> None:
    log = f"{API}ERROR 11-29 14:00:00 [async_llm.py:1] vllm.v1.engine.exceptions.EngineDeadError: EngineCore encountered an issue. See stack trace (above) for the root cause.\n"
    found = named(log, ending=Ending(result="success", served=True))
    assert found.name == "engine_died"
    assert any("Restart=on-failure does nothing" in note for note in found.notes)
    assert diagnose(clues_of(log), Ending(result="success", stop_asked=True)) is None


def test_what_a_server_survived_is_not_why_it_ended() -> None:
    clues = Clues()
    clues = clue.read(
        clues, LogRecord(1, 100.0, "u", "ValueError: Unknown quantization method: x. Must be", Level.ERROR)
    )
    clues = clue.read(
        clues,
        LogRecord(
            2, 5000.0, "u", "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB", Level.ERROR
        ),
    )
    found = diagnose(clues, Ending(at=5001.0, result="exit-code", served=True))
    assert found is not None
    assert found.name == "oom"


def test_systemd_lines_are_told_from_the_journal() -> None:
    left = "Aug 07 11:48:33 gpu02 systemd[1]: vllm-spec.service: Found left-over process 5466 (VLLM::EngineCor) in control group while starting unit. Ignoring.\n"
    found = named(left)
    assert (found.name, found.numbers["pid"], found.numbers["swap_safe"]) == ("leftover_process", 5466, False)
    held = (
        left
        + f"{ENGINE}ValueError: Free memory on device (31.39/47.38 GiB) on startup is less than desired GPU memory utilization (0.95, 45.01 GiB).\n"
    )
    assert named(held).name == "gpu_memory_held"
    late = "Aug 07 11:48:33 gpu02 systemd[1]: vllm.service: start operation timed out. Terminating.\nKeyboardInterrupt: terminated\n"
    assert named(late).name == "start_timeout"


def test_who_holds_the_memory_is_named_and_an_unknown_one_is_not_to_be_ended() -> None:
    log = "ValueError: Free memory on device (31.39/47.38 GiB) on startup is less than desired GPU memory utilization (0.95, 45.01 GiB).\n"
    around = Around(
        holders=(Holder(0, 20911, "VLLM::EngineCore", 16 * GIB, None), Holder(1, 31794, "", 10 * GIB, None))
    )
    notes = named(log, around=around).notes
    assert "VLLM::EngineCore (pid 20911) holds 16.0 GiB" in notes[0]
    assert "pid 31794, which is not visible here, holds 10.0 GiB" in notes[1]


def test_an_orphan_a_crash_loop_and_an_earlier_success_are_noted() -> None:
    around = Around(orphans=(Holder(0, 77, "VLLM::EngineCore", 74 * GIB, None),), worked_before=True)
    log = f"{ENGINE}torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB\n"
    notes = named(log, ending=Ending(result="exit-code", restarts=7), around=around).notes
    assert any("outlived the start" in note for note in notes)
    assert any("started it anew 7 times" in note for note in notes)
    assert any("ready before" in note for note in notes)


def test_the_toolkit_that_is_too_old_is_named_where_it_is_known() -> None:
    log = f"{ENGINE}EngineCore failed to start.\n{ENGINE}RuntimeError: FlashInfer requires GPUs with sm75 or higher\n"
    found = named(log, around=Around(toolkit="12.8", gpu_arch="sm_120"))
    assert found.numbers["toolkit"] == "12.8"
    assert "sm_120" in found.sentence


def test_clues_of_a_long_bad_log_take_bounded_memory() -> None:
    clues = Clues()
    names = [f"{a}{b}" for a in "abcdefghijklmnopqrstuvwxyz" for b in "abcdefghij"]
    for at, name in enumerate(names):
        text = f"ValueError: {name} is wrong " + "x" * 5000
        clues = clue.read(clues, LogRecord(at, float(at), "u", text, Level.ERROR))
    assert len(clues.found) == KEPT
    assert clues.found[0].line.startswith("ValueError: aa")
    assert clues.found[-1].line.startswith("ValueError: zj")
    assert max(len(found.line) for found in clues.found) <= 1000


def test_a_flood_of_one_error_is_looked_at_once_in_five_minutes() -> None:
    clues = Clues()
    for at in range(700):
        clues = clue.read(clues, LogRecord(at, float(at), "u", f"ValueError: number {at} is wrong", Level.ERROR))
    assert [found.at for found in clues.found] == [0.0, 300.0, 600.0]


@given(st.lists(WILD | st.sampled_from([line for line, _, _ in EXAMPLES]), max_size=8), st.sampled_from([None, *Phase]))
@settings(max_examples=100, deadline=None)
def test_any_log_is_diagnosed_in_clean_words(lines: list[str], phase: Phase | None) -> None:
    clues = Clues()
    for at, line in enumerate(lines):
        clues = clue.read(clues, LogRecord(at, float(at), "u", line + "\x1b[31m", Level.ERROR, process="Worker_TP0"))
    found = diagnose(clues, Ending(result="exit-code"), phase=phase)
    assert found is not None
    harmless(found)


def test_no_expression_begins_with_an_endless_run() -> None:
    """Searched at each place of a line, it would take the square of the line's length: 90 ms a line were measured."""
    texts = [*(row.pattern for row in (*FAILURES, *SYSTEM)), *CONSEQUENCES, *(text for _, text, _ in table.HARMLESS)]
    endless = re.compile(r"(?:\(\?P<\w+>|\()?\\[SdwD][+*]")
    assert not [text for text in texts if any(endless.match(part) for part in text.split("|"))]


@pytest.mark.parametrize("last", ["AssertionError", "AssertionError: 12"])
def test_an_assertion_without_words_is_told_by_its_frame(last: str) -> None:
    text = (
        'Traceback (most recent call last):\n  File "/x/core.py", line 387, in run\n    engine = Engine()\n'
        f'  File "/x/utils.py", line 90, in f\n    assert self.num_blocks > 0\n{last}'
    )
    record = LogRecord(1, 1.0, "u", text, Level.ERROR, process="EngineCore", pid=3)
    told = diagnose(clue.read(Clues(), record))
    assert told
    assert told.root_line == f"{last} at utils.py:90 in f: assert self.num_blocks > 0"
