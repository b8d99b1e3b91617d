"""The replay: one pass over a transcript, request by request, all policies side by side."""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence

import attrs

from agentic.context.view import View
from agentic.messages import Message, split_rounds
from agentic.replay._judge import POINTS, MessageTexts, Point, points_of
from agentic.replay._policies import ContextLimits, ReplayPolicy
from agentic.replay._records import Cut, MessageMemo, PromptCache, Replayed, SentRequest, Series
from agentic.replay._transcripts import Transcript
from agentic.replay._validity import SoundNeighbours, Validity, adapters_of
from agentic.tokens import TokenCache

_KINDS = 8
"""The most lines of a list; the last one then says how many more there are."""


async def replay(
    transcript: Transcript,
    policies: Sequence[ReplayPolicy],
    context_limits: ContextLimits,
    *,
    providers: Sequence[str] = (),
    points: int = POINTS,
    keep_views: bool = False,
    progress: Callable[[int], None] | None = None,
) -> list[Replayed]:
    """Replay a conversation with the requests that each policy would have sent.

    There is one request before each of the transcript's replies. What the model would have answered
    to a shorter request is unknown, so the conversation continues with the transcript's own reply.

    Args:
        transcript: the conversation; `Transcript.mended` repairs what is incomplete in it.
        policies: each makes its own requests, and keeps its own history.
        context_limits: the counter, and the window that requests are compared with.
        providers: the names, from `ADAPTERS`, whose rules every request is checked by.
        points: the number of places at which what is kept is judged.
        keep_views: whether `Replayed.series` tells what each request sent.
        progress: called with the number of messages processed since the last call.

    Raises:
        ConfigError: a provider is unknown.
    """
    messages = list(map(_without_usage, transcript.messages))
    texts = MessageTexts()
    size = MessageMemo(TokenCache(context_limits.counter).count_message)
    # Shared, since policies side by side send mostly the same messages.
    adapters, sound = adapters_of(providers), SoundNeighbours()
    runs = [_Run(policy, size, Validity(adapters, sound), texts, keep_views) for policy in policies]
    # By the length of what came before: a point is judged at the request of that moment.
    judged = {len(point.past): point for point in points_of(messages, points, texts)}
    starts = {found.positions[0] for found in split_rounds(messages)}
    said = 0
    for position, message in enumerate(messages):
        # The model was asked once for a run of replies: before the first of them.
        if message.role == "assistant" and position in starts and position:
            point = judged.pop(position, None)
            for run in runs:
                await run.send(said, point)
        for run in runs:
            run.history.append(message)
        said += size(message)
        if progress:
            progress(1)
    return [run.replayed(context_limits.limits.context_window) for run in runs]


def _without_usage(message: Message) -> Message:
    """Return a message without its usage, which belongs to the request that was really made."""
    return (
        message if message.usage is None else attrs.evolve(message, usage=None, last_request=None)
    )


@attrs.define(eq=False)
class _Run:
    """One session under one policy, up to the current request."""

    policy: ReplayPolicy
    size: MessageMemo[int]
    validity: Validity
    texts: MessageTexts
    keep_views: bool = False
    decides: View = attrs.field(init=False)
    history: list[Message] = attrs.field(factory=list)
    """The transcript up to the current request; only appended to."""
    view: list[Message] = attrs.field(factory=list)
    """The latest request."""
    seen: int = 0
    """The length of the history at the latest request."""
    cache: PromptCache = attrs.field(init=False)
    requests: list[SentRequest] = attrs.field(factory=list)
    cuts: list[Cut] = attrs.field(factory=list)
    recalls: list[float] = attrs.field(factory=list)
    series: list[tuple[list[Message], list[int]]] = attrs.field(factory=list)
    """The last request of each series, and how many of its messages each request had."""
    problems: Counter[str] = attrs.field(factory=Counter)

    def __attrs_post_init__(self) -> None:
        self.decides, self.cache = self.policy.make_view(), PromptCache(self.size)

    async def send(self, said: int, point: Point | None) -> None:
        """Make the next request."""
        fresh = self.history[self.seen :]
        prepared = await self.decides.prepare(self.history)
        made = prepared.compaction
        if made is not None and made.error is not None:
            self.problems[f"{type(made.error).__name__}: {made.error}"] += 1
        sent = self.cache.send(prepared.messages)
        self.requests.append(
            SentRequest(said=said, tokens=int(sent.tokens), reused=int(sent.reused))
        )
        # The requests until here only grew, so the last of them holds all others.
        if sent.breaks:
            self.validity.conclude(self.view)
            summary = made.summary.content if made is not None and made.summary else ""
            self.cuts.append(self._cut(fresh, prepared.messages, summary))
        if point is not None:
            self.recalls.append(point.judge(self.texts.of(prepared.messages)))
        self.validity.note(len(prepared.messages))
        self._remember(prepared.messages, breaks=sent.breaks)

    def replayed(self, window: int) -> Replayed:
        """Return the result."""
        self.validity.conclude(self.view)
        for number, problem in self.validity.refusals.items():
            self.requests[number] = attrs.evolve(self.requests[number], refused=problem)
        return Replayed(
            policy=self.policy.name,
            window=window,
            requests=tuple(self.requests),
            cuts=tuple(self.cuts),
            recalls=tuple(self.recalls),
            series=tuple(self._told_series()),
            problems=tuple(
                f"{number} compaction{'s' * (number > 1)} failed: {problem}"
                for problem, number in self.problems.items()
            ),
        )

    def _cut(self, fresh: list[Message], view: list[Message], summary: str) -> Cut:
        dropped, cleared, what = describe_change([*self.view, *fresh], view)
        return Cut(
            request=len(self.requests),
            # The request before, which this one breaks with, and what came since.
            before=self.requests[-2].tokens + sum(map(self.size, fresh)),
            after=self.requests[-1].tokens,
            dropped=dropped,
            cleared=cleared,
            what=what,
            summary=summary,
        )

    def _told_series(self) -> Iterator[Series]:
        # By identity: what a policy did not make is the transcript's own object.
        positions = {id(message): at for at, message in enumerate(self.history)}
        first = 1
        for view, lengths in self.series:
            items = tuple(positions.get(id(message), message) for message in view)
            yield Series(first=first, items=items, lengths=tuple(lengths))
            first += len(lengths)

    def _remember(self, view: list[Message], *, breaks: bool) -> None:
        """Keep what was sent; a view that only grew is extended."""
        if breaks:
            self.view = list(view)
        else:
            self.view += view[len(self.view) :]
        if self.keep_views:
            # The series holds the list that the next requests extend, not a copy of it.
            if breaks or not self.series:
                self.series.append((self.view, []))
            self.series[-1][1].append(len(view))
        self.seen = len(self.history)


def describe_change(
    before: Sequence[Message], after: Sequence[Message]
) -> tuple[int, int, tuple[str, ...]]:
    """Return how many messages a cut dropped, how many it cleared, and which, a line per kind.

    A message that is missing was dropped. One whose calls or results are still there in another
    form was cleared. A summary is neither.

    >>> task, reply = Message("user", "Look."), Message("assistant", "Done.")
    >>> describe_change([task, reply], [task])
    (1, 0, ('1 reply',))
    """
    # Not by value: two equal outputs are two, and one of them may be gone.
    stays = {id(message) for message in after}
    answers = {key for message in after for key in _answers(message)}
    gone = [each for each in before if id(each) not in stays and each.summary is None]
    cleared = [message for message in gone if not answers.isdisjoint(_answers(message))]
    dropped = [message for message in gone if answers.isdisjoint(_answers(message))]
    what = (*_lines(dropped, ""), *_lines(cleared, " cleared"))
    return len(dropped), len(cleared), what


def _answers(message: Message) -> list[str]:
    return [result.call_id for result in message.tool_results]


def _lines(messages: Iterable[Message], ending: str) -> list[str]:
    kinds = Counter(kind for message in messages for kind in _kinds(message)).most_common()
    plural = {"reply": "replies"}
    lines = [
        f"{number} {kind if number == 1 else plural.get(kind, f'{kind}s')}{ending}"
        for kind, number in kinds[:_KINDS]
    ]
    rest = sum(number for _, number in kinds[_KINDS:])
    return [*lines, f"{rest} of other kinds{ending}"] if rest else lines


def _kinds(message: Message) -> list[str]:
    """Return what a message is; a tool message is one output for each result."""
    if message.role == "tool":
        return [f"{result.name or 'tool'} output" for result in message.tool_results]
    return [{"user": "user message", "assistant": "reply"}.get(message.role, "system message")]
