"""What is reported of a request that is sent: to the owner of the history, and in events."""

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import attrs

from agentic import events
from agentic._base._short_repr import short_repr
from agentic.context.budget import Compaction
from agentic.context.view._draft import Continuity, Draft
from agentic.context.view._explain import Stage
from agentic.context.view._window import Note
from agentic.errors import HistoryChanged
from agentic.limits import CacheTerms
from agentic.messages import Message
from agentic.protocols import RequestPrefix
from agentic.usage import Usage


@short_repr
@attrs.frozen(kw_only=True)
class Prepared:
    """What to send, and what happened to the history. Sizes are in tokens."""

    messages: list[Message]
    """What to send. It includes the system prompt only if the history begins with it."""
    history: list[Message]
    """The history from now on: the list that was passed, unless it was compacted. An owner who can
    rewrite the history stores it; an owner who only appends may ignore it."""
    compaction: Compaction | None = None
    """What a trigger did; None if no compaction was due."""
    tokens: int = 0
    """The size of the request, with system prompt and tools, if there is a counter."""
    fits: bool = True
    """Whether the size is within the window less the reserve."""
    notes: tuple[Note, ...] = ()
    extends: bool = True
    """Whether the request extends the last one as the provider reads it; true for the first one.
    If not, a new epoch has begun."""
    reused_tokens: int = 0
    """The size of the start that the request shares with the last one, by the counter."""
    changes: tuple[str, ...] = ()
    """Why the request does not extend the last one: `compaction`, `cut` to the window, `cleared` by
    a strategy, `tools_changed`, `system_changed`, `model_changed` (to or from one that can read a
    provider's own compaction), `owner_edited`."""
    prefix: RequestPrefix | None = None
    """The system prompt and the tools to send, if a `ChangeWriter` has said in `messages` what has
    changed since. None if they are those that were passed."""


@attrs.frozen(kw_only=True)
class EpochNote:
    """The epoch of a request: which one it is, why it began, and what that cost."""

    number: int = 1
    """Counted from 1 by the View that made it."""
    changes: tuple[str, ...] = ()
    """Why it began, as in `Prepared.changes`; empty for the first one."""
    tokens_rewritten: int = 0
    """What its first request did not share with the request before, in tokens by the counter."""
    price: float = 0.0
    """What it cost to write that to the prompt cache, in tokens at the full price of input."""
    summary: Usage = attrs.field(factory=Usage)
    """What the model used for its summary, as far as that was reported."""

    @property
    def sentence(self) -> str:
        """All of it as a sentence; empty for the first epoch.

        >>> EpochNote(number=3, changes=("cut",), tokens_rewritten=40_000, price=50_000).sentence
        'Epoch 3 began with cut: 40,000 tokens were written to the cache, for the price of 50,000.'
        """
        if not self.changes:
            return ""
        text = (
            f"Epoch {self.number} began with {', '.join(self.changes)}: "
            f"{self.tokens_rewritten:,} tokens were written to the cache, for the price of "
            f"{self.price:,.0f}."
        )
        if self.summary.total or self.summary.input:
            text += (
                f" Its summary used {self.summary.input:,} tokens of input "
                f"({self.summary.cache_read:,} from the cache) and {self.summary.output:,} of "
                "output."
            )
        return text

    def next(
        self,
        draft: Draft,
        continuity: Continuity,
        compaction: Compaction | None,
        terms: CacheTerms,
    ) -> "EpochNote":
        """Return the note of the epoch that a draft begins, on a model's terms."""
        tokens = max(0, draft.tokens - continuity.reused_tokens)
        return EpochNote(
            number=self.number + 1,
            changes=continuity.changes,
            tokens_rewritten=tokens,
            price=terms.write * tokens,
            summary=Usage() if compaction is None else compaction.usage,
        )


def describe_request(
    draft: Draft,
    messages: list[Message],
    continuity: Continuity,
    compaction: Compaction | None,
    notes: Sequence[Note] = (),
) -> Prepared:
    """Return what the owner of a history learns of a draft that is sent as these messages."""
    return Prepared(
        messages=messages,
        history=draft.branch.history,
        # Without a reason, nothing was tried: the hook of a ContextConfig said no, for example.
        compaction=compaction if compaction is not None and compaction.reason else None,
        tokens=draft.tokens,
        fits=draft.fits,
        notes=(*_failures(compaction), *notes, *draft.notes, *continuity.notes),
        extends=continuity.extends,
        reused_tokens=continuity.reused_tokens,
        changes=continuity.changes,
        prefix=None if draft.epoch.prefix == draft.beside else draft.epoch.prefix,
    )


def change_events(stages: Iterable[Stage]) -> Iterator[dict[str, Any]]:
    """Yield the record and the fields of an event for each step that changed the request."""
    for stage in stages:
        if stage.after is not stage.before:
            yield {
                "record": events.ContextChanged,
                "messages_before": len(stage.before),
                "messages_after": len(stage.after),
            }


def epoch_event(request: Prepared, stale_replies: int) -> dict[str, Any]:
    """Return the record and the fields of the event of a request that begins an epoch."""
    return {
        "record": events.EpochStart,
        "changes": request.changes,
        "reused_tokens": request.reused_tokens,
        "tokens": request.tokens,
        "stale_replies": stale_replies,
    }


def _failures(compaction: Compaction | None) -> list[Note]:
    error = None if compaction is None else compaction.error
    if error is None or isinstance(error, HistoryChanged):  # another summary was stored first
        return []
    text = f"nothing was summarized ({type(error).__name__}: {error})"
    return [Note("summary_failed", text)]
