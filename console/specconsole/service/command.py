"""What a unit's command serves: the launch that was found in it, turned into a `Serving`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from specconsole.host.base import Endpoint
from specconsole.remote.secret import mask, mask_argv
from specconsole.service import arguments, launch
from specconsole.service.arguments import Arguments
from specconsole.service.launch import Files, Launch
from specconsole.service.shellword import UNKNOWN
from specconsole.service.unit import Serving

PORT = 8000
"""vLLM's own default."""
KEY_VARIABLE = "VLLM_API_KEY"
EVERYWHERE = dict.fromkeys(("", "0.0.0.0", "*", "localhost"), "127.0.0.1") | {"::": "::1"}  # noqa: S104  read, not bound
"""Addresses to listen on, and where to connect for them."""


def understand(
    argv: Sequence[str], environment: Mapping[str, str], files: Files, *, complete: bool = True
) -> Serving | None:
    """What a command serves; None when it does not start vLLM. `files.wanted` names what would tell more."""
    found = launch.find(argv, environment, files, complete=complete)
    if found is None:
        return None
    given = arguments.parse(found.arguments, Files().read if found.container else files.read)
    return _serving(argv, found, given)


def unreadable(argv: Sequence[str]) -> Serving:
    """A unit that is known to run vLLM, though its command does not show how."""
    return _serving(argv, Launch("shell", certain=False), Arguments())


def key_of(found: Launch, given: Arguments) -> str | None:
    """The API key that a command gives its server, in clear; None for none."""
    keys = given.values.get("api-key") or [found.environment.get(KEY_VARIABLE, "")]
    return next((key for key in keys if key and UNKNOWN not in key), None)


def _serving(argv: Sequence[str], found: Launch, given: Arguments) -> Serving:
    seen = found.certain and not given.uncertain
    unknown: list[str] = []
    endpoint = _endpoint(found, given, unknown)
    model = model_of(found, given)
    speculation = arguments.speculation(given)
    if model is None:
        unknown.append("model")
    if not seen:
        unknown += ["parallelism", *([] if speculation else ["speculation"])]
    names = [name for name in given.values.get("served-model-name", []) if UNKNOWN not in name]
    return Serving(
        argv=tuple(mask(word).replace(UNKNOWN, "?") for word in mask_argv(argv)),
        launcher=found.launcher,
        model=model,
        served_names=tuple(names) or ((model,) if model and not given.has("served-model-name") else ()),
        endpoint=endpoint,
        tensor_parallel=given.number("tensor-parallel-size") or 1,
        pipeline_parallel=given.number("pipeline-parallel-size") or 1,
        data_parallel=given.number("data-parallel-size") or 1,
        api_server_count=given.number("api-server-count"),
        speculation=speculation,
        eager=given.switch("enforce-eager"),
        has_api_key=given.has("api-key") or bool(found.environment.get(KEY_VARIABLE)),
        log_file=found.output,
        image=found.container.image if found.container else None,
        unknown=tuple(dict.fromkeys(unknown)),
    )


def model_of(found: Launch, given: Arguments) -> str | None:
    """The model that a command serves; None: not known."""
    first = next((word for word in found.arguments[:1] if not word.startswith("-")), None)
    model = first or given.text("model") or next(iter(given.positional), "")
    return model.rstrip("/") or None if UNKNOWN not in model else None


def _endpoint(found: Launch, given: Arguments, unknown: list[str]) -> Endpoint:
    """Where to connect. What is not known is vLLM's default, and named in `unknown`."""
    tls = given.has("ssl-certfile") or given.has("ssl-keyfile")
    if given.switch("headless"):  # a further node of a deployment that answers elsewhere
        unknown.append("port")
    if uds := given.text("uds"):
        return Endpoint(uds=uds, tls=tls)
    port = given.number("port")
    if (given.has("port") and port is None) or not found.certain or (given.uncertain and port is None):
        unknown.append("port")
    port, address = port or PORT, given.text("host") or ""
    if found.container:
        reached = found.container.reached(port)
        if reached is None:
            unknown.append("port")
        outside = reached or ("", port)
        address, port = address if found.container.host_network else outside[0], outside[1]
    everywhere = address in EVERYWHERE and address != "localhost"
    return Endpoint(port, EVERYWHERE.get(address, address), tls=tls, everywhere=everywhere)
