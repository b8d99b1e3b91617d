"""How large a session's next request is, as far as the usage of its replies tells."""

import attrs

from agentic.messages import Message, find_summary, prefix_length
from agentic.tokens import Counter, Gauge, Tallies
from agentic.usage import normalize

__all__ = ["Meter"]


@attrs.define(eq=False)
class Meter:
    """Measures views in tokens. Usage rides on the replies, so a resumed session knows its size."""

    counter: Counter
    tallies: Tallies = attrs.field(init=False)

    def __attrs_post_init__(self) -> None:
        self.tallies = Tallies(self.counter)

    def gauge(self, history: list[Message], view: list[Message]) -> Gauge:
        """Give a gauge that knows of the latest report about the start of this view.

        A reply that a compaction kept was about another view, and so is every reply once a
        strategy has changed the view: then the counter alone tells.
        """
        gauge = Gauge(self.counter)
        if view == history:
            at = _latest_report(history)
            if at is not None:
                gauge.report(history[:at], history[at], normalize(history[at].usage))
        return gauge


def _latest_report(history: list[Message]) -> int | None:
    summary = find_summary(history)
    start = prefix_length(history) + (summary.messages_kept if summary else 0)
    late = range(len(history) - 1, start - 1, -1)
    return next((i for i in late if history[i].role == "assistant" and history[i].usage), None)
