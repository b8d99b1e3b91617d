"""FitContextWindow that says what it leaves out. A character is a token, a message four more."""

import contextlib
from typing import Any

import attrs
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from agentic.context.compactors import Digest
from agentic.context.strategies import Chain, ClearToolOutputs, FitContextWindow
from agentic.context.strategies._strategy import SyncSummarizer
from agentic.errors import ConfigError
from agentic.messages import Message, ToolCall, ToolResult, close_open_rounds, split_rounds
from agentic.testing import conversations
from agentic.tokens import CharCounter, Counter, count_tokens

pytestmark = pytest.mark.slow

LETTERS = CharCounter(1.0)
TASK = Message("user", "Count to a hundred.")
MANY = settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])


@attrs.frozen
class _Ledger:
    """Writes down how much it was given, and remembers what that was."""

    max_tokens: int = 30
    given: list[list[Message]] = attrs.field(factory=list)

    def write(self, messages: list[Message], /, *, counter: Counter | None = None) -> str:
        self.given.append(messages)
        return f"{len(messages)} given"

    @property
    def gone(self) -> list[Message]:
        """What left the view, in the order in which it did."""
        return [message for each in self.given for message in each if message.summary is None]


def fit_window(max_tokens: int, digest: SyncSummarizer, **options: Any) -> FitContextWindow:
    """Make one that counts characters."""
    return FitContextWindow(max_tokens, LETTERS, digest=digest, **options)


def say(number: int) -> list[Message]:
    """Make replies of a hundred tokens each, all different."""
    return [Message("assistant", f"{n:096}") for n in range(number)]


def test_the_note_stands_in_the_gap() -> None:
    """After what stays from before it: the prompt cache goes on to hold that."""
    messages = [Message("system", "Be brief."), TASK, *say(12)]

    fit = fit_window(1_000, _Ledger()).fit(messages)

    prompt, task, note, *newest = fit.messages
    assert (prompt, task, newest) == (messages[0], TASK, messages[-len(newest) :])
    assert note.role == "system"
    assert note.content.startswith(f"[Context Summary - {12 - len(newest)} previous messages]")
    assert note.content.endswith("given")
    assert fit.tokens == count_tokens(fit.messages, LETTERS) <= 1_000


def test_nothing_is_said_while_all_fits() -> None:
    """The same list object comes back, and nothing was written."""
    ledger, messages = _Ledger(), [TASK, *say(9)]

    assert fit_window(1_000, ledger).compact(messages) is messages
    assert not ledger.given


def test_each_round_is_written_down_once() -> None:
    """Turn by turn: a cut gives what it leaves out, the former note before it."""
    ledger = _Ledger()
    strategy, messages = fit_window(1_000, ledger, low_watermark=0.5), [TASK]
    for reply in say(60):
        messages.append(reply)
        view = strategy.compact(messages)

    hidden = [message for message in messages if message not in view]
    assert ledger.gone == hidden
    assert len(ledger.given) > 5
    for former, later in zip(ledger.given, ledger.given[1:], strict=False):
        assert later[0].summary is not None
        assert later[0].summary.content == f"{len(former)} given"
    [note] = [message for message in view if message.summary]
    assert note.summary is not None
    assert note.summary.messages_summarized == len(hidden)


def test_real_digest_names_what_was_dropped() -> None:
    """Long after a file left the view, the model sees that there is one, and what it was for."""
    messages = [TASK]
    for n in range(80):
        call = ToolCall(f"c{n}", "read", f'{{"path": "src/part_{n}.py"}}')
        messages.append(Message("assistant", f"Part {n} is sound.", tool_calls=[call]))
        result = ToolResult(call.id, "read", f"def part_{n}(): ...\n" * 20)
        messages.append(Message("tool", tool_results=[result]))

    digest = Digest(max_tokens=1_600, counter=LETTERS)
    fit = fit_window(8_000, digest, low_watermark=0.4).fit(messages)

    shown = "\n".join(message.content for message in fit.messages)
    assert "src/part_3.py" in shown
    assert not any(message is messages[7] for message in fit.messages)
    assert fit.fits


def test_note_yields_to_what_must_stay() -> None:
    """Where prompt, task and newest round leave no room for it, it waits until they do."""
    ledger = _Ledger()
    strategy = fit_window(600, ledger)
    messages = [TASK, *say(2), Message("assistant", "x" * 550)]

    tight = strategy.fit(messages)
    messages += say(1)
    roomy = strategy.fit(messages)

    assert tight.messages == [TASK, messages[3]]
    assert roomy.messages == [TASK, roomy.messages[1], messages[4]]
    assert roomy.messages[1].summary is not None
    assert roomy.messages[1].summary.messages_summarized == 3


def test_note_parts_no_call_from_result() -> None:
    """Also where a pinned round stands before the gap, and reaches beyond it."""
    messages = [
        TASK,
        Message("assistant", tool_calls=[ToolCall("c1", "read", "{}")], pinned=True),
        Message("system", "Go on. " * 30),
        Message("tool", tool_results=[ToolResult("c1", "read", "done")]),
        *say(12),
    ]

    view = fit_window(1_000, _Ledger()).compact(messages)

    assert view[:3] == [TASK, messages[1], messages[3]]
    assert view[3].summary is not None
    assert close_open_rounds(view) is view


@attrs.frozen
class _Full:
    """Fills the room that it has to the last token."""

    max_tokens: int = 300

    def write(self, messages: list[Message], /, *, counter: Counter | None = None) -> str:
        return "x" * self.max_tokens


def test_room_filling_note_is_shown() -> None:
    """Its heading grows with the number of messages that it stands for."""
    strategy, messages = fit_window(1_500, _Full(), low_watermark=1.0), [TASK]
    for n in range(1_100):
        messages.append(Message("assistant", "x" * (1 + n % 7)))
        view = strategy.compact(messages)
        assert view is messages or any(message.summary for message in view)


def test_an_empty_note_is_none() -> None:
    """A digest with no room for a single entry leaves no message of its own."""
    messages = [TASK, *say(12)]

    view = fit_window(1_000, Digest(max_tokens=1, counter=LETTERS)).compact(messages)

    assert view == [TASK, *messages[-len(view) + 1 :]]
    assert 1 < len(view) < len(messages)


def test_empty_note_leaves_the_former_one() -> None:
    """It stays in the view, and the next note is made of it."""

    class _BlankOnce(_Ledger):
        def write(self, messages: list[Message], /, *, counter: Counter | None = None) -> str:
            text = super().write(messages)
            return "" if len(self.given) == 2 else text

    ledger, messages, shown = _BlankOnce(), [TASK], []
    strategy = fit_window(1_000, ledger, low_watermark=0.5)
    while len(ledger.given) < 3:
        messages += say(1)
        view = strategy.compact(messages)
        shown += [message.summary.content for message in view if message.summary]

    first, _, last = ledger.given
    assert last[0].summary is not None
    assert last[0].summary.content == f"{len(first)} given"
    assert len(shown) == len(messages) - 10  # from the first cut on


class _Async:
    max_tokens = 30

    async def write(self, messages: list[Message], /, *, counter: Counter | None = None) -> str:
        return ""


@pytest.mark.parametrize("wrong", [Digest, "digest", 900, len, _Async()])
def test_what_cannot_write_is_refused(wrong: Any) -> None:
    """The error says what is asked of it, at the door and not at the first cut."""
    with pytest.raises(ConfigError, match="write"):
        fit_window(1_000, wrong)


def test_a_digest_over_half_is_refused() -> None:
    """Too little would be left for the conversation; the error says how small it must be."""
    with pytest.raises(ConfigError, match=r"digest\.max_tokens must be up to 375.*, got 376"):
        fit_window(1_000, _Ledger(376))


@pytest.mark.parametrize("size", [None, 0, -5, 3.5, True, "50"])
def test_invalid_size_is_refused(size: Any) -> None:
    """A whole number from 1, in tokens."""
    with pytest.raises(ConfigError, match=r"digest\.max_tokens must be a whole number.*, got .*"):
        fit_window(1_000, _Ledger(size))


@attrs.define
class _Failing:
    """Fails as long as it is told to, or gives what is no text."""

    max_tokens: int = 30
    answer: Any = None
    given: list[Message] = attrs.field(factory=list)

    def write(self, messages: list[Message], /, *, counter: Counter | None = None) -> str:
        if self.answer is OSError:
            raise OSError("disk is full")
        if isinstance(self.answer, str):
            self.given += [message for message in messages if message.summary is None]
        return self.answer  # type: ignore[no-any-return]


@pytest.mark.parametrize("answer", [OSError, None, 3])
def test_a_failing_digest_costs_its_note(answer: Any, caplog: pytest.LogCaptureFixture) -> None:
    """The view is right without it, a log entry says so, and the next cut gives it all again."""
    digest = _Failing(answer=answer)
    strategy, messages = fit_window(1_000, digest, low_watermark=0.5), [TASK]
    for reply in say(30):
        messages += [reply, attrs.evolve(reply, pinned=len(messages) == 11)]
        fit = strategy.fit(messages)
        assert fit.tokens == count_tokens(fit.messages, LETTERS) <= 1_000
        assert len(set(map(id, fit.messages))) == len(fit.messages)
    assert "they are passed to it again" in caplog.text

    digest.answer = "note"
    messages += say(8)
    view = strategy.compact(messages)

    hidden = [message for message in messages if all(message is not each for each in view)]
    assert list(map(id, digest.given)) == list(map(id, hidden))
    assert [message.summary is not None for message in view].count(True) == 1


def test_interruption_leaves_the_fold_alone() -> None:
    """What no strategy may catch goes through, and the next view is as if nothing had been."""

    class _Stopped(_Ledger):
        def write(self, messages: list[Message], /, *, counter: Counter | None = None) -> str:
            if len(self.given) == 1:
                self.given.append([])
                raise KeyboardInterrupt
            return super().write(messages, counter=counter)

    strategy, messages = fit_window(1_000, _Stopped(), low_watermark=0.5), [TASK]
    for reply in say(30):
        messages.append(reply)
        with contextlib.suppress(KeyboardInterrupt):
            fit = strategy.fit(messages)
            fresh = fit_window(1_000, _Ledger(), low_watermark=0.5).fit(messages)
            assert (len(fit.messages), fit.tokens) == (len(fresh.messages), fresh.tokens)
            assert fit.tokens == count_tokens(fit.messages, LETTERS)


def test_the_windows_counter_measures_the_digest() -> None:
    """What a digest would count by itself may be far less: here, a quarter."""
    digest = Digest(max_tokens=400)
    messages = [TASK, *[Message("assistant", f"src/part_{n}.py is done, {n}.") for n in range(99)]]

    fit = fit_window(2_000, digest).fit(messages)

    [note] = [message for message in fit.messages if message.summary]
    assert note.summary is not None
    assert 100 < len(note.summary.content) <= 400


def test_a_noted_summary_counts_its_messages() -> None:
    """Whoever goes on with the view as the history is told a true number."""
    strategy, history = fit_window(1_000, _Ledger(), low_watermark=0.5), [TASK]
    for reply in say(60):
        history = strategy.compact([*history, reply])

    numbers = [message.summary.messages_summarized for message in history if message.summary]
    assert sum(numbers) + len(history) - len(numbers) == 61


def test_written_parts_are_not_written_again() -> None:
    """Not though a strategy before changes old messages, nor though many conversations take turns.

    Each begins like itself: what left it then left in the same parts.
    """
    ledger = _Ledger()
    strategy = fit_window(1_000, ledger, low_watermark=0.5)
    talks = [[Message("user", f"Task {n}.")] for n in range(9)]
    for _ in range(40):
        for talk in talks:
            talk += [attrs.evolve(each) for each in say(1)]
            strategy.compact(talk)

    assert len(ledger.gone) < 9 * 40


def test_clearing_first_rewrites_no_note() -> None:
    """Twice the turns of the two tiers have about twice as much written, not four times."""
    ledger = _Ledger(100)
    window = fit_window(8_000, ledger, low_watermark=0.5)
    tiers = Chain([ClearToolOutputs(6_000, LETTERS, keep_rounds=2), window])
    messages, written = [TASK], []
    for n in range(400):
        call = ToolCall(f"c{n}", "run", f'{{"n": {n}}}')
        result = ToolResult(call.id, "run", "a line of output\n" * 30)
        messages.append(Message("assistant", f"Look {n}.", tool_calls=[call]))
        messages.append(Message("tool", tool_results=[result]))
        tiers.compact(messages)
        written.append(len(ledger.gone))

    assert 0 < written[-1] < 2.5 * written[199]


@given(
    messages=conversations(max_rounds=14).map(lambda each: [attrs.evolve(m) for m in each]),
    budget=st.integers(200, 2_500),
    low_watermark=st.sampled_from([1.0, 0.75, 0.5]),
)
@MANY
def test_a_noted_view_keeps_all_promises(
    messages: list[Message], budget: int, low_watermark: float
) -> None:
    """Whole rounds in their order, the size as it is, fitting twice, and nothing lost unsaid."""
    ledger = _Ledger()
    strategy = fit_window(budget, ledger, low_watermark=low_watermark)

    fit = strategy.fit(messages)

    own = [message for message in fit.messages if any(message is each for each in messages)]
    shown = set(map(id, own))
    assert len(own) >= len(fit.messages) - 1
    assert [id(m) for m in messages if id(m) in shown] == list(map(id, own))
    for found in split_rounds(messages):
        assert found.orphaned or len({id(m) in shown for m in found.messages}) == 1
    sound = {
        id(m) for found in split_rounds(messages) if not found.orphaned for m in found.messages
    }
    assert shown.isdisjoint(map(id, ledger.gone))
    assert shown.union(map(id, (m for m in ledger.gone))) >= sound - _summaries(messages)
    assert fit.tokens == count_tokens(fit.messages, LETTERS)
    assert fit.fits == (fit.tokens <= budget)
    assert strategy.compact(fit.messages) is fit.messages


@given(
    messages=conversations(max_rounds=14),
    budget=st.integers(200, 2_500),
    low_watermark=st.sampled_from([1.0, 0.75, 0.5]),
)
@MANY
def test_turn_by_turn_equals_at_once(
    messages: list[Message], budget: int, low_watermark: float
) -> None:
    """The same history gives an equal view, whoever saw its beginning before."""
    grown = fit_window(budget, Digest(max_tokens=40, counter=LETTERS), low_watermark=low_watermark)
    for length in range(len(messages)):
        grown.compact(messages[:length])

    fresh = fit_window(budget, Digest(max_tokens=40, counter=LETTERS), low_watermark=low_watermark)

    assert grown.compact(messages) == fresh.compact(messages)


def _summaries(messages: list[Message]) -> set[int]:
    return {id(message) for message in messages if message.summary}
