"""What the requests of a chat have cost, as far as their prices are known."""

from decimal import Decimal

import attrs

from agentic import usage
from agentic.loop import Decision

__all__ = ["Spending"]


@attrs.define(eq=False)
class Spending:
    """A sum in dollars, and the tokens that no price is known for."""

    dollars: Decimal = Decimal(0)
    used: usage.Usage = attrs.field(factory=usage.Usage)
    """Everything that was reported, priced or not."""
    is_complete: bool = True
    """Whether every request had a price."""

    def add(self, decision: Decision | None) -> None:
        """Add a request to a model; one that failed is not known to cost anything."""
        if decision is None or decision.usage is None:
            return
        model = decision.response_model or decision.request_model
        self.add_call(usage.ReportedCall(decision.usage, model, decision.provider))

    def add_call(self, call: usage.ReportedCall) -> None:
        """Add a call that reported its usage, such as one that wrote a summary."""
        self.used += call.usage
        cost = _price(call)
        if cost is None:
            self.is_complete = False
        else:
            self.dollars += cost

    def describe(self) -> str:
        """Return the sum; empty before anything was reported.

        >>> spending = Spending()
        >>> spending.add(Decision("Done.", usage=usage.Usage(input=1_200, output=80)))
        >>> spending.describe()
        '1,280 tokens used'
        >>> used = usage.Usage(input=1_200, output=80)
        >>> spending.add(Decision("Done.", usage=used, request_model="gpt-4o"))
        >>> spending.describe()
        'at least $0.0038'
        """
        if self.dollars:
            least = "" if self.is_complete else "at least "
            return f"{least}${self.dollars:.4f}"
        total = self.used.input + self.used.output
        return f"{total:,} tokens used" if total else ""


def _price(call: usage.ReportedCall) -> Decimal | None:
    if not call.model:
        return None
    try:
        cost = usage.cost(call.usage, call.model, provider=call.provider or None)
    except ImportError:  # the extra `prices` is not installed
        return None
    return None if cost is None else cost.total
