"""vLLM's HTTP server as a swap needs it: requests in flight, answering, one token, speculation; Python 3.8."""

from __future__ import annotations

import json
import math
import re
from dataclasses import dataclass
from typing import Any, Dict, List, Optional, Sequence, Tuple

from specconsole.remote import outside
from specconsole.remote.drive_http import Target
from specconsole.remote.swap_world import World

ANSWER_S = 5.0
TOKEN_S = 180.0
"""The first request after a start may compile kernels: 2.0 to 2.8 s were measured with n-gram on an H200."""
_SAMPLE = re.compile(r"^([A-Za-z_:][\w:]*)(?:\{[^}]*\})?\s+(\S+)", re.MULTILINE)
_DRAFTS = "vllm:spec_decode_"
_SIGN = "vllm:num_requests_running"
"""A family that every version has: without it a page says nothing of what is missing in it."""
_ON = re.compile(r"speculative_config=(?:SpeculativeConfig\(|\{)")
_OFF = "speculative_config=None"


class Engine:
    """One server on this host; the key is never told."""

    def __init__(self, world: World, endpoint: Dict[str, Any], key: str = "") -> None:
        self.world = world
        self.target = Target(endpoint, key)

    def requests(self) -> Tuple[Optional[int], str]:
        """Requests that run or wait, and why that is not known; a server that nobody listens for has none."""
        try:
            status, body = self.world.get(self.target, "/metrics", ANSWER_S)
        except ConnectionRefusedError:
            return 0, "nothing listens"
        except FileNotFoundError:
            return 0, "nothing listens"
        except (OSError, ValueError) as error:
            return None, self.hide(error)
        if status != 200:
            return None, "/metrics answers %d" % status
        values = samples(body.decode("utf-8", "replace"), ("vllm:num_requests_running", "vllm:num_requests_waiting"))
        if not values:
            return None, "/metrics says nothing of requests"
        return int(sum(values)), ""

    def answering(self, served: Sequence[str]) -> Tuple[str, str, List[str]]:
        """How the server is: refused, starting, answering, dead or wrong; the reason; the models that it lists."""
        try:
            status, body = self.world.get(self.target, "/health", ANSWER_S)
            if status >= 500:
                return "dead", "/health answers %d" % status, []
            if status != 200:
                return "wrong", "/health answers %d: this does not look like vLLM" % status, []
            status, body = self.world.get(self.target, "/v1/models", ANSWER_S)
        except (ConnectionRefusedError, FileNotFoundError):
            return "refused", "nothing listens", []
        except (OSError, ValueError) as error:
            return "starting", self.hide(error), []
        if status in (401, 403):
            return "answering", "the model list asks for %s key" % ("another" if self.target.key else "a"), []
        models = _models(body)
        if status != 200 or not models:
            return "starting", "the model list answers %d" % status if status != 200 else "the model list is empty", []
        if served and not set(served) & set(models):
            return "wrong", "it serves %s, not %s" % (", ".join(models), ", ".join(served)), models
        return "answering", "", models

    def token(self, model: str) -> Tuple[Optional[bool], str]:
        """Generate one token; True: it came, False: it did not, None: it could not be tried. With the reason."""
        body: Dict[str, Any] = {"model": model, "max_tokens": 1, "temperature": 0, "stream": False}
        try:
            status, answer = self._post("/v1/completions", dict(body, prompt="1 2 3"))
            if status == 404:  # a server that only chats
                messages = [{"role": "user", "content": "1 2 3"}]
                status, answer = self._post("/v1/chat/completions", dict(body, messages=messages))
        except (OSError, ValueError) as error:
            return False, self.hide(error) or "no answer"
        if status in (401, 403):
            return None, "the server asks for a key that was not given"
        usage = answer.get("usage") if status == 200 else None
        tokens = usage.get("completion_tokens") if isinstance(usage, dict) else None
        if status != 200:
            return False, self.hide("it answered %d: %s" % (status, _error(answer)))
        if not isinstance(tokens, int):
            return None, "it answered without saying how many tokens it made"
        return tokens >= 1, "" if tokens >= 1 else "it answered without a token"

    def _post(self, path: str, body: Dict[str, Any]) -> Tuple[int, Dict[str, Any]]:
        status, data = self.world.post(self.target, path, json.dumps(body).encode(), TOKEN_S)
        try:
            found = outside.parse(data)
        except ValueError:
            found = None
        return status, found if isinstance(found, dict) else {}

    def counters(self) -> Counters:
        """What /metrics says of speculation, and of when the process began."""
        try:
            status, body = self.world.get(self.target, "/metrics", ANSWER_S)
        except (OSError, ValueError):
            return Counters(None, None)
        text = body.decode("utf-8", "replace")
        if status != 200 or _SIGN not in text:
            return Counters(None, None)
        began = samples(text, ("process_start_time_seconds",))
        return Counters(_DRAFTS in text, max(began) if began else None)

    def hide(self, error: object) -> str:
        """An error's text without the key."""
        return self.target.hide(str(error) or type(error).__name__)


@dataclass(frozen=True)
class Counters:
    """What a page of metrics says."""

    speculates: Optional[bool]
    """None: the page does not say (it cannot be read, or statistics are off)."""
    began: Optional[float]
    """Seconds since the epoch at which the server's process began."""


def samples(text: str, names: Sequence[str]) -> List[float]:
    """The values of some families, all labels."""
    found = []
    for name, value in _SAMPLE.findall(text):
        if name in names:
            try:
                number = float(value)
            except ValueError:
                continue
            if math.isfinite(number):
                found.append(number)
    return found


def logged(lines: Sequence[str]) -> Optional[bool]:
    """Whether the engine's own line of its configuration names speculation; None: there is no such line."""
    for line in lines:
        if _OFF in line:
            return False
        if _ON.search(line):
            return True
    return None


def _models(body: bytes) -> List[str]:
    try:
        return [str(one["id"]) for one in outside.parse(body)["data"]]
    except (ValueError, KeyError, TypeError):
        return []


def _error(answer: Dict[str, Any]) -> str:
    error = answer.get("error", answer.get("message", answer.get("detail", "")))
    if isinstance(error, dict):
        error = error.get("message", "")
    return str(error)[:300]
