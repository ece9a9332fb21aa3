"""Whether a server answers, and whether it can do its work; two different questions.

/health looks at one flag of the API process: a hung engine still gives 200. So "answering" means that health and model
list answer, "ready" that one token was generated, and whether tokens still flow is seen from the counters alone.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum

from specconsole.engine.client import Answer, EngineClient, Model, NoAnswer, NotHttp, Refused, Rejected, error_message
from specconsole.errors import DeadlineExceeded


class Health(Enum):
    """What the port says."""

    REFUSED = "refused"
    """Nothing listens: stopped, or still loading."""
    STARTING = "starting"
    """Something listens, but it serves no model list yet."""
    ANSWERING = "answering"
    """Health and model list answer; nothing is proven of the engine."""
    SILENT = "silent"
    """It takes connections and gives no answer in time."""
    DEAD = "dead"
    """The API process says that its engine has died."""
    WRONG = "wrong"
    """Another server, or another model than expected."""


@dataclass(frozen=True)
class Report:
    """One look at a server."""

    health: Health
    reason: str = ""
    """One sentence; "" when all is as it should be."""
    models: tuple[Model, ...] = ()
    """What is served; () also where the list asks for a key that we do not have."""


@dataclass(frozen=True)
class Proof:
    """Whether one token was generated."""

    ok: bool | None
    """True: ready. False: it was tried and failed. None: not tried, or not allowed."""
    reason: str = ""
    tokens: int | None = None


async def check(client: EngineClient, expected: Sequence[str] = (), *, deadline_s: float = 2.0) -> Report:
    """Ask for health, then for the models; `expected` are served names of which one must be listed. Raises LinkLost."""
    try:
        report = _of_health(await client.get("/health", deadline_s=deadline_s))
        return report or await _of_models(client, expected)
    except Refused as error:
        return Report(Health.REFUSED, error.title)
    except DeadlineExceeded as error:
        return Report(Health.SILENT, f"{error.title.rstrip('.')}: busy, or it hangs; its log and the GPUs tell which.")
    except NotHttp as error:
        return Report(Health.WRONG, str(error))
    except NoAnswer as error:  # docker's own proxy does this until the server in the container listens
        return Report(Health.STARTING, str(error))


def _of_health(answer: Answer) -> Report | None:
    if answer.status == 200:
        return None
    if answer.status >= 500:
        said = error_message(answer)
        return Report(Health.DEAD, f"/health answers {answer.status}" + (f": {said}" if said else "."))
    return Report(Health.WRONG, f"/health answers {answer.status}: this does not look like vLLM.")


async def _of_models(client: EngineClient, expected: Sequence[str]) -> Report:
    try:
        models = await client.models()
    except Rejected as error:
        if error.status in (401, 403):
            key = "refuses our API key" if client.has_key else "asks for an API key"
            return Report(Health.ANSWERING, f"The model list {key}.")
        kind = Health.DEAD if error.status >= 500 else Health.WRONG
        return Report(kind, str(error))
    if not models:
        return Report(Health.STARTING, "The model list is empty.")
    names = [model.id for model in models]
    if expected and not set(expected) & set(names):
        return Report(Health.WRONG, f"It serves {', '.join(names)}, not {', '.join(expected)}.", models)
    return Report(Health.ANSWERING, "", models)


async def prove(client: EngineClient, model: str, *, deadline_s: float = 120.0) -> Proof:
    """Generate one token: the only proof that a server is ready. The first may wait for kernels to compile.

    Raises:
        LinkLost: the link is down, so that nothing is known.
    """
    body = {"model": model, "max_tokens": 1, "temperature": 0, "stream": False}
    try:
        answer = await client.post("/v1/completions", {**body, "prompt": "1 2 3"}, deadline_s=deadline_s)
        if answer.status == 404 and "model" not in error_message(answer).lower():  # no such route: a chat-only server
            message = {"role": "user", "content": "1 2 3"}
            answer = await client.post("/v1/chat/completions", {**body, "messages": [message]}, deadline_s=deadline_s)
    except (Refused, NoAnswer, DeadlineExceeded) as error:
        return Proof(False, str(error))
    return _proof(answer)


def _proof(answer: Answer) -> Proof:
    if answer.status in (401, 403):
        return Proof(None, "Generation was not tried: the server asks for an API key.")
    found = answer.json()
    if answer.status != 200 or not isinstance(found, dict):
        return Proof(False, f"It answered {answer.status}: {error_message(answer)}")
    usage = found.get("usage")
    tokens = usage.get("completion_tokens") if isinstance(usage, dict) else None
    if not isinstance(tokens, int):
        return Proof(None, "It answered, but does not say how many tokens it generated.")
    return Proof(tokens >= 1, "" if tokens >= 1 else "It answered without generating a token.", tokens)
