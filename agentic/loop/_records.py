"""What a run takes and gives: the request, what it may use, and the result.

A limit ends a run in good order: the calls of the last reply are refused, with the reason as their
result, so that the history is valid and can be continued by `Runner.resume`.
"""

import json
from collections.abc import Callable, Iterable, Sequence
from enum import StrEnum
from typing import Any

import attrs

from agentic._base._clock import Stopwatch, stopwatch
from agentic._base._short_repr import short_repr
from agentic._base._validate import all_are, amount, is_number, must_be, seconds, whole
from agentic.errors import ConfigError
from agentic.messages import ContextSummary, Message, ToolCall, ToolResult
from agentic.protocols import Decider, Decision
from agentic.usage import StopReason, Usage, cost, normalize
from agentic.usage._usage import ReportedCall

_INCOMPLETE = {
    StopReason.MAX_TOKENS: "the reply was cut off at the limit of tokens",
    StopReason.CONTENT_FILTER: "the reply was withheld or refused",
    StopReason.ABORT: "the reply was broken off",
    StopReason.ERROR: "the provider failed in the middle of the reply",
}


class RunLimit(StrEnum):
    """The limit that ended a run."""

    TURNS = "turns"
    TOKENS = "tokens"
    DOLLARS = "dollars"
    CALLS = "calls"
    SECONDS = "seconds"
    REPEATED_TURNS = "repeated_turns"


def limit_text(limit: RunLimit | None) -> str:
    """Return the name of a limit as in a sentence.

    >>> limit_text(RunLimit.REPEATED_TURNS), limit_text(None)
    ('repeated turns', 'turns')
    """
    return "turns" if limit is None else limit.value.replace("_", " ")


Price = Callable[[Decision], float]


def _callable(_: object, attribute: "attrs.Attribute[Any]", value: object) -> None:
    if not (value is None or callable(value)):
        requirement = "a function from a Decision to US dollars, or None"
        raise ConfigError(attribute.name, value, requirement, "None takes usage.cost")


@attrs.frozen(kw_only=True)
class RunLimits:
    """The most that one run may use; None means that there is no limit.

    Limits are checked after each decision, so a run may exceed one by a single decision, except for
    `seconds`, which also ends a decision and tools that are under way.

    Raises:
        ConfigError: a limit is out of range.
    """

    tokens: int | None = attrs.field(default=None, validator=whole(1, optional=True))
    """Input and output of all decisions and summaries together."""
    dollars: float | None = attrs.field(
        default=None, validator=amount("dollars", "None means no limit")
    )
    """The cost of all decisions, and of summaries as far as they report usage, by `price`."""
    calls: int | None = attrs.field(default=None, validator=whole(0, optional=True))
    """Tool calls. A turn whose calls would exceed the limit runs none of them."""
    seconds: float | None = attrs.field(default=None, validator=seconds)
    """The time from the start of the run, by the wall clock, without the time in which all calls
    wait for a person. Of a durable run, only the time counts in which it was worked on."""
    repeated_turns: int | None = attrs.field(default=None, validator=whole(2, optional=True))
    """How many turns in a row may ask for the same calls: the last of them is not run."""
    price: Price | None = attrs.field(default=None, validator=_callable)
    """Returns the price of a decision in US dollars. A summary's call is passed as a Decision with
    nothing but its usage, provider and model. The default is `usage.cost`, which knows the models
    of `genai-prices`; a summary by a model that it does not know adds nothing."""

    def check_price(self, provider: str, model: str) -> None:
        """Raise unless the price of a model is known, if there is a limit for the cost.

        Raises:
            ConfigError: the model is unknown or has no price.
            ImportError: `genai-prices` is not installed.
        """
        if self.dollars is None or self.price is not None:
            return
        if not model or cost(Usage(input=1), model, provider=provider) is None:
            raise ConfigError(
                "limits.dollars",
                self.dollars,
                "left out where the price of the model is unknown",
                "pass limits.price, which returns the dollars of a Decision",
                message=f"limits.dollars cannot be enforced: no price is known for {model!r}; "
                "pass limits.price, which returns the dollars of a Decision",
            )


def _messages(messages: Iterable[Message]) -> tuple[Message, ...]:
    return all_are(Message, messages, "Request.history")


@attrs.frozen
class Request:
    """One user request.

    Raises:
        ConfigError: a text is empty or blank, or the history contains other objects than messages.
    """

    user_message: str = attrs.field(validator=must_be(str))
    """Must not be blank: providers refuse an empty message."""
    system_prompt: str = attrs.field(default="", validator=must_be(str))
    """Replaces the Runner's system prompt for this run."""
    history: tuple[Message, ...] = attrs.field(default=(), converter=_messages)
    """The earlier conversation, if the Runner has no store; otherwise the start of a new
    session."""

    @user_message.validator
    def _check_user_message(self, _: object, value: str) -> None:
        if not value.strip():
            raise ConfigError(
                "Request.user_message",
                value,
                "a text that is not blank",
                "pass the user's request; to continue a history, pass its last user message "
                "here and the messages before it as history",
            )


@short_repr
@attrs.frozen(kw_only=True)
class Result:
    """The outcome of a run."""

    reply: str
    """The last text from the model."""
    history: tuple[Message, ...] = attrs.field(repr=lambda history: f"<{len(history)} messages>")
    """The complete history after the run; it begins with a summary if it was compacted."""
    summary: ContextSummary | None
    """The latest summary, if this run compacted."""
    tool_calls: tuple[ToolCall, ...]
    """Every call of the run, in order."""
    tool_results: tuple[ToolResult, ...] = attrs.field(
        repr=lambda results: f"<{len(results)} results>"
    )
    """The results of `tool_calls`, as stored in the history."""
    usage: Usage
    """The total of the run: its decisions, and its summaries as far as they report usage."""
    stop_reason: StopReason
    """Why the last reply ended; MAX_TOKENS means that it was cut off."""
    exhausted: bool
    """Whether a limit ended the run: the turns, or one of `RunLimits`. `Runner.resume` goes on."""
    limit: RunLimit | None = None
    """The limit that ended the run."""

    @property
    def incomplete(self) -> str:
        """Why the reply is not a complete answer, as a sentence; empty if it is complete.

        >>> Result(reply="", history=(), summary=None, tool_calls=(), tool_results=(),
        ...        usage=Usage(), stop_reason=StopReason.STOP, exhausted=False).incomplete
        'the model said nothing'
        """
        if self.exhausted:
            return f"the limit of {limit_text(self.limit)} was reached before the model was done"
        if self.reply.strip():
            return _INCOMPLETE.get(self.stop_reason, "")
        # A run asks once more after a reply of reasoning alone.
        has_reasoning = (
            self.stop_reason is StopReason.OTHER and self.history and self.history[-1].reasoning
        )
        again = " but reasoned, also when it was asked again" if has_reasoning else ""
        return _INCOMPLETE.get(self.stop_reason, f"the model said nothing{again}")


def provider_and_model(decider: Decider) -> tuple[str, str]:
    """Return what a decider's optional `name` says, as in `anthropic:claude-opus-4-5`.

    Without a colon it is the model. What is unknown is empty.
    """
    name = getattr(decider, "name", "")
    provider, colon, model = name.partition(":") if isinstance(name, str) else ("", "", "")
    return (provider, model) if colon else ("", provider)


@attrs.define
class LimitWatch:
    """Compares what a run has used with its limits."""

    limits: RunLimits
    max_turns: int
    provider: str
    model: str
    stopwatch: Stopwatch = attrs.field(factory=stopwatch, init=False)
    """Measures the run."""
    _started: float = attrs.field(init=False)
    """What it showed when the run began."""
    _dollars: float = attrs.field(default=0.0, init=False)
    _priced: int = attrs.field(default=0, init=False)
    """How many calls of summaries are included."""
    _calls: int = attrs.field(default=0, init=False)
    _latest: list[tuple[str, str]] = attrs.field(factory=list, init=False)
    """The names and arguments of the latest turn's calls."""
    _repeated: int = attrs.field(default=0, init=False)
    """How many turns in a row have asked for them."""

    @_started.default
    def _start(self) -> float:
        start = self.stopwatch.settled
        if self.stopwatch.recorded is not None:
            limit = self.limits.seconds
            self.stopwatch.end = None if limit is None else start + limit
        return start

    @property
    def seconds_left(self) -> float | None:
        """Return when to interrupt what is under way; None if there is no need to.

        The steps of a run that an engine records end by themselves, and their records say so.
        """
        if self.limits.seconds is None or self.stopwatch.recorded is not None:
            return None
        return max(0.0, self._started + self.limits.seconds - self.stopwatch.seconds)

    @property
    def is_out_of_time(self) -> bool:
        """Whether the limit of seconds is reached: in every replay at the same moment."""
        limit = self.limits.seconds
        return limit is not None and self.stopwatch.settled >= self._started + limit

    def reached(
        self, decision: Decision, usage: Usage, turn: int, summaries: Sequence[ReportedCall]
    ) -> RunLimit | None:
        """Return the limit that a decision has reached, if any. Call this once per decision.

        `usage` is what the run has used so far, including this decision; `summaries` are the calls
        of its summaries.
        """
        limits = self.limits
        self._count(decision, summaries)
        over = {
            RunLimit.TOKENS: limits.tokens is not None and usage.total >= limits.tokens,
            RunLimit.DOLLARS: limits.dollars is not None and self._dollars >= limits.dollars,
            RunLimit.SECONDS: self.is_out_of_time,
            # Not `>=`: these calls have not run yet, and may use the limit up.
            RunLimit.CALLS: limits.calls is not None and self._calls > limits.calls,
            # Not `>=`: the limit may be None, and the run ends when the two are equal.
            RunLimit.REPEATED_TURNS: self._repeated == limits.repeated_turns,
            RunLimit.TURNS: turn >= self.max_turns,
        }
        return next((limit for limit, is_over in over.items() if is_over), None)

    def _count(self, decision: Decision, summaries: Sequence[ReportedCall]) -> None:
        calls = [(call.name, _spelled(call)) for call in decision.tool_calls]
        self._calls += len(calls)
        self._repeated = self._repeated + 1 if calls and calls == self._latest else 1
        self._latest = calls
        self.pay(decision)
        if self.limits.dollars is None:
            return
        # One by one: what a token costs may depend on the size of its call.
        for call in summaries[self._priced :]:
            decision_of_call = Decision(
                usage=call.usage, provider=call.provider, request_model=call.model
            )
            self._dollars += self._price(decision_of_call, call.model, call.provider)
        self._priced = len(summaries)

    def pay(self, decision: Decision) -> None:
        """Count what a decision cost, also that of one that is not followed."""
        if self.limits.dollars is not None:
            self._dollars += self._price(decision, self.model, self.provider)

    def _price(self, decision: Decision, model: str, provider: str) -> float:
        if self.limits.price is not None:
            price: object = self.limits.price(decision)
            if not (is_number(price) and price >= 0):
                remedy = "return US dollars, 0.0 if the reply is free"
                raise ConfigError("limits.price(decision)", price, "a number >= 0", remedy)
            return price
        amount = cost(normalize(decision.usage), model, provider=provider)
        return 0.0 if amount is None else float(amount.total)


def _spelled(call: ToolCall) -> str:
    """Return a call's arguments such that those of equal calls are equal texts."""
    try:
        return json.dumps(call.parse(), sort_keys=True)
    # What cannot be read is refused, and can be repeated all the same.
    except (ValueError, RecursionError):
        return call.arguments
