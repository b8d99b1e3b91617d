"""Keeping a conversation within a number of tokens by leaving out its oldest rounds.

The strategy is a deterministic fold over the rounds from the start of the history. When the budget
is full, it cuts the view down to a low watermark. Then it leaves the start of the view unchanged
until the budget is full again, so that the provider's prompt cache stays valid. The state of each
conversation is cached, so a turn costs only as much as its new messages.
"""

import inspect
import logging
import weakref
from bisect import bisect_left
from collections.abc import Callable, Iterable, Sequence
from datetime import UTC, datetime
from typing import ClassVar

import attrs

from agentic._base._validate import is_whole, must_have, share, whole
from agentic.context._for_conversation import for_conversation
from agentic.context.strategies._strategy import Fit, SyncSummarizer
from agentic.errors import ConfigError
from agentic.messages import ContextSummary, Message, Round, SummaryText, split_rounds
from agentic.messages._landmarks import Task
from agentic.messages._provider_compaction import holds_compaction
from agentic.messages._rounds import count_settled
from agentic.messages._timeline import RecentConversations
from agentic.tokens import Counter, approx_token_counter
from agentic.tokens._count import MessageSizes, TokenCache

_log = logging.getLogger(__name__)
_NO_TIME = datetime(1970, 1, 1, tzinfo=UTC)
"""A fixed time, so that views of the same history are equal no matter when they are made."""
# A note is small, and its messages are held weakly; a conversation has one for each of its cuts.
_MOST_KNOWN = 1_024


@attrs.frozen(eq=False)
class FitContextWindow:
    """Keep the conversation within `max_tokens - reserve_tokens`.

    Leading system messages, the latest user message, pinned messages and the newest round are
    always kept. The request that the current work began with is kept as well, unless all of these
    together exceed the budget. The rest of the budget goes to the newest rounds that fit. Orphaned
    results are left out. If a `digest` is given, a system message in place of the messages that
    were left out describes them.

    >>> strategy = FitContextWindow(30, low_watermark=1.0)
    >>> task = Message("user", "Count to three.")
    >>> said = [Message("assistant", word * 10) for word in ("one ", "two ", "three ")]
    >>> [message.content[:5] for message in strategy.compact([task, *said])]
    ['Count', 'three']
    """

    bounds_request: ClassVar[bool] = True
    """Every request is kept within the budget: a View begins an epoch when one would exceed it."""

    max_tokens: int = attrs.field(validator=whole(1, remedy="pass the model's window"))
    counter: Counter = approx_token_counter
    reserve_tokens: int = attrs.field(default=0, kw_only=True, validator=whole(0))
    """Tokens kept free for the reply, the system prompt and the tools' schemas."""
    per_message_overhead: int = attrs.field(default=4, kw_only=True, validator=whole(0))
    tokens_per_media: int | None = attrs.field(
        default=600, kw_only=True, validator=whole(0, optional=True)
    )
    """None for what each image costs with the counter's model."""
    low_watermark: float = attrs.field(default=0.75, kw_only=True, validator=share)
    """The share of the budget that remains after a cut. 1.0 keeps as much as fits, but cuts at
    every turn."""
    digest: SyncSummarizer | None = attrs.field(default=None, kw_only=True)
    """What writes a note about the messages that are left out, such as
    `compactors.Digest(max_tokens=900)`. With a digest, a low watermark loses less information. Its
    `max_tokens` count towards what remains after a cut, in the same measure as everything else. If
    it fails, the former note stays, a warning is logged, and the next cut tries again."""
    _token_cache: TokenCache = attrs.field(init=False, repr=False)
    _note_cache: "_NoteCache | None" = attrs.field(init=False, repr=False)
    _recent: "RecentConversations[_WindowFold]" = attrs.field(
        factory=RecentConversations, init=False, repr=False
    )

    @_token_cache.default
    def _make_token_cache(self) -> TokenCache:
        return TokenCache(self.counter, self.per_message_overhead, self.tokens_per_media)

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
    def _make_note_cache(self) -> "_NoteCache | None":
        if self.digest is None:
            return None
        return _NoteCache(self.digest, self.counter, self._token_cache.count_message)

    @digest.validator
    def _check_digest(self, _: object, value: SyncSummarizer | None) -> None:
        if value is not None:
            _check_writer(value, int(self.budget * self.low_watermark))

    @property
    def budget(self) -> int:
        """The largest size of the messages, in tokens."""
        return self.max_tokens - self.reserve_tokens

    def for_conversation(self, *, recall: str | None = None) -> "FitContextWindow":
        """Return a copy for one conversation, with its own cache, that names the recall tool."""
        return attrs.evolve(self, digest=for_conversation(self.digest, recall))

    def compact(self, messages: list[Message], /) -> list[Message]:
        """Return the view: the same list if everything fits."""
        return self.fit(messages).messages

    def exceeds(self, messages: list[Message], /) -> bool:
        """Return whether messages are over the budget."""
        return self._token_cache.sizes(messages).total > self.budget

    def fit(self, messages: list[Message], /) -> Fit:
        """Return the view, its size, and whether it is within the budget."""
        sizes = self._token_cache.sizes(messages)
        former = self._recent.find(messages)
        target = int(self.budget * self.low_watermark)
        fold = former or _WindowFold(self.budget, target, self._note_cache)
        fit = fold.fit(messages, sizes, self._token_cache)
        # Only a conversation with a settled part is worth keeping: the rest is folded anew anyway.
        if former is None and fold.messages:
            self._recent.add(fold)
        return fit


@attrs.frozen
class _Sized:
    """A round with its size."""

    found: Round
    tokens: int
    always: bool
    """Whether it is kept regardless of the budget."""


@attrs.frozen
class _Cut:
    """The state of the view after the rounds so far. Rounds are referred to by their index."""

    start: int = 0
    """Every round from this one on is kept."""
    retained: tuple[int, ...] = ()
    """The rounds before `start` that are kept, ascending."""
    task_kept: tuple[int, ...] = ()
    """The requests that were kept as the task at the last cut."""
    tokens: int = 0
    """The size of what is kept, without the note."""
    note: "_Note | None" = None
    unwritten: tuple[Message, ...] = ()
    """The messages that were left out but are not in the note yet, because its writer failed."""
    shows_note: bool = False
    """Whether there was room for the note at the cut: what must be kept may leave none."""
    task: Task = attrs.field(factory=Task)
    leading: bool = True
    """Whether there were only system messages so far."""
    ragged: bool = False
    """Whether some round has an orphan, or other rounds lie between its messages."""


def _holds(ascending: Sequence[int], number: int) -> bool:
    at = bisect_left(ascending, number)
    return at < len(ascending) and ascending[at] == number


@attrs.define(eq=False)
class _WindowFold:
    """The fold over one conversation. A cut that needs only settled rounds is never undone."""

    budget: int
    target: int
    note_cache: "_NoteCache | None"
    room: int = attrs.field(init=False)
    """The size that a cut leaves for the rounds, in tokens."""
    messages: list[Message] = attrs.field(factory=list)
    """The settled part. While the last assistant message waits for results, that message and what
    follows it are folded again each time."""
    rounds: list[_Sized] = attrs.field(factory=list)
    cut: _Cut = attrs.field(factory=_Cut)

    @room.default
    def _room_beside_the_note(self) -> int:
        return self.target - (self.note_cache.room if self.note_cache else 0)

    def fit(self, messages: list[Message], sizes: MessageSizes, token_cache: TokenCache) -> Fit:
        """Fold the new messages of the conversation, and return the view."""
        fresh = split_rounds(messages, len(self.messages))
        settled_to = count_settled(messages, fresh)
        cut, length = self.cut, len(self.rounds)
        at_settled = None
        try:
            for group in fresh:
                if at_settled is None and group.positions[0] >= settled_to:
                    # What follows may still change, when results come in. The next call goes on
                    # from here.
                    at_settled = cut, len(self.rounds)
                cut = self._add(cut, group, token_cache.size_of(group, sizes))
            view = self._view(messages, cut)
            self.cut, length = at_settled or (cut, len(self.rounds))
        finally:
            # An error leaves the fold as it was.
            del self.rounds[length:]
        self.messages += messages[len(self.messages) : settled_to]
        size = cut.tokens + _note_size(cut)
        return Fit(view, size, fits=size <= self.budget)

    def _add(self, cut: _Cut, group: Round, tokens: int) -> _Cut:
        task = cut.task
        for message in group.messages:
            task = task.after(message, len(self.rounds))
        # A result that answers no call. A provider refuses it, so it has no place in the view.
        if not group.sound_messages:
            return attrs.evolve(cut, task=task, ragged=True)
        leading = cut.leading and group.messages[0].role == "system"
        first, last = group.positions[0], group.positions[-1]
        # Of a provider's compactions each is kept: what one stood for when a cut was made remains.
        stays = leading or group.pinned or holds_compaction(group.messages)
        self.rounds.append(_Sized(group, tokens, always=stays))
        longer = attrs.evolve(
            cut,
            tokens=cut.tokens + tokens,
            task=task,
            leading=leading,
            ragged=cut.ragged or group.orphaned or last - first >= len(group.positions),
        )
        # If the target is the whole budget, every new round after a cut requires another cut.
        full = longer.tokens + _note_size(longer) > self.budget
        due = full or (longer.start and self.target == self.budget)
        return self._cut_anew(longer) if due else longer

    def _cut_anew(self, cut: _Cut) -> _Cut:
        """Keep the newest rounds that fit the target; the newest one in any case."""
        task = cut.task.requests
        fresh = self._keep_newest(cut, task)
        if fresh.tokens > self.budget and len(task) > 1:
            # Keep at least the latest request, without the one that the work began with.
            fresh = self._keep_newest(cut, task[1:])
        if self.note_cache is None:
            return fresh
        visible = {*fresh.retained, *range(fresh.start, len(self.rounds))}
        before = (*cut.retained, *range(cut.start, len(self.rounds)))
        left_out = [self.rounds[index].found.messages for index in before if index not in visible]
        return self._write(fresh, [message for messages in left_out for message in messages])

    def _keep_newest(self, cut: _Cut, task: tuple[int, ...]) -> _Cut:
        """Move the cut; before it, keep only these requests and what is always kept."""
        # A request that was too large for an earlier cut may come back, unless a digest already
        # describes it.
        back = [at for at in task if at < cut.start and not _holds(cut.retained, at)]
        if self.note_cache:
            task, back = tuple(index for index in task if index not in back), []
        # What is always kept stays, so only the former task has to be looked at.
        leaving = [at for at in cut.task_kept if not self._stays(at, task)]
        leaving = [at for at in leaving if _holds(cut.retained, at)]
        indexes = list(cut.retained)
        if back or leaving:
            indexes = sorted({*indexes, *back}.difference(leaving))
        start, tokens = cut.start, cut.tokens + self._size(back) - self._size(leaving)
        # The newest round stays even if it is over the room: the model has not seen it yet.
        while start < len(self.rounds) - 1 and tokens > self.room:
            if self._stays(start, task):
                indexes.append(start)
            else:
                tokens -= self.rounds[start].tokens
            start += 1
        # When a large request is no longer the latest, there is room again for rounds before the
        # cut. Rounds that a digest already describes do not come back.
        while (
            self.note_cache is None and start and tokens + self._cost(start - 1, task) <= self.room
        ):
            start -= 1
            tokens += self._cost(start, task)
            if indexes and indexes[-1] == start:
                indexes.pop()
        return attrs.evolve(
            cut, start=start, retained=tuple(indexes), tokens=tokens, task_kept=task
        )

    def _write(self, cut: _Cut, left_out: list[Message]) -> _Cut:
        """Add the messages that are now left out to the note; on failure, keep them for later."""
        note, unwritten = cut.note, (*cut.unwritten, *left_out)
        if self.note_cache and unwritten and (newer := self.note_cache.write(note, unwritten)):
            note, unwritten = newer, ()
        # What must stay comes first: without room for the note, it waits for the next cut.
        shows = bool(note and note.tokens and cut.tokens + note.tokens <= self.budget)
        return attrs.evolve(cut, note=note, unwritten=unwritten, shows_note=shows)

    def _cost(self, index: int, task: tuple[int, ...]) -> int:
        """Return how many tokens it adds to begin the view at this round instead of the next."""
        return 0 if self._stays(index, task) else self.rounds[index].tokens

    def _stays(self, index: int, task: tuple[int, ...]) -> bool:
        return self.rounds[index].always or index in task

    def _size(self, indices: Iterable[int]) -> int:
        return sum(self.rounds[index].tokens for index in indices)

    def _view(self, messages: list[Message], cut: _Cut) -> list[Message]:
        view = self._rounds_in_view(messages, cut)
        if cut.note and cut.shows_note:
            # The view before the note is unchanged and stays in the provider's prompt cache.
            place = self._first_gap(cut)
            return [*view[:place], cut.note.message, *view[place:]]
        return view

    def _first_gap(self, cut: _Cut) -> int:
        """Count the messages in the view before the first gap, in whole rounds."""
        indexes = {*cut.retained}
        gap = next(index for index in range(cut.start) if index not in indexes)
        places = {index: self.rounds[index].found.positions for index in cut.retained}
        # A pinned round may reach beyond the gap, and no note may part a call from its result.
        last = max((each[-1] for index, each in places.items() if index < gap), default=-1)
        return sum(place <= last for each in places.values() for place in each)

    def _rounds_in_view(self, messages: list[Message], cut: _Cut) -> list[Message]:
        # Nothing is left out. The same list tells the next stage that there is nothing to do.
        if len(cut.retained) == cut.start and not cut.ragged:
            return messages
        places = [place for index in cut.retained for place in self.rounds[index].found.positions]
        tail = self.rounds[cut.start :]
        if cut.ragged:
            places = sorted([*places, *(place for each in tail for place in each.found.positions)])
            edits = {
                place: message
                for index in (*cut.retained, *range(cut.start, len(self.rounds)))
                if (group := self.rounds[index].found).orphaned
                for place, message in zip(group.positions, group.sound_messages, strict=True)
            }
            if len(places) == len(messages) and not edits:
                return messages
            return [edits.get(place) or messages[place] for place in places]
        return [*map(messages.__getitem__, places), *messages[tail[0].found.positions[0] :]]


def _note_size(cut: _Cut) -> int:
    """Return the size of the note in tokens; 0 if it is not shown."""
    return cut.note.tokens if cut.note and cut.shows_note else 0


def _check_writer(writer: SyncSummarizer, room: int) -> None:
    """Raise if a writer cannot write, or may take more than half of the room, in tokens.

    Raises:
        ConfigError: `write` is missing or async, or `max_tokens` is invalid or too large.
    """
    must_have("digest", writer, "write", "write(messages, counter=...)", "pass a Digest")
    # A strategy is sync, so it cannot await an answer.
    if inspect.iscoroutinefunction(writer.write):
        raise ConfigError("digest", writer, "a plain function write(messages)", "pass a Digest")
    most = getattr(writer, "max_tokens", None)
    is_whole(1, most, "digest.max_tokens", "say how long the text may be, in tokens")
    if writer.max_tokens > room // 2:
        raise ConfigError(
            "digest.max_tokens",
            most,
            f"up to {room // 2}, half of what a cut leaves",
            "pass a smaller digest, or raise low_watermark",
        )


@attrs.frozen(eq=False)
class _Note:
    """A message that replaces others."""

    message: Message
    tokens: int
    """The size of the message; 0 if there is nothing to show."""


@attrs.frozen(eq=False)
class _NoteCache:
    """Writes notes and caches them.

    A view may have to be rebuilt, because an earlier strategy changed old messages, or because the
    conversation was evicted from a cache. Then only notes that are not cached are written.
    """

    writer: SyncSummarizer
    counter: Counter
    count: Callable[[Message], int]
    _known: dict[tuple[int, ...], "_Written"] = attrs.field(factory=dict, init=False)

    @property
    def room(self) -> int:
        """The largest size of a note, including a heading with a six-digit number."""
        return self.writer.max_tokens + self.count(_message(SummaryText(""), 999_999))

    def write(self, former: _Note | None, leaving: Sequence[Message]) -> _Note | None:
        """Return a note about `leaving` that includes the former one; None if the writer failed."""
        before = [former.message] if former else []
        messages = [*before, *leaving]
        key = tuple(map(id, messages))
        # Popped and put back, so that the first entry is the one that was used least recently.
        entry = self._known.pop(key, None)
        if entry is None or not entry.is_of(messages):
            text = self._ask(messages if not former or former.tokens else messages[1:])
            if text is None:
                return None
            # Weak references: a cached note must keep no conversation alive.
            entry = _Written(self._note(text, former, messages), [*map(weakref.ref, messages)])
        self._known[key] = entry
        if len(self._known) > _MOST_KNOWN:
            del self._known[next(iter(self._known))]
        return entry.note

    def _ask(self, messages: list[Message]) -> str | None:
        try:
            text = self.writer.write(messages, counter=self.counter)
            if not isinstance(text, str):
                raise TypeError(f"it returned {text!r:.80}, which is not text")  # noqa: TRY301  logged below
        except Exception:  # noqa: BLE001  whatever it is, the view goes on without the note
            _log.warning(
                "%r wrote no note about %d messages that leave the view; they are passed to it "
                "again at the next cut",
                type(self.writer).__name__,
                len(messages),
                exc_info=True,
            )
            return None
        return text

    def _note(self, text: str, former: _Note | None, messages: Sequence[Message]) -> _Note:
        number = sum(each.summary.messages_summarized if each.summary else 1 for each in messages)
        summary = SummaryText(text)
        # A blank text would lose the former note, for this view and for all later notes.
        if not text.strip() and former and former.message.summary:
            summary = SummaryText(former.message.summary.content, former.message.summary.notes)
        message = _message(summary, number)
        return _Note(message, self.count(message) if summary.strip() else 0)


@attrs.frozen(eq=False)
class _Written:
    note: _Note
    messages: list["weakref.ref[Message]"]

    def is_of(self, messages: Sequence[Message]) -> bool:
        """Return whether the note is about these messages: an id may have been reused."""
        return all(ref() is message for ref, message in zip(self.messages, messages, strict=True))


def _message(text: SummaryText, number: int) -> Message:
    return ContextSummary(text, number, created_at=_NO_TIME, notes=text.notes).to_message()
