"""The verdict on recorded loads, which are all healthy, and on hangs of every kind, told in their time."""

from __future__ import annotations

from dataclasses import replace

import pytest

from specconsole.gpu.sample import Gpu, UnitProcess
from specconsole.host.simulated import recording
from specconsole.load.condition import Evidence, Machine
from specconsole.load.evidence import Holder, HostEvidence
from specconsole.load.judge import judge
from specconsole.load.pace import Pace
from specconsole.load.phase import Phase
from specconsole.load.sign import Signs, read
from specconsole.load.verdict import Judgement, Verdict
from specconsole.logs.reader import read as records
from tests.load.replay import GIB, Scene, busy_gpu, played, recorded, spinning

NCCL = """\
(Worker pid=2201) INFO 01-25 11:02:04 [parallel_state.py:1212] world_size=2 rank=0 local_rank=0 distributed_init_method=tcp://127.0.0.1:45711 backend=nccl
(Worker pid=2202) INFO 01-25 11:02:05 [parallel_state.py:1212] world_size=2 rank=1 local_rank=1 distributed_init_method=tcp://127.0.0.1:45711 backend=nccl
(Worker pid=2201) INFO 01-25 11:02:05 [pynccl.py:111] vLLM is using nccl==2.27.5
"""
NOTICE = (
    "(EngineCore_DP0 pid=77391) INFO 10-22 10:{minute}:49 [shm_broadcast.py:466] No available shared memory broadcast block"
    " found in 60 seconds. This typically happens when some processes are hanging or doing some time-consuming work"
    " (e.g. compilation).\n"
)
CAPTURED = """\
(EngineCore_DP0 pid=77391) INFO 10-22 10:33:49 [kv_cache_utils.py:1087] GPU KV cache size: 162,688 tokens
Capturing CUDA graphs (mixed prefill-decode, PIECEWISE): 100%|##########| 67/67 [00:05<00:00, 11.74it/s]
Capturing CUDA graphs (decode, FULL): 100%|##########| 67/67 [00:04<00:00, 16.20it/s]
"""
INIT_COMPLETE = """\
gpu2:182131:182669 [0] NCCL INFO comm 0x5ed0b2f0 rank 0 nranks 4 cudaDev 0 busId 1000 - Init COMPLETE
gpu2:182272:182672 [3] NCCL INFO comm 0x5f4a1dd0 rank 3 nranks 4 cudaDev 3 busId c1000 - Init COMPLETE
gpu2:182131:182131 [0] NCCL INFO Broadcast: opCount 0 sendbuff 0x7fd522c00400 count 8 datatype 0 op 0 root 0 [nranks=4]
"""


def first(said: list[tuple[float, Verdict]], judgement: Judgement) -> float:
    """When a judgement was made first."""
    return next((at for at, verdict in said if verdict.judgement is judgement), float("inf"))


def hung(count: int = 2) -> Scene:
    return Scene(tuple(busy_gpu(i, 88.0 - 3 * i) for i in range(count)), lambda at: spinning(count, at))


@pytest.mark.parametrize("name", recording.names())
def test_a_healthy_load_works_at_every_moment(name: str) -> None:
    said = {verdict.judgement for _, verdict in recorded(name)}
    assert said == {Judgement.WORKING}


def test_a_first_collective_that_never_returns_is_told_in_time() -> None:
    said = played(hung(), NCCL)
    assert first(said, Judgement.WATCH) <= 60
    assert first(said, Judgement.STUCK) <= 180
    assert min(first(said, Judgement.WATCH), first(said, Judgement.STUCK)) >= 30
    last = said[-1][1]
    assert (last.signature, last.cause) == ("ghost", "nccl_p2p_hang")
    assert "2 GPUs 100 % busy at 85 to 88 of 600 W" in last.evidence
    assert "no bytes read from storage" in last.evidence
    assert "NCCL_P2P_DISABLE=1" in last.advice


def test_a_collective_after_init_complete_is_told_without_power_readings() -> None:
    gpus = tuple(replace(busy_gpu(i, 0.0, limit=None, name="NVIDIA GeForce RTX 4090"), power_w=None) for i in range(4))
    said = played(Scene(gpus, lambda at: spinning(4, at)), INIT_COMPLETE)
    assert first(said, Judgement.WATCH) <= 60
    assert first(said, Judgement.STUCK) <= 180
    assert said[-1][1].cause == "p2p_first_collective"


def test_a_hang_in_a_replayed_graph_is_told_in_time() -> None:
    gpus = tuple(busy_gpu(i, 97.0, limit=None, used=21844, name="NVIDIA GeForce RTX 4090") for i in range(2))
    said = played(Scene(gpus, lambda at: spinning(2, at)), CAPTURED)
    assert first(said, Judgement.WATCH) <= 60
    assert first(said, Judgement.STUCK) <= 180
    assert said[-1][1].cause == "collective_hang"


def test_notices_of_waiting_are_no_movement() -> None:
    signs = Signs()
    for record in records((CAPTURED + "".join(NOTICE.format(minute=minute) for minute in range(35, 40))).encode()):
        signs = read(signs, record)
    gpus = tuple(busy_gpu(i, 97.0, limit=None, name="NVIDIA GeForce RTX 4090") for i in range(2))
    verdict = judge(Evidence(signs=signs, phase=Phase.CAPTURE, host=HostEvidence(gpus=gpus)))
    assert verdict.judgement is Judgement.STUCK
    assert "5 notices that workers do not answer" in verdict.evidence


def test_a_collective_that_waits_for_a_straggler_which_reads_is_no_hang() -> None:
    said = played(Scene(hung().gpus, lambda at: spinning(2, at, reads=200e6)), NCCL)
    assert {verdict.judgement for _, verdict in said} == {Judgement.WORKING}


def test_compilers_excuse_gpus_that_seem_busy() -> None:
    def tree(at: float) -> tuple[UnitProcess, ...]:
        return (
            *spinning(2, at),
            UnitProcess(900 + int(at) // 20, 101, "ptxas -v x.ptx", "R", cpu_s=at % 20, started_s=at // 20),
        )

    said = played(Scene(hung().gpus, tree), CAPTURED)
    assert first(said, Judgement.STUCK) == first(said, Judgement.WATCH) == float("inf")
    assert said[-1][1].signature == "compilers"
    assert "1 ptxas" in said[-1][1].evidence


def test_an_idle_pool_of_compile_workers_is_no_excuse() -> None:
    def tree(at: float) -> tuple[UnitProcess, ...]:
        pool = UnitProcess(900, 101, "python -m torch._inductor.compile_worker", "S", cpu_s=3.0, started_s=0.0)
        return (*spinning(2, at), pool)

    assert first(played(Scene(hung().gpus, tree), CAPTURED), Judgement.STUCK) <= 180


def test_one_gpu_that_computes_excuses_the_others() -> None:
    gpus = (busy_gpu(0, 88.0), busy_gpu(1, 310.0))
    said = played(Scene(gpus, lambda at: spinning(2, at)), CAPTURED)
    assert {verdict.judgement for _, verdict in said} == {Judgement.WORKING}


def test_come_late_it_must_be_seen_to_stand_still_first() -> None:
    signs = Signs(last="vLLM is using nccl==2.27.5", last_at=0.0)
    evidence = Evidence(now=900.0, stalled_s=900.0, observed_s=20.0, signs=signs, host=HostEvidence(gpus=hung().gpus))
    assert judge(evidence).judgement is Judgement.WATCH
    assert judge(replace(evidence, observed_s=61.0)).judgement is Judgement.STUCK


def test_what_may_not_be_read_softens_the_verdict() -> None:
    signs = Signs(last="vLLM is using nccl==2.27.5", last_at=0.0)
    host = HostEvidence(window_s=30.0, gpus=hung().gpus, not_permitted=("bytes read",))
    verdict = judge(Evidence(now=400.0, stalled_s=400.0, signs=signs, host=host))
    assert verdict.judgement is Judgement.WATCH
    assert "bytes read: not permitted" in verdict.missing
    assert verdict.probe


def test_nothing_that_moves_at_all_is_a_hang() -> None:
    gpu = replace(busy_gpu(0, 80.0), util=0.0)

    def tree(at: float) -> tuple[UnitProcess, ...]:
        return tuple(replace(process, cpu_s=1.0, state="S") for process in spinning(1, at))

    said = played(Scene((gpu,), tree), "INFO 01-25 11:02:05 [x.py:1] Connecting to the store\n")
    assert 30 <= first(said, Judgement.WATCH) <= 60
    assert first(said, Judgement.STUCK) <= 180
    assert said[-1][1].signature == "flat"


def test_processes_that_wait_for_storage_are_named() -> None:
    gpu = replace(busy_gpu(0, 80.0), util=0.0)

    def tree(at: float) -> tuple[UnitProcess, ...]:
        return tuple(replace(process, cpu_s=1.0) for process in spinning(1, at, state="D"))

    last = played(Scene((gpu,), tree), "INFO 01-25 11:02:05 [x.py:1] Starting to load model /models/x...\n")[-1][1]
    assert (last.judgement, last.signature, last.cause) == (Judgement.STUCK, "blocked", "storage_stalled")
    assert "1 of 2 processes in state D" in last.evidence


def test_a_mapping_on_a_network_disk_is_slow_work() -> None:
    host = HostEvidence(
        window_s=20.0, cpu=1.0, read=28.0 * 1024 * 1024, faults=18483.0, blocked=("VLLM::Worker_TP0",), processes=1
    )
    pace = Pace(3, 141, "shards", ((0.0, 0), (171.0, 3)))
    verdict = judge(Evidence(now=175.0, stalled_s=3.0, phase=Phase.WEIGHTS, pace=pace, host=host))
    assert (verdict.judgement, verdict.cause) == (Judgement.WORKING_SLOW, "mmap_network_fs")
    assert "prefetch" in verdict.advice
    assert "18,483 major faults a second" in verdict.evidence


def test_memory_that_others_hold_is_told_before_vllm_gives_up() -> None:
    held = tuple(Holder(index, 20911, "VLLM::EngineCore", 80 * GIB, "old.service") for index in range(2))
    host = HostEvidence(window_s=20.0, holders=held, totals={0: 96 * GIB, 1: 96 * GIB})
    evidence = Evidence(now=9.0, stalled_s=3.0, phase=Phase.CONFIG, host=host, workers=2, utilization=0.9)
    verdict = judge(evidence)
    assert (verdict.judgement, verdict.signature) == (Judgement.WATCH, "held_memory")
    assert "pid 20911" in verdict.sentence
    free_elsewhere = replace(host, totals=dict.fromkeys(range(4), 96 * GIB))
    assert judge(replace(evidence, host=free_elsewhere)).judgement is Judgement.WORKING


def test_a_peer_that_is_missed_is_named() -> None:
    log = b"x\nWait for all ray workers to be active. 1/2 is active\nWait for all ray workers to be active. 1/2 is active\n"
    signs = Signs()
    for record in records(log):
        signs = read(signs, record)
    verdict = judge(Evidence(signs=signs))
    assert verdict.judgement is Judgement.WAITING_FOR_PEER
    assert "1 of 2 peers are there" in verdict.evidence
    for record in records(b"All ray workers are active\n"):
        signs = read(signs, record)
    assert signs.peers is None


def test_heartbeats_alone_ask_for_a_look() -> None:
    line = "DEBUG 05-16 14:12:{s} [core_client.py:425] Waiting for 1 core engine proc(s) to start: {{0}}\n"
    signs = Signs()
    for record in records("".join(line.format(s=16 + 10 * i) for i in range(4)).encode()):
        signs = read(signs, record)
    verdict = judge(Evidence(signs=signs))
    assert (verdict.judgement, signs.heartbeats, signs.waiting_for) == (Judgement.NEEDS_PROBE, 4, "engine core 0")
    assert verdict.probe


def test_data_parallel_engines_that_all_wait_are_stuck_and_one_is_not() -> None:
    line = "(EngineCore_DP{dp} pid=146{dp}) INFO 05-28 15:4{m}:28 [shm_broadcast.py:681] No available shared memory broadcast block found in 60 seconds.\n"
    lines = [line.format(dp=i % 2, m=i) for i in range(4)]
    signs = Signs()
    for record in records("".join(lines).encode()):
        signs = read(signs, record)
    assert judge(Evidence(signs=signs)).cause == "dp_rank_desync"
    assert judge(Evidence(signs=signs)).judgement is Judgement.STUCK
    one = replace(signs, notice_engines=frozenset({"EngineCore_DP0"}))
    assert judge(Evidence(signs=one, serving=True)).judgement is not Judgement.STUCK


def test_redirected_traffic_between_gpus_is_the_cause_of_a_silent_collective() -> None:
    signs = Signs(last="vLLM is using nccl==2.28.9")
    verdict = judge(Evidence(signs=signs, machine=Machine(acs_redirects=True)))
    assert (verdict.judgement, verdict.cause) == (Judgement.STUCK, "pcie_acs_enabled")
    assert judge(Evidence(signs=signs)).judgement is Judgement.NEEDS_PROBE


def test_a_silent_collective_under_nvlink_points_to_the_fabric() -> None:
    signs = Signs(last="vLLM is using nccl==2.28.9", last_at=0.0)
    verdict = judge(
        Evidence(now=949.0, stalled_s=949.0, signs=signs, machine=Machine(fabric="Completed", topology="NV18"))
    )
    assert verdict.judgement is Judgement.STUCK
    assert "fabric manager" in verdict.advice


def test_errors_of_the_network_behind_notices_are_the_cause() -> None:
    log = (
        "gx-a:161:191 [0] transport/net_ib/p2p.cc:651 NCCL WARN NET/IB: Got completion from peer 10.0.0.2<43011> with"
        " status=IBV_WC_REM_INV_REQ_ERR(9) opcode=IBV_WC_SEND(0) vendor_err=138\n"
    ) + NOTICE.format(minute=35) * 3
    signs = Signs()
    for record in records(log.encode()):
        signs = read(signs, record)
    verdict = judge(Evidence(signs=signs, phase=Phase.PROFILE))
    assert (verdict.judgement, verdict.cause) == (Judgement.STUCK, "nccl_ib_error")
    assert signs.network_error == "IBV_WC_REM_INV_REQ_ERR(9)"


def test_a_download_that_stands_still_is_stuck() -> None:
    signs = Signs()
    for record in records(b"Fetching 12 files:   0%|          | 0/12 [00:00<?, ?it/s]\n"):
        signs = read(signs, record)
    verdict = judge(Evidence(now=1484.0, stalled_s=1484.0, signs=signs))
    assert (verdict.judgement, verdict.cause) == (Judgement.STUCK, "hf_xet_stall")


def test_a_minute_is_not_slow_however_quick_it_usually_is() -> None:
    """A checkpoint that lay in the page cache came in 5 s; from the disk it takes ten times as long, and nobody waits."""
    pace = Pace(2, 10, "shards", ((0.0, 0), (10.0, 2)))
    assert not pace.slow(usual_s=5.0)
    assert Pace(2, 10, "shards", ((0.0, 0), (12.2, 2))).slow(usual_s=5.0)
    assert not Pace(2, 10, "shards", ((0.0, 0), (12.2, 2))).slow(usual_s=31.0)


def test_slow_shards_are_slow_work_until_three_times_the_slowest() -> None:
    steps = ((5570.0, 46), (5744.0, 47), (5846.0, 48), (6011.0, 49))
    pace = Pace(49, 86, "shards", steps)
    at = judge(Evidence(now=6011.0 + 400, stalled_s=400.0, phase=Phase.WEIGHTS, pace=pace))
    assert at.judgement is Judgement.WORKING_SLOW
    assert 350 <= pace.pause_s <= 600
    late = judge(Evidence(now=6011.0 + 700, stalled_s=700.0, phase=Phase.WEIGHTS, pace=pace))
    assert (late.judgement, late.signature) == (Judgement.WATCH, "overdue")


def test_bursts_of_shards_are_judged_over_all_of_them() -> None:
    teeth = ((1021, 97), (1022, 98), (1049, 99), (1077, 100), (1104, 101), (1105, 102), (1105, 103), (1133, 104))
    pace = Pace(104, 241, "shards", tuple((float(at), done) for at, done in teeth))
    assert 13 <= (pace.mean_s or 0) <= 17
    assert judge(Evidence(pace=pace, phase=Phase.WEIGHTS)).judgement is Judgement.WORKING_SLOW
    assert judge(Evidence(pace=replace(pace, total=64, done=50), phase=Phase.WEIGHTS)).judgement is Judgement.WORKING


def test_traced_functions_are_slow_work() -> None:
    signs = Signs()
    line = b"WARNING 05-02 09:14:07 [logger.py:202] VLLM_TRACE_FUNCTION is enabled. It will record every function executed\n"
    for record in records(line):
        signs = read(signs, record)
    verdict = judge(Evidence(signs=signs))
    assert (verdict.judgement, verdict.cause) == (Judgement.WORKING_SLOW, "trace_function_enabled")


def test_a_cpu_that_works_for_too_long_alone_asks_for_its_stack() -> None:
    host = HostEvidence(window_s=30.0, cpu=1.0, processes=3, gpus=(replace(busy_gpu(0, 80.0), util=0.0),))
    evidence = Evidence(now=1.0, stalled_s=600.0, phase=Phase.COMPILE, host=host)
    assert judge(evidence).judgement is Judgement.WORKING
    late = judge(replace(evidence, stalled_s=1300.0))
    assert late.judgement is Judgement.NEEDS_PROBE
    assert "py-spy" in late.probe
    assert judge(replace(evidence, stalled_s=1300.0, usual_s=600.0)).judgement is Judgement.WORKING


def test_a_server_without_requests_is_idle_and_one_without_tokens_is_stuck() -> None:
    assert judge(Evidence(serving=True, running=0)).judgement is Judgement.IDLE
    signs = Signs(stats_at=100.0, running=4, notices=1)
    assert judge(Evidence(now=105.0, serving=True, running=4, signs=signs)).judgement is Judgement.WORKING
    assert judge(Evidence(now=140.0, serving=True, running=4, signs=signs)).judgement is Judgement.STUCK


def test_a_container_is_not_judged_by_its_client() -> None:
    client = UnitProcess(7, 1, "/usr/bin/docker run --gpus all vllm/vllm-openai", "S", cpu_s=0.1, started_s=0.0)
    gpu = replace(busy_gpu(0, 80.0), util=0.0, processes=())
    said = played(Scene((gpu,), lambda _: (client,)), "INFO 01-25 11:02:05 [x.py:1] Connecting\n")
    assert first(said, Judgement.STUCK) == float("inf")
    assert said[-1][1].judgement is Judgement.NEEDS_PROBE


def test_a_gpu_that_says_nothing_is_no_evidence() -> None:
    gpu = Gpu(0, "GPU-0", "NVIDIA GB10")
    verdict = judge(Evidence(now=1.0, stalled_s=300.0, host=HostEvidence(window_s=30.0, gpus=(gpu,), gpu_why="")))
    assert verdict.judgement is Judgement.NEEDS_PROBE
    assert "no utilisation from the GPUs" in verdict.missing
