"""What a summary cost, through every composition, into the event and the Compaction."""

import asyncio
from typing import Any

import attrs
import pytest

from agentic.context.budget import Compaction, Compactor, Manager, Policy
from agentic.context.compactors import Digest, Model, first_of, with_digest
from agentic.errors import ContextOverflow
from agentic.events import ContextCompactionEnd, context_compaction_end
from agentic.messages import Message
from agentic.testing import EventRecorder
from agentic.tokens import approx_token_counter
from agentic.usage import Usage, report

ONE = Usage(input=100, output=20)
TALK = [Message("assistant", f"{number} " + "word " * 100) for number in range(12)]


@attrs.define
class Asked:
    """A model that reports what each answer used, and plays its answers, errors among them."""

    answers: list[Any]

    async def __call__(self, _: str) -> str:
        """Answer."""
        report(ONE)
        answer = self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]
        if isinstance(answer, BaseException):
            raise answer
        return str(answer)


def compact(compactor: Compactor, **policy: Any) -> tuple[Compaction, ContextCompactionEnd]:
    """Compact a conversation, and give what became of it and the event."""
    manager = Manager(approx_token_counter, compactor, Policy(0, max_messages=10, **policy))
    with EventRecorder(context_compaction_end, sender=manager) as recorder:
        done = asyncio.run(manager.compact_if_needed(TALK))
    (event,) = recorder.of(ContextCompactionEnd)
    return done, event


@pytest.mark.parametrize(
    "compose",
    [
        lambda model: model,
        with_digest,
        lambda model: first_of(with_digest(model), Digest()),
        lambda model: first_of(with_digest(model), Digest()).for_conversation(recall="recall"),
    ],
)
def test_every_composition_passes_usage_on(compose: Any) -> None:
    """The calls of every pass of a fold are summed."""
    done, event = compact(compose(Model(Asked(["## Done\nAll."]), chunk_messages=3)))

    assert done.changed
    assert done.usage == event.usage == ONE + ONE


def test_a_failed_summary_tells_its_usage() -> None:
    """It was paid for all the same: by the Manager's caller, or on the way to a fallback."""
    refused, event = compact(Model(Asked([""])))
    fallen_back, _ = compact(first_of(Model(Asked([OSError("away")])), Digest(max_tokens=200)))

    assert (refused.changed, refused.usage, event.usage) == (False, ONE + Usage(), ONE + Usage())
    assert (fallen_back.changed, fallen_back.usage) == (True, ONE + Usage())


def test_a_retry_after_overflow_is_counted() -> None:
    """Two halves after the whole."""
    done, _ = compact(Model(Asked([ContextOverflow("small"), "Half."])), min_recent_messages=2)

    assert done.usage.input > 2 * ONE.input


def test_summary_without_model_uses_nothing() -> None:
    """Zero, not unknown."""
    done, event = compact(Digest(max_tokens=200))

    assert (done.usage, event.usage) == (Usage(), Usage())


def test_a_cancelled_summary_tells_its_usage() -> None:
    """In the event, as there is no Compaction."""

    async def ask(_: str) -> str:
        report(ONE)
        await asyncio.Event().wait()
        raise NotImplementedError

    async def cancel() -> None:
        manager = Manager(approx_token_counter, Model(ask), Policy(0, max_messages=10))
        task = asyncio.create_task(manager.compact_if_needed(TALK))
        await asyncio.sleep(0.01)
        task.cancel()
        await asyncio.wait({task})

    with EventRecorder(context_compaction_end) as recorder:
        asyncio.run(cancel())

    (event,) = recorder.of(ContextCompactionEnd)
    assert isinstance(event.error, asyncio.CancelledError)
    assert event.usage == ONE + Usage()
