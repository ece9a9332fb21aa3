"""The engine over the host's own link, as root and as a user, on a port and on a socket; never through a local port."""

from __future__ import annotations

import asyncio
from contextlib import aclosing

import pytest

from specconsole.engine.client import EngineClient
from specconsole.engine.health import Health
from specconsole.engine.key import ApiKey
from specconsole.engine.watch import watch
from specconsole.host.base import Endpoint
from tests.lab.cards import cards
from tests.lab.conftest import MakeHost, on_bookworm
from tests.lab.programs import output
from tests.lab.reach import eventually, reach
from tests.lab.units import NGRAM, SYSTEM, deployment, serve, unit

pytestmark = on_bookworm
KEY = "sk-secret-0123456789"
BASELINE = "vllm-kimi-k25-int4"


@pytest.mark.parametrize("user", ["root", "guest"])
async def test_models_version_and_counters(make_host: MakeHost, user: str) -> None:
    host = make_host(files={**cards(), f"{SYSTEM}/vllm.service": unit(serve("--api-key", KEY, speculative=NGRAM))})
    host.run("systemctl start vllm")
    await eventually(lambda: "LISTEN" in host.run("ss -Hltn sport = :8000").stdout)
    listening = output("ss", "-Hltn")
    async with reach(host, user) as console, EngineClient(console, Endpoint(port=8000), ApiKey(KEY)) as client:
        assert (await client.health()).status == 200
        assert [model.id for model in await client.models()] == ["kimi-k2.5"]
        assert await client.version() == "0.24.0"
        body = {"model": "kimi-k2.5", "prompt": "one two", "max_tokens": 12, "temperature": 0}
        assert (await client.post("/v1/completions", body)).status == 200
        scrape = await client.metrics()
        assert scrape.value("vllm:generation_tokens") == 12
        assert (scrape.value("vllm:spec_decode_num_drafts") or 0) > 0
        assert output("ss", "-Hltn") == listening, "no port of this machine leads there"


async def test_a_unix_socket(make_host: MakeHost) -> None:
    host = make_host(files={**cards(), f"{SYSTEM}/vllm.service": unit(serve("--uds", "/run/vllm.sock"))})
    host.run("systemctl start vllm")
    await eventually(lambda: "LISTEN" in host.run("ss -Hlx src /run/vllm.sock").stdout)
    async with reach(host) as console, EngineClient(console, Endpoint(uds="/run/vllm.sock")) as client:
        assert [model.id for model in await client.models()] == ["kimi-k2.5"]


async def test_an_engine_followed_over_a_swap_and_a_cut(make_host: MakeHost) -> None:
    host = make_host(files={**cards(), **deployment(1)})
    async with reach(host) as console, aclosing(watch(console, Endpoint(port=8000), interval_s=0.2)) as snapshots:

        async def until(health: Health) -> None:
            async for snapshot in snapshots:
                if snapshot.health is health:
                    return

        await asyncio.wait_for(until(Health.REFUSED), 15)
        host.run(f"systemctl start {BASELINE}")
        await asyncio.wait_for(until(Health.ANSWERING), 15)
        await asyncio.to_thread(host.cut_ssh)
        host.run(f"systemctl stop {BASELINE}")
        await asyncio.wait_for(until(Health.REFUSED), 15)
        host.run(f"systemctl start {BASELINE}-ngram")
        await asyncio.wait_for(until(Health.ANSWERING), 15)
