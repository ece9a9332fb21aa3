"""Whole starts of other versions, engines and modes: which phases they go through, and what is known of them."""

from __future__ import annotations

from specconsole.load.phase import Expectation, Phase, plan
from specconsole.load.timeline import Certainty
from tests.load.log import read

ROOT = Expectation(model="/m", workers=1, engines=1)

V0 = """
INFO 07-18 13:26:00 api_server.py:495] vLLM API server version 0.6.1
INFO 07-18 13:26:01 llm_engine.py:226] Initializing an LLM engine (v0.6.1) with config: model='/m', speculative_config=None, tensor_parallel_size=1, enforce_eager=False
INFO 07-18 13:26:11 pynccl.py:63] vLLM is using nccl==2.20.5
INFO 07-18 13:26:12 model_runner.py:1014] Starting to load model /m...
Loading safetensors checkpoint shards:   0% Completed | 0/2 [00:00<?, ?it/s]
Loading safetensors checkpoint shards: 100% Completed | 2/2 [00:02<00:00,  1.00s/it]
INFO 07-18 13:26:15 model_runner.py:1025] Loading model weights took 6.0160 GB
INFO 07-18 13:26:20 gpu_executor.py:122] # GPU blocks: 3412, # CPU blocks: 512
INFO 07-18 13:26:21 model_runner.py:1329] Capturing cudagraphs for decoding. This may lead to unexpected consequences if the model is not static.
INFO 07-18 13:26:40 model_runner.py:1456] Graph capturing finished in 19 secs.
INFO:     Started server process [1]
INFO:     Application startup complete.
"""


def phases(text: str, expected: Expectation = ROOT) -> list[str]:
    return [span.phase.value for span in read(text, expected).spans]


def test_the_old_engine_has_no_compile_and_its_capture_ends_in_the_api() -> None:
    timeline = read(V0, ROOT)
    assert [span.phase.value for span in timeline.spans] == [
        "config", "init", "weights", "profile", "kv_cache", "capture", "warmup_after", "api",
    ]  # fmt: skip
    assert (timeline.facts.version, timeline.facts.model_gib) == ("0.6.1", 6.016)
    assert timeline.startup_at == 12.0
    assert timeline.loaded_at == 7.0


def test_eager_mode_neither_compiles_nor_captures() -> None:
    eager = Expectation(model="/m", workers=1, engines=1, eager=True)
    assert not {Phase.COMPILE, Phase.CAPTURE, Phase.WARMUP_AFTER} & set(plan(eager))
    text = """
INFO 02-05 14:07:01 [core.py:1] Initializing a V1 LLM engine (v0.24.0) with config: model='/m', speculative_config=None, enforce_eager=True, x
INFO 02-05 14:07:01 [gpu_model_runner.py:1] Starting to load model /m...
INFO 02-05 14:07:01 [default_loader.py:1] Loading weights took 3.08 seconds
INFO 02-05 14:07:01 [gpu_model_runner.py:1] Model loading took 15.0 GiB memory and 3.676078 seconds
INFO 02-05 14:07:01 [gpu_worker.py:1] Available KV cache memory: 50.36 GiB
INFO 02-05 14:07:01 [kv_cache_utils.py:1] GPU KV cache size: 412,544 tokens
INFO 02-05 14:07:01 [core.py:1] init engine (profile, create kv cache, warmup model) took 45.15 s
"""
    want = ["config", "init", "weights", "post", "profile", "kv_cache", "warmup", "api"]
    assert phases(text, eager) == want
    assert phases(text, ROOT) == want, "the log says eager where the command was not understood"


def test_a_repository_is_downloaded_first_and_a_path_never() -> None:
    assert Phase.DOWNLOAD in plan(Expectation(model="moonshotai/Kimi-K2.5"))
    assert Phase.DOWNLOAD not in plan(Expectation(model="/models/kimi"))
    assert Phase.DOWNLOAD not in plan(Expectation())
    text = """
(EngineCore pid=1) INFO 09-10 18:25:40 [gpu_model_runner.py:2197] Starting to load model Qwen/Qwen3-14B...
(EngineCore pid=1) INFO 09-10 18:25:40 [weight_utils.py:1] Time spent downloading weights for Qwen/Qwen3-14B: 900.5 seconds
Loading safetensors checkpoint shards:   0% Completed | 0/8 [00:00<?, ?it/s]
"""
    timeline = read(text, Expectation(model="Qwen/Qwen3-14B"), every=1000.0)
    assert [(span.phase.value, span.start) for span in timeline.spans] == [("download", 1.0), ("weights", 1001.0)]
    unknown = read(text, Expectation(), every=1000.0)
    assert [span.phase.value for span in unknown.spans] == ["download", "weights"], (
        "said afterwards, it was no slow read"
    )
    assert unknown.facts.download_s == 900.5


def test_the_second_runner_loads_its_drafter_without_a_word() -> None:
    text = """
(EngineCore pid=1) INFO 09-10 18:25:40 [core.py:1] Initializing a V1 LLM engine (v0.30.0) with config: model='/m', speculative_config=SpeculativeConfig(method='eagle3', model='/d', num_spec_tokens=3), x
(EngineCore pid=1) INFO 09-10 18:25:40 [model_runner.py:1] Loading model from scratch...
(EngineCore pid=1) \rLoading safetensors checkpoint shards:   0% Completed | 0/8 [00:00<?, ?it/s]
(EngineCore pid=1) \rLoading safetensors checkpoint shards: 100% Completed | 8/8 [00:01<00:00,  1.31it/s]
(EngineCore pid=1) INFO 09-10 18:25:41 [default_loader.py:1] Loading weights took 1.20 seconds
(EngineCore pid=1) \rLoading safetensors checkpoint shards:   0% Completed | 0/1 [00:00<?, ?it/s]
(EngineCore pid=1) \rLoading safetensors checkpoint shards: 100% Completed | 1/1 [00:00<00:00,  1.31it/s]
(EngineCore pid=1) INFO 09-10 18:25:41 [default_loader.py:1] Loading weights took 0.20 seconds
(EngineCore pid=1) INFO 09-10 18:25:41 [model_runner.py:1] Model loading took 15.0 GiB memory and 15.825334 seconds
"""
    timeline = read(text, Expectation(model="/m", speculation_known=False))
    assert [span.phase.value for span in timeline.spans] == ["config", "init", "weights", "post", "drafter", "compile"]
    assert (timeline.facts.weights_s, timeline.facts.drafter, timeline.facts.k) == (1.2, "/d", 3)
    assert timeline.weights
    assert timeline.weights.complete


def test_kernels_are_tuned_before_capture() -> None:
    text = """
(EngineCore_0 pid=3) INFO 08-27 05:43:37 [gpu_worker.py:276] Available KV cache memory: 157.11 GiB
(EngineCore_0 pid=3) INFO 08-27 05:43:37 [kv_cache_utils.py:849] GPU KV cache size: 1,470,944 tokens
(EngineCore_0 pid=3) 2025-08-27 05:43:37,609 - INFO - autotuner.py:256 - flashinfer.jit: [Autotuner]: Autotuning process starts ...
(EngineCore_0 pid=3) [AutoTuner]: Tuning fp4_gemm:  71%|#######1  | 10/14 [00:00<00:00, 98.77profile/s]
(EngineCore_0 pid=3) Capturing CUDA graphs (decode, FULL): 100%|##########| 1/1 [00:00<00:00,  3.12it/s]
"""
    timeline = read(text, ROOT)
    assert [span.phase.value for span in timeline.spans] == ["profile", "kv_cache", "warmup", "capture"]
    warmup = timeline.of(Phase.WARMUP)
    assert warmup
    assert warmup.progress
    assert (warmup.progress.done, warmup.progress.total, warmup.progress.unit) == (10, 14, "kernels")


def test_a_warm_up_bar_that_comes_finished_dates_its_own_beginning() -> None:
    text = """
(EngineCore pid=3) INFO 08-27 05:43:37 [kv_cache_utils.py:849] GPU KV cache size: 1,470,944 tokens
DeepGEMM warmup: 100%|##########| 797/797 [01:22<00:00,  9.72it/s]
Capturing CUDA graphs (PIECEWISE): 100%|##########| 51/51 [00:03<00:00, 15.75it/s]
"""
    timeline = read(text, ROOT, every=100.0)
    spans = {span.phase: span for span in timeline.spans}
    assert spans[Phase.WARMUP].begun is Certainty.TIMED
    assert abs((spans[Phase.WARMUP].start or 0) - 19.0) < 0.1
    assert spans[Phase.WARMUP].end == spans[Phase.CAPTURE].start
    assert abs((spans[Phase.CAPTURE].start or 0) - 197.76) < 0.01


def test_live_capture_bars_of_a_unit_that_logs_to_a_file_count_over_both() -> None:
    said = "(EngineCore pid=3) INFO 08-27 05:43:37 [g.py:1] Profiling CUDA graph memory: PIECEWISE=4 (largest=512), FULL=4 (largest=512)\n"  # fmt: skip
    bars = [
        f"Capturing CUDA graphs ({mode}):  50%|#####     | {done}/4 [00:01<00:01,  1.00it/s]"
        for mode in ("mixed prefill-decode, PIECEWISE", "decode, FULL")
        for done in (0, 2, 4)
    ]
    seen = []
    for count in range(1, len(bars) + 1):
        span = read(said + "\n".join(bars[:count]), ROOT).span
        assert span
        seen.append((span.progress.done, span.progress.total) if span.progress else None)
    assert seen == [(0, 8), (2, 8), (4, 8), (4, 8), (6, 8), (8, 8)]


def test_heartbeats_are_no_progress() -> None:
    text = """
(EngineCore pid=3) INFO 08-27 05:43:37 [pynccl.py:1] vLLM is using nccl==2.27.3
DEBUG 05-16 14:12:26 [core_client.py:425] Waiting for 1 core engine proc(s) to start: {0}
(EngineCore pid=3) INFO 08-27 05:43:37 [shm_broadcast.py:466] No available shared memory broadcast block found in 60 seconds. This typically happens when some processes are hanging
"""
    timeline = read(text, ROOT, every=60.0)
    assert (timeline.heartbeats, timeline.moved_at, timeline.heard_at) == (2, 1.0, 121.0)
    assert timeline.last_line == "vLLM is using nccl==2.27.3"


def test_a_line_of_an_ended_phase_does_not_open_it_again() -> None:
    late = "(RayWorkerWrapper pid=9) INFO 02-21 12:24:55 pynccl.py:69] vLLM is using nccl==2.21.5 [repeated 31x across cluster]"
    timeline = read(V0 + late, ROOT)
    assert timeline.phase is Phase.API


def test_a_padded_line_and_foreign_prefixes_are_read() -> None:
    text = (
        "2026-05-01 23:45:52.944 | (EngineCore pid=187) INFO 05-01 21:45:52 [default_loader.py:384] Loading weights took 31.47 seconds\n"
        "(EngineCore pid=187) INFO 06-02 01:51:40 [model_runner.py:295] Model loading took 7.64 GiB and 32.969258 seconds"
        + " "
        * 80
    )
    timeline = read(text, ROOT)
    assert (timeline.facts.weights_s, timeline.facts.load_s, timeline.phase) == (31.47, 32.969258, Phase.COMPILE)
