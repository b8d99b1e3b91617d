"""The replay itself: one pass over a transcript, every policy beside the others, turn by turn."""

from collections import Counter
from collections.abc import Callable, Sequence
from types import ModuleType

import attrs

from agentic.cli.replay._changes import describe_change
from agentic.cli.replay._cost import PromptCache
from agentic.cli.replay._judge import POINTS, Point, points_of
from agentic.cli.replay._policies import Policy, Room
from agentic.cli.replay._reading import Transcript
from agentic.cli.replay._records import Cut, Replayed, Request
from agentic.cli.replay._text import text_of
from agentic.cli.replay._validity import Validity
from agentic.context.view import View
from agentic.messages import Message, split_rounds
from agentic.tokens import Tallies

__all__ = ["replay"]


async def replay(
    transcript: Transcript,
    policies: Sequence[Policy],
    room: Room,
    *,
    adapters: tuple[ModuleType, ...] = (),
    points: int = POINTS,
    progress: Callable[[int], None] | None = None,
) -> list[Replayed]:
    """Send a conversation anew, turn by turn, as each policy would have sent it.

    Before each of the transcript's replies stands one request. What the model would have answered
    to a shorter one is not known: the transcript's own words go on.

    Args:
        transcript: the conversation; `Transcript.mended` closes what is open in it.
        policies: each makes its own requests, and keeps its own history.
        room: what counts, and the window that requests are measured against.
        adapters: whose validators look at every request.
        points: at how many places what is kept is judged.
        progress: told how many messages were passed since it was last told.
    """
    size = _Sizes(Tallies(room.counter))
    runs = [_Run(policy, size, Validity(adapters)) for policy in policies]
    judged = {len(point.past): point for point in points_of(transcript.messages, points)}
    starts = {found.positions[0] for found in split_rounds(transcript.messages)}
    said = 0
    for position, message in enumerate(map(_without_usage, transcript.messages)):
        if message.role == "assistant" and position in starts and position:
            point = judged.pop(position, None)
            for run in runs:
                await run.turn(said, point)
        for run in runs:
            run.history.append(message)
        said += size.of(message)
        if progress:
            progress(1)
    return [run.replayed(room.limits.context_window) for run in runs]


def _without_usage(message: Message) -> Message:
    """Return a message without its usage, which is that of the request as it was really made."""
    return message if message.usage is None else attrs.evolve(message, usage=None)


@attrs.define(eq=False)
class _Sizes:
    """The sizes of messages, each counted once."""

    tallies: Tallies
    known: dict[int, tuple[Message, int]] = attrs.field(factory=dict)
    """By identity; the message is held, so that its identity stays its own."""

    def of(self, message: Message) -> int:
        if id(message) not in self.known:
            self.known[id(message)] = message, self.tallies.count_message(message)
        return self.known[id(message)][1]


@attrs.define(eq=False)
class _Run:
    """One session under one policy, as far as it has come."""

    policy: Policy
    size: _Sizes
    validity: Validity
    decides: View = attrs.field(
        default=attrs.Factory(lambda self: self.policy.make_view(), takes_self=True)
    )
    history: list[Message] = attrs.field(factory=list)
    """The transcript as far as it has come; only appended to."""
    view: list[Message] = attrs.field(factory=list)
    """The latest request."""
    seen: int = 0
    """How many messages of the history were there at the latest request."""
    cache: PromptCache = attrs.field(
        default=attrs.Factory(lambda self: PromptCache(self.size.of), takes_self=True)
    )
    requests: list[Request] = attrs.field(factory=list)
    cuts: list[Cut] = attrs.field(factory=list)
    evidences: list[float] = attrs.field(factory=list)
    terms: list[float] = attrs.field(factory=list)
    problems: Counter[str] = attrs.field(factory=Counter)

    async def turn(self, said: int, point: Point | None) -> None:
        """Make the next request."""
        fresh = self.history[self.seen :]
        prepared = await self.decides.prepare(self.history)
        made = prepared.compaction
        if made is not None and made.error is not None:
            self.problems[f"{type(made.error).__name__}: {made.error}"] += 1
        sent = self.cache.send(prepared.messages)
        self.requests.append(Request(said=said, tokens=int(sent.tokens), reused=int(sent.reused)))
        if sent.breaks:
            self.validity.conclude(self.view)
            summary = made.summary.content if made is not None and made.summary else ""
            self.cuts.append(self._cut([*self.view, *fresh], prepared.messages, summary))
        if point is not None:
            judgement = point.judge(text_of(prepared.messages))
            self.evidences.append(judgement.evidence)
            self.terms.append(judgement.known)
        self.validity.note(len(prepared.messages))
        self._remember(prepared.messages, breaks=sent.breaks)

    def replayed(self, window: int) -> Replayed:
        """Say what became of it."""
        self.validity.conclude(self.view)
        for number, problem in self.validity.refusals.items():
            self.requests[number] = attrs.evolve(self.requests[number], refused=problem)
        return Replayed(
            policy=self.policy.name,
            window=window,
            requests=tuple(self.requests),
            cuts=tuple(self.cuts),
            evidences=tuple(self.evidences),
            terms=tuple(self.terms),
            problems=tuple(
                f"{number} compaction{'s' * (number > 1)} failed: {problem}"
                for problem, number in self.problems.items()
            ),
        )

    def _cut(self, before: list[Message], view: list[Message], summary: str) -> Cut:
        change = describe_change(before, view)
        return Cut(
            turn=len(self.requests),
            before=sum(map(self.size.of, before)),
            after=self.requests[-1].tokens,
            dropped=change.dropped,
            cleared=change.cleared,
            what=change.what,
            summary=summary,
        )

    def _remember(self, view: list[Message], *, breaks: bool) -> None:
        """Hold what was sent; a view that only grew is extended."""
        if breaks:
            self.view = list(view)
        else:
            self.view += view[len(self.view) :]
        self.seen = len(self.history)
