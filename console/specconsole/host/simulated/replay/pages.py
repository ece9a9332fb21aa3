"""A server's metrics between the moments at which they were read: what counts grows evenly from one page to the next."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Sequence

from specconsole.host.simulated.page import Page

FRESH_S = 1.0
"""So long the last page is given: a server whose counters stand still with requests running would seem stalled."""


def pages(scraped: Sequence[tuple[float, str]]) -> Callable[[float], str | None]:
    """Give the page at a moment; None before the first and after the last one.

    A page that stood still between two readings would say that the server did nothing: rates over any span within two
    readings are their mean rate instead.
    """
    known = [(at, Page(text)) for at, text in scraped]
    moments = [at for at, _ in known]

    def page(at: float) -> str | None:
        place = bisect_right(moments, at) - 1
        if place < 0:
            return None
        (begin, before), after = known[place], known[place + 1 : place + 2]
        if not after:
            return before.text if at - begin < FRESH_S else None
        ((end, behind),) = after
        return _between(before, behind, (at - begin) / max(end - begin, 1e-9))

    return page


def _between(before: Page, after: Page, share: float) -> str:
    later = {(series.name, series.labels): value for series, value in zip(after.series, after.own, strict=True)}
    values = list(before.own)
    for place, series in enumerate(before.series):
        end, begin = later.get((series.name, series.labels)), values[place]
        if series.counts and begin is not None and end is not None and end > begin:
            values[place] = begin + (end - begin) * share
    return before.render(tuple(values), 0.0)
