"""The replay: one pass over a transcript, request by request, all policies side by side."""

import collections
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cached_property

import attrs

from agentic._base._waiting import computing_here
from agentic.app.replay._judge import POINTS, MessageTexts, Point, points_of
from agentic.app.replay._policies import ContextLimits, ReplayPolicy, SummaryRule
from agentic.app.replay._programs import ProgramView
from agentic.app.replay._recorded import Calibration, RecordedView, calibrate
from agentic.app.replay._records import (
    Cut,
    MessageMemo,
    PromptCache,
    Replayed,
    SentRequest,
    Series,
    SummaryRequest,
)
from agentic.app.replay._transcripts import Transcript
from agentic.app.replay._validity import SoundNeighbours, Validity, adapters_of, is_paired
from agentic.context.budget._compaction import CompactionTarget
from agentic.context.view import View
from agentic.messages import Message, split_rounds
from agentic.providers.kit import Adapter
from agentic.tokens import Counter
from agentic.tokens._count import TokenCache
from agentic.usage import Usage

_KINDS = 8
"""The most lines of a list; the last one then says how many more there are."""


@attrs.frozen(eq=False)
class CountedTranscript:
    """A transcript whose messages are counted once, for its calibration and all policies."""

    transcript: Transcript
    messages: list[Message]
    """Without their usage, which belongs to the requests that were really made."""
    size: MessageMemo[int]
    calibration: Calibration = attrs.field(factory=Calibration)

    @classmethod
    def of(cls, transcript: Transcript, counter: Counter) -> "CountedTranscript":
        """Return a transcript with a counter of its messages."""
        messages = list(map(_without_usage, transcript.messages))
        return cls(transcript, messages, MessageMemo(TokenCache(counter).count_message))

    def calibrated(self, window: int) -> "CountedTranscript":
        """Return it fitted to the usage that it records, if there is enough of it."""
        # The messages with usage are copies: each is counted as the one that is sent.
        sizes = {
            id(one): other
            for one, other in zip(self.transcript.messages, self.messages, strict=True)
        }
        calibration = calibrate(
            self.transcript.messages,
            self.transcript.compactions,
            lambda message: self.size(sizes.get(id(message), message)),
        )
        # A window that the hidden part alone fills by half is not the one of the record.
        usable = calibration.hidden <= window // 2
        return attrs.evolve(self, calibration=calibration) if usable else self

    @cached_property
    def is_plain(self) -> bool:
        """Whether there is nothing to repair, nor a summary: everything can be sent as it is."""
        return is_paired(self.messages) and all(each.summary is None for each in self.messages)

    @property
    def recorded(self) -> tuple[Usage, ...]:
        """The usage of each recorded request."""
        usages = (message.request_usage for message in self.transcript.messages)
        return tuple(usage for usage in usages if usage is not None and usage.input)


async def replay(
    transcript: Transcript,
    policies: Sequence[ReplayPolicy],
    context_limits: ContextLimits,
    *,
    measured: CountedTranscript | None = None,
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
        measured: the transcript with its calibration; the policies must have been made for
            `context_limits.before(measured.calibration)`. By default, sizes are as counted.
        providers: the names of the adapters whose rules every request is checked by.
        points: the number of places at which what is kept is judged.
        keep_views: whether `Replayed.series` tells what each request sent.
        progress: called with the number of messages processed since the last call.

    Raises:
        ConfigError: a provider is unknown.
    """
    measured = measured or CountedTranscript.of(transcript, context_limits.counter)
    messages, size = measured.messages, measured.size
    texts = MessageTexts()
    # Shared, since policies side by side send mostly the same messages.
    adapters, sound = adapters_of(providers), SoundNeighbours()
    window = context_limits.before(measured.calibration).limits.context_window
    runs = [
        _Run(policy, measured, _validity(policy, adapters, sound), texts, window, keep_views)
        for policy in policies
    ]
    # By the length of what came before: a point is judged at the request of that moment.
    points_by_length = {len(point.past): point for point in points_of(messages, points, texts)}
    starts = {group.positions[0] for group in split_rounds(messages)}
    count = 0
    # Nobody else waits for this loop: to go to a thread for each request would take longer.
    with computing_here():
        for position, message in enumerate(messages):
            # The model was asked once for a run of replies: before the first of them.
            if message.role == "assistant" and position in starts and position:
                point = points_by_length.pop(position, None)
                for run in runs:
                    await run.send(count, point)
            for run in runs:
                run.history.append(message)
            count += size(message)
            if progress:
                progress(1)
    return [run.replayed(context_limits.limits.context_window) for run in runs]


def _validity(
    policy: ReplayPolicy, adapters: tuple[Adapter, ...], sound: SoundNeighbours
) -> Validity:
    # What the agent itself sent was accepted, or is not known to the byte.
    return Validity() if policy.is_recorded else Validity(adapters, sound)


def _without_usage(message: Message) -> Message:
    """Return a message without its usage, which belongs to the request that was really made."""
    return (
        message if message.usage is None else attrs.evolve(message, usage=None, last_request=None)
    )


@attrs.define(eq=False)
class _Run:
    """One session under one policy, up to the current request."""

    policy: ReplayPolicy
    measured: CountedTranscript
    validity: Validity
    texts: MessageTexts
    window: int = 0
    """The window that requests are compared with, in counted tokens."""
    keep_views: bool = False
    decides: View | RecordedView | ProgramView = attrs.field(init=False)
    target: CompactionTarget = attrs.field(init=False)
    """Makes the run the owner of a history that a compaction rewrites, as a Session is. What was
    compacted is not looked at again, so that a request costs no more in a long session."""
    history: list[Message] = attrs.field(factory=list)
    """The transcript up to the current request, compacted as the policy did."""
    view: list[Message] = attrs.field(factory=list)
    """The latest request."""
    seen: int = 0
    """The length of the history at the latest request."""
    cache: PromptCache = attrs.field(init=False)
    requests: list[SentRequest] = attrs.field(factory=list)
    cuts: list[Cut] = attrs.field(factory=list)
    summaries: list[SummaryRequest] = attrs.field(factory=list)
    recalls: list[float] = attrs.field(factory=list)
    series: list[tuple[list[Message], list[int]]] = attrs.field(factory=list)
    """The last request of each series, and how many of its messages each request had."""
    problems: collections.Counter[str] = attrs.field(factory=collections.Counter)

    def __attrs_post_init__(self) -> None:
        compactions = self.measured.transcript.compactions
        self.decides = self.policy.make_view(compactions, plain=self.measured.is_plain)
        self.target = CompactionTarget(self)
        self.cache = PromptCache(self.measured.size)

    @property
    def follows_record(self) -> bool:
        """Whether the requests of this run are those that were recorded."""
        if self.measured.transcript.compactions:
            return self.policy.is_recorded
        return self.policy.is_recorded or self.policy.sends_all

    async def send(self, position: int, point: Point | None) -> None:
        """Make the next request."""
        fresh = self.history[self.seen :]
        before = round(self.cache.tokens)
        request = await self.decides.prepare(self.history, target=self.target)
        compaction = request.compaction
        if compaction is not None and compaction.error is not None:
            self.problems[f"{type(compaction.error).__name__}: {compaction.error}"] += 1
        result = self.cache.send(request.messages)
        tokens = self.measured.calibration.tokens
        self.requests.append(
            SentRequest(
                said=tokens(position),
                tokens=tokens(result.tokens),
                # What is hidden begins every request, and stands in the cache from the second on.
                reused=tokens(result.reused) if self.requests else 0,
            )
        )
        # The requests until here only grew, so the last of them holds all others.
        if result.breaks:
            self.validity.conclude(self.view)
            summary = (
                compaction.summary.content if compaction is not None and compaction.summary else ""
            )
            self.cuts.append(self._cut(fresh, request.messages, summary))
            if summary and self.policy.summary is not None:
                self._note_summary(self.policy.summary, before, fresh, request.messages, summary)
        if point is not None:
            self.recalls.append(point.judge_request(request.messages))
        self.validity.note(len(request.messages))
        if request.history is not self.history:
            self.history = list(request.history)
        self._remember(request.messages, breaks=result.breaks)

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
            summaries=tuple(self.summaries),
            recalls=tuple(self.recalls),
            series=tuple(self._told_series()),
            recorded=self.measured.recorded if self.follows_record else (),
            problems=tuple(
                f"{number} compaction{'s' * (number > 1)} failed: {problem}"
                for problem, number in self.problems.items()
            ),
        )

    def _cut(self, fresh: list[Message], view: list[Message], summary: str) -> Cut:
        missing, clearings, what = describe_change([*self.view, *fresh], view)
        return Cut(
            request=len(self.requests),
            # The request before, which this one breaks with, and what came since.
            before=self.requests[-2].tokens
            + round(self.measured.calibration.factor * sum(map(self.measured.size, fresh))),
            after=self.requests[-1].tokens,
            dropped=missing,
            cleared=clearings,
            what=what,
            summary=summary,
        )

    def _note_summary(
        self,
        rule: SummaryRule,
        before: int,
        fresh: list[Message],
        view: list[Message],
        summary: str,
    ) -> None:
        """Add what the summary cost that a request begins with; `before` is as counted."""
        size, calibration = self.measured.size, self.measured.calibration
        stays = {id(message) for message in view}
        replaced = [each for each in (*self.view, *fresh) if id(each) not in stays]
        for asked in rule.requests(
            before=before,
            fresh=sum(map(size, fresh)),
            replaced=sum(map(size, replaced)),
            summary=size(Message("assistant", summary)),
            window=self.window,
        ):
            # What is hidden stands before the messages of the last request, and of no other.
            hidden = calibration.hidden if asked.reused == before else 0
            scaled = SummaryRequest(
                tokens=round(calibration.factor * asked.tokens) + hidden,
                reused=round(calibration.factor * asked.reused) + hidden * bool(asked.reused),
                output=round(calibration.factor * asked.output),
            )
            self.summaries.append(scaled)

    def _told_series(self) -> Iterator[Series]:
        # By identity: what a policy did not make is the transcript's own object.
        positions = {id(message): at for at, message in enumerate(self.measured.messages)}
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
    former = {id(message) for message in before}
    new = (message for message in after if id(message) not in former)
    answers = {key for message in new for key in _answers(message)}
    missing = [each for each in before if id(each) not in stays and each.summary is None]
    clearings = [message for message in missing if not answers.isdisjoint(_answers(message))]
    rest = [message for message in missing if answers.isdisjoint(_answers(message))]
    what = (*_lines(rest, ""), *_lines(clearings, " cleared"))
    return len(rest), len(clearings), what


def _answers(message: Message) -> list[str]:
    return [result.call_id for result in message.tool_results]


def _lines(messages: Iterable[Message], ending: str) -> list[str]:
    kinds = collections.Counter(
        kind for message in messages for kind in _kinds(message)
    ).most_common()
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
