"""Keeping a conversation within a number of tokens by leaving out its oldest rounds.

It is a deterministic fold over the rounds from the start of the history. When the budget is full it
cuts down to a low-water mark, and then leaves the start of the view alone until the budget is full
again, so that the provider's prompt cache survives. What was worked out about a conversation is
kept: the next turn costs what its new messages cost.
"""

from collections.abc import Iterable

import attrs

from agentic._validate import share, whole
from agentic.context.strategies._note_cache import DigestNote, NoteCache, check_writer
from agentic.context.strategies._strategy import Fit, SyncSummarizer
from agentic.errors import ConfigError
from agentic.messages import Message, RecentConversations, Round, Task, count_settled, split_rounds
from agentic.tokens import Counter, MessageSizes, TokenCache, approx_token_counter

__all__ = ["FitContextWindow"]


@attrs.frozen(eq=False)
class FitContextWindow:
    """Keep the conversation within `max_tokens - reserve_tokens`.

    Always kept: leading system messages, the latest user message, pinned messages and the newest
    round; also the request that the present work began with, unless these alone are over the
    budget. Of the rest, the newest rounds that fit. Orphaned results are left out.
    With a `digest` it says what it leaves out, in a system message where that stood.

    >>> strategy = FitContextWindow(30, low_watermark=1.0)
    >>> task = Message("user", "Count to three.")
    >>> said = [Message("assistant", word * 10) for word in ("one ", "two ", "three ")]
    >>> [message.content[:5] for message in strategy.compact([task, *said])]
    ['Count', 'three']
    """

    max_tokens: int = attrs.field(validator=whole(1, remedy="pass the model's window"))
    counter: Counter = approx_token_counter
    reserve_tokens: int = attrs.field(default=0, kw_only=True, validator=whole(0))
    """Left free for the reply, the system prompt and the tools' schemas."""
    per_message_overhead: int = attrs.field(default=4, kw_only=True, validator=whole(0))
    tokens_per_media: int = attrs.field(default=600, kw_only=True, validator=whole(0))
    low_watermark: float = attrs.field(default=0.75, kw_only=True, validator=share)
    """The share of the budget that a cut leaves; 1.0 keeps as much as fits, and cuts every turn."""
    digest: SyncSummarizer | None = attrs.field(default=None, kw_only=True)
    """Such as `compactors.Digest(max_tokens=900)`: with one, a low mark costs less and forgets
    little. Its `max_tokens` are part of what a cut leaves, and counted as all else here. If it
    fails, the former note stays; a log entry says so, and the next cut asks again."""
    _token_cache: TokenCache = attrs.field(
        default=attrs.Factory(
            lambda self: TokenCache(self.counter, self.per_message_overhead, self.tokens_per_media),
            takes_self=True,
        ),
        init=False,
        repr=False,
    )
    _note_cache: NoteCache | None = attrs.field(init=False, repr=False)
    _recent: "RecentConversations[WindowFold]" = attrs.field(
        factory=RecentConversations, init=False, repr=False
    )

    @reserve_tokens.validator
    def _check_reserve(self, _: object, value: int) -> None:
        if value >= self.max_tokens:
            raise ConfigError(
                "reserve_tokens",
                value,
                f"0 to {self.max_tokens - 1}, below max_tokens",
                "leave some of the window to the conversation",
            )

    @_note_cache.default
    def _make_notebook(self) -> NoteCache | None:
        if self.digest is None:
            return None
        return NoteCache(self.digest, self.counter, self._token_cache.count_message)

    @digest.validator
    def _check_digest(self, _: object, value: SyncSummarizer | None) -> None:
        if value is not None:
            check_writer(value, int(self.budget * self.low_watermark))

    @property
    def budget(self) -> int:
        """What the messages may take, in tokens."""
        return self.max_tokens - self.reserve_tokens

    def for_conversation(self, *, recall: str | None = None) -> "FitContextWindow":
        """Return this for one conversation: with a memory of its own, naming the recall tool."""
        adapt = getattr(self.digest, "for_conversation", None)
        return attrs.evolve(self, digest=self.digest if adapt is None else adapt(recall=recall))

    def compact(self, messages: list[Message], /) -> list[Message]:
        """Return the view: the same list if everything fits."""
        return self.fit(messages).messages

    def fit(self, messages: list[Message], /) -> Fit:
        """Return the view with its size, and whether it is within the budget."""
        sizes = self._token_cache.sizes(messages)
        known = self._recent.find(messages)
        fold = known or self._fold()
        fit = fold.fit(messages, sizes, self._token_cache)
        if known is None and fold.messages:
            self._recent.add(fold)
        return fit

    def _fold(self) -> "WindowFold":
        target = int(self.budget * self.low_watermark)
        return WindowFold(self.budget, target, self._note_cache)


@attrs.frozen
class _Sized:
    """What the fold knows of a round."""

    found: Round
    tokens: int
    always: bool
    """Kept whatever the budget."""


@attrs.frozen
class _Cut:
    """Where the view begins, after some rounds. Rounds are named by their index."""

    start: int = 0
    """Everything from this round on is kept."""
    retained: tuple[int, ...] = ()
    """What is kept of the rounds before it."""
    tokens: int = 0
    """The size of what is kept, without the note."""
    note: DigestNote | None = None
    unwritten: tuple[Message, ...] = ()
    """What was left out, and is not in the note yet: its writer failed."""
    shows_note: bool = False
    """Whether there was room for it at the cut: what must stay may leave none."""
    task: Task = attrs.field(factory=Task)
    leading: bool = True
    """Only system messages so far."""
    ragged: bool = False
    """Some round holds an orphan, or others stand between its messages."""


@attrs.define(eq=False)
class WindowFold:
    """The fold over one conversation. A cut that needs only settled rounds is never undone."""

    budget: int
    target: int
    note_cache: NoteCache | None
    room: int = attrs.field(init=False)
    """What a cut leaves to the rounds."""
    messages: list[Message] = attrs.field(factory=list)
    """The settled part. While the last assistant message waits for results, it and what follows it
    are folded anew each time."""
    rounds: list[_Sized] = attrs.field(factory=list)
    cut: _Cut = attrs.field(factory=_Cut)

    @room.default
    def _room_beside_the_note(self) -> int:
        return self.target - (self.note_cache.room if self.note_cache else 0)

    def fit(self, messages: list[Message], sizes: MessageSizes, token_cache: TokenCache) -> Fit:
        """Fold what is new of the conversation, and give the view of it."""
        fresh = split_rounds(messages, len(self.messages))
        settled = count_settled(messages, fresh)
        cut, length = self.cut, len(self.rounds)
        at_settled = None
        try:
            for found in fresh:
                if found.positions[0] == settled:
                    at_settled = cut, len(self.rounds)
                cut = self._add(cut, found, token_cache.size_of(found, sizes))
            view = self._view(messages, cut)
            self.cut, length = at_settled or (cut, len(self.rounds))
        finally:
            # An error leaves the fold as it was.
            del self.rounds[length:]
        self.messages += messages[len(self.messages) : settled]
        size = cut.tokens + _note_size(cut)
        return Fit(view, size, fits=size <= self.budget)

    def _add(self, cut: _Cut, found: Round, tokens: int) -> _Cut:
        task = cut.task
        for message in found.messages:
            task = task.after(message, len(self.rounds))
        if not found.sound_messages:
            return attrs.evolve(cut, task=task, ragged=True)
        leading = cut.leading and found.messages[0].role == "system"
        first, last = found.positions[0], found.positions[-1]
        self.rounds.append(_Sized(found, tokens, always=leading or found.pinned))
        grown = attrs.evolve(
            cut,
            tokens=cut.tokens + tokens,
            task=task,
            leading=leading,
            ragged=cut.ragged or found.orphaned or last - first >= len(found.positions),
        )
        # With the target at the budget there is no waiting for it to be full again.
        full = grown.tokens + _note_size(grown) > self.budget
        due = full or (grown.start and self.target == self.budget)
        return self._cut_anew(grown) if due else grown

    def _cut_anew(self, cut: _Cut) -> _Cut:
        """Keep the newest rounds that the target has room for; the newest one in any case."""
        task = cut.task.requests
        fresh = self._keep_newest(cut, task)
        if fresh.tokens > self.budget and len(task) > 1:
            # Rather the latest request alone than no request at all.
            fresh = self._keep_newest(cut, task[1:])
        if self.note_cache is None:
            return fresh
        shown = {*fresh.retained, *range(fresh.start, len(self.rounds))}
        before = (*cut.retained, *range(cut.start, len(self.rounds)))
        left_out = [self.rounds[index].found.messages for index in before if index not in shown]
        return self._write(fresh, [message for messages in left_out for message in messages])

    def _keep_newest(self, cut: _Cut, task: tuple[int, ...]) -> _Cut:
        """Move the cut, and keep before it only what always stays and these requests."""
        # A request that was too large for an earlier cut may come back, but not from a digest.
        back = [index for index in task if index < cut.start and index not in cut.retained]
        if self.note_cache:
            task, back = tuple(index for index in task if index not in back), []
        retained = sorted([*back, *(at for at in cut.retained if self._stays(at, task))])
        start, tokens = cut.start, cut.tokens + self._size(retained) - self._size(cut.retained)
        while start < len(self.rounds) - 1 and tokens > self.room:
            if self._stays(start, task):
                retained.append(start)
            else:
                tokens -= self.rounds[start].tokens
            start += 1
        # A large request that is no longer the latest leaves room for rounds before the cut; what
        # a digest holds already does not come back.
        while (
            self.note_cache is None and start and tokens + self._cost(start - 1, task) <= self.room
        ):
            start -= 1
            tokens += self._cost(start, task)
            if retained and retained[-1] == start:
                retained.pop()
        return attrs.evolve(cut, start=start, retained=tuple(retained), tokens=tokens)

    def _write(self, cut: _Cut, left_out: list[Message]) -> _Cut:
        """Write down what is left out from now on; if that fails, at the next cut."""
        note, unwritten = cut.note, (*cut.unwritten, *left_out)
        if self.note_cache and unwritten and (written := self.note_cache.write(note, unwritten)):
            note, unwritten = written, ()
        shows = bool(note and note.tokens and cut.tokens + note.tokens <= self.budget)
        return attrs.evolve(cut, note=note, unwritten=unwritten, shows_note=shows)

    def _cost(self, index: int, task: tuple[int, ...]) -> int:
        """Return what it costs to begin the view at this round, and not at the next."""
        return 0 if self._stays(index, task) else self.rounds[index].tokens

    def _stays(self, index: int, task: tuple[int, ...]) -> bool:
        return self.rounds[index].always or index in task

    def _size(self, indices: Iterable[int]) -> int:
        return sum(self.rounds[index].tokens for index in indices)

    def _view(self, messages: list[Message], cut: _Cut) -> list[Message]:
        view = self._rounds_in_view(messages, cut)
        if cut.note and cut.shows_note:
            # What stands before it stays in the provider's prompt cache.
            place = self._first_gap(cut)
            return [*view[:place], cut.note.message, *view[place:]]
        return view

    def _first_gap(self, cut: _Cut) -> int:
        """Count the messages of the view before what was left out first, whole rounds only."""
        retained = {*cut.retained}
        gap = next(index for index in range(cut.start) if index not in retained)
        places = {index: self.rounds[index].found.positions for index in cut.retained}
        last = max((each[-1] for index, each in places.items() if index < gap), default=-1)
        return sum(place <= last for each in places.values() for place in each)

    def _rounds_in_view(self, messages: list[Message], cut: _Cut) -> list[Message]:
        if len(cut.retained) == cut.start and not cut.ragged:
            return messages
        kept = [place for index in cut.retained for place in self.rounds[index].found.positions]
        tail = self.rounds[cut.start :]
        if cut.ragged:
            kept = sorted([*kept, *(place for each in tail for place in each.found.positions)])
            edited = {
                place: message
                for index in (*cut.retained, *range(cut.start, len(self.rounds)))
                if (found := self.rounds[index].found).orphaned
                for place, message in zip(found.positions, found.sound_messages, strict=True)
            }
            if len(kept) == len(messages) and not edited:
                return messages
            return [edited.get(place) or messages[place] for place in kept]
        return [*map(messages.__getitem__, kept), *messages[tail[0].found.positions[0] :]]


def _note_size(cut: _Cut) -> int:
    """Return what the note takes, in tokens."""
    return cut.note.tokens if cut.note and cut.shows_note else 0
