"""The host of a bundle as a simulated host: its own time, its own units, nothing to be changed."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Mapping
from functools import lru_cache, partial
from typing import Any

from specconsole.clock import Clock, SystemClock
from specconsole.host.simulated.clock import ScaledClock
from specconsole.host.simulated.host import SimulatedHost
from specconsole.host.simulated.machine import Machine
from specconsole.host.simulated.replay import bundle
from specconsole.host.simulated.replay.bundle import Bundle, Values
from specconsole.host.simulated.replay.log import entries
from specconsole.host.simulated.replay.moment import moment
from specconsole.host.simulated.replay.pages import pages
from specconsole.host.simulated.replay.script import Replayed
from specconsole.host.simulated.replay.starts import Start, starts
from specconsole.host.simulated.site import Kept, Site, UnitFile
from specconsole.host.simulated.story import Story

LEAD_S = 3.0
"""It opens so long before the first thing that happens."""
TAIL_S = 0.5
PLAY_S = 90.0
"""So long a story takes where no speed was asked for."""
MOST = 200_000
"""Records of a log that are played, the newest."""
FRAMES = 4.0
"""So many a second of the viewer's time say that nothing was sampled yet."""
UNSAMPLED = "no sample of this moment in the bundle"
"""What is said of the cards before the samples begin."""
_THREE_DAYS_S = 266_400.0


def make(
    parts: Mapping[str, bytes], speed: float | None = None, *, at: str | None = None, base: Clock | None = None
) -> SimulatedHost:
    """Make the host, not yet opened.

    Args:
        parts: the files of a bundle, by name.
        speed: how fast the time of the log passes, up to the samples; None: so that it takes a minute and a half at most.
        at: where it begins: "error", "end", "+SECONDS" or a time of day; None: at the beginning.
        base: the viewer's own time.

    Raises:
        UsageError: `at` is none of that or not within the bundle, it is no bundle, or holds nothing that can be played.
    """
    kept = bundle.read(parts)
    begin, end = bounds(kept)
    if at is not None:
        begin = moment(at, kept, begin, end)
    return play(kept, begin, pace_of(kept, begin) if speed is None else speed, base)


def play(kept: Bundle, begin: float, pace: float, base: Clock | None = None) -> SimulatedHost:
    """Make the host of a bundle that was read, from a moment on (seconds since the epoch), at a speed."""
    end, boot = bounds(kept)[1], _boot(kept)
    log_s = _log_s(kept, begin)
    # What was sampled is short and worth a look, so that passes as it did; and what ages after the end should not race.
    clock = ScaledClock(base or SystemClock(), pace, epoch=begin, until_s=max(log_s, 0.0))
    known = {
        key: tuple(one for one in starts(kept.records[key], kept.shows[key], kept.made) if one.began > boot)
        for key in kept.units
    }
    return SimulatedHost(
        f"bundle of {kept.host}, {pace:.3g}x",
        clock=clock,
        site=_site(kept, known, begin - boot, pace),
        begin=_story(kept, known),
        ends=end,
        read_only=True,
    )


def bounds(kept: Bundle) -> tuple[float, float]:
    """From when to when it can be played, in seconds since the epoch."""
    begin, end = span(kept)
    return max(begin, _boot(kept) + 1.0), end


def pace_of(kept: Bundle, begin: float) -> float:
    """How fast it passes from a moment on where no speed was asked for."""
    return max(_log_s(kept, begin) / PLAY_S, 1.0)


def _log_s(kept: Bundle, begin: float) -> float:
    """Seconds until the samples, or until the end where there are none."""
    return (float(kept.frames[0]["t"]) if kept.frames else span(kept)[1]) - begin


def span(kept: Bundle) -> tuple[float, float]:
    """From when to when it tells, in seconds since the epoch; a little more at both ends."""
    said = [float(record["at"]) for records in kept.records.values() for record in records[-MOST:]]
    seen = [float(frame["t"]) for frame in kept.frames] + [at for read in kept.pages.values() for at, _ in read]
    moments = said + seen or [kept.made]
    return min(moments) - LEAD_S, max(moments) + TAIL_S


def _boot(kept: Bundle) -> float:
    """When the host was booted, by its samples; long before, where there is none."""
    if kept.frames:
        return float(kept.frames[0]["t"]) - float(kept.frames[0]["mono"])
    return span(kept)[0] - _THREE_DAYS_S


def _site(kept: Bundle, known: Mapping[str, tuple[Start, ...]], uptime_s: float, pace: float) -> Site:
    first = next(iter(kept.units.values()))
    vitals = kept.frames[-1].get("host", {}) if kept.frames else {}
    gpus = kept.frames[0]["gpus"] if kept.frames else []
    prefix = str(first["argv"][0]).rpartition("/bin/")[0]
    files = {_name(key): _file(kept, key, unit, known[key]) for key, unit in kept.units.items()}
    return Site(
        hostname=kept.host,
        boot_id="0" * 32,
        kernel="unknown",
        python=f"{prefix}/bin/python3",
        prefix=prefix,
        vllm=str(first.get("version") or ""),
        systemd="unknown",
        cpu_count=int(vitals.get("cpu_count") or 0),
        memory_total=int(vitals.get("memory_total") or 0),
        shm_total=int(vitals.get("shm_total") or 0),
        driver=str(kept.frames[0].get("driver") or "") if kept.frames else "",
        cards=(),
        memory_gpu=0,
        units=files,
        mounts={"/": "unknown 0 0 0 0% /"},
        uptime_s=uptime_s,
        frame=_frames(kept, gpus, pace),
    )


def _name(key: str) -> str:
    """A unit of a user's manager is shown as one of the system's, by its name."""
    return key.rpartition("/")[2]


def _file(kept: Bundle, key: str, unit: Values, begun: tuple[Start, ...]) -> UnitFile:
    show = kept.shows[key]
    endpoint = unit.get("endpoint")
    port = endpoint.get("port") if isinstance(endpoint, dict) else None
    names = [str(name) for name in unit.get("served_names") or ()]
    models = {"object": "list", "data": [_model(name, unit) for name in names or [str(unit.get("model"))]]}
    command = " ".join(unit["argv"])[:200]

    def script(number: int, seed: int, held: frozenset[int]) -> Replayed:  # noqa: ARG001
        return Replayed(begun[number - 1], command, models, str(unit.get("version") or ""))

    return UnitFile(
        _name(key),
        key,
        str(unit.get("description") or ""),
        argv=tuple(unit["argv"]),
        script=script,
        restart=show.get("Restart", "no"),
        enabled=show.get("UnitFileState") == "enabled",
        kept=Kept(
            port=port if isinstance(port, int) else 8000,
            invocations=tuple(start.invocation for start in begun),
            restarts=tuple(start.restarts for start in begun),
            page=pages(kept.pages[key]),
        ),
    )


def _model(name: str, unit: Values) -> dict[str, Any]:
    return {"id": name, "object": "model", "owned_by": "vllm", "root": unit.get("model")}


def _frames(kept: Bundle, gpus: Any, pace: float) -> Callable[[float], Values]:
    """The newest sample at a moment; before the first one, the cards by name and nothing of them."""
    moments = [float(frame["t"]) for frame in kept.frames]
    identity = ("index", "uuid", "name", "bus", "memory_total", "power_limit_w")
    why = dict.fromkeys(
        ("memory_used", "util", "power_w", "temperature_c", "processes", "xid", "ecc_uncorrected", "throttle"),
        UNSAMPLED,
    )
    blank = [{name: gpu[name] for name in identity if name in gpu} | {"why": why} for gpu in gpus]

    boot, every_s = _boot(kept), max(pace / FRAMES, 1.0)

    @lru_cache(1)
    def before(step: int) -> Values:
        at = step * every_s
        return {"v": 1, "t": at, "mono": at - boot, "source": "nvml", "why": UNSAMPLED, "gpus": blank}

    def frame(at: float) -> Values:
        place = bisect_right(moments, at) - 1
        return kept.frames[place] if place >= 0 else before(int(at / every_s))

    return frame


def _story(kept: Bundle, known: Mapping[str, tuple[Start, ...]]) -> Story:
    def story(machine: Machine) -> None:
        for key, begun in known.items():
            name = _name(key)
            for start in begun:
                machine.at(start.began, partial(machine.start, name))
            for record in kept.records[key][-MOST:]:
                machine.at(float(record["at"]), partial(_say, machine, name, record))
        machine.advance()

    return story


def _say(machine: Machine, unit: str, record: Values, at: float) -> None:
    for fields in entries(unit, record):
        machine.journal.add(at, fields)
