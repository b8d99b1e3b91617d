"""How the requests of a conversation follow each other. Nothing is compacted here.

The history is repaired so that a provider accepts it. A request extends the last one until a new
epoch is due or pays. Each message is examined only once, whatever the number of turns.
"""

import json
import threading
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import attrs

from agentic.context.view._draft import TO_BE_SENT, Continuity, Draft, prefix_changed
from agentic.context.view._epoch import Epoch, StoredEpoch
from agentic.context.view._lineage import (
    Lineage,
    RollingDigest,
)
from agentic.context.view._maker import PREFIX, SHARE, STALE, WINDOW, RequestMaker
from agentic.context.view._meter import Overhead
from agentic.context.view._prefix import mark_changes, takes_change, tools_on_wire
from agentic.context.view._reasoning import ReasoningFilter
from agentic.context.view._repair import Repair, are_same
from agentic.limits import CacheTerms, cache_terms
from agentic.messages import Message, split_rounds
from agentic.messages._landmarks import find_summary
from agentic.messages._rounds import count_settled, reopen_rounds
from agentic.messages._timeline import common_length
from agentic.protocols import ChangeWriter, RequestPrefix, ToolDefinition

_LEAST_IDLE_GAIN = 0.1
"""After the prompt cache has expired, a new epoch costs nothing but the reasoning that becomes
stale. It must make the request shorter by this share to be worth that."""

_WORTHWHILE = 0.9
"""A new epoch takes the place of a summary if it makes the request at most this large, as a share.
Budgets call a compaction that frees less than a tenth a low gain."""
_AFTER_OVERFLOW = 0.75
"""The largest size of a second request, as a share of the refused one's. The provider counts
differently, so a request that is only just smaller may be refused again."""


@attrs.define(eq=False)
class RequestBuilder:
    """Drafts the requests of one conversation. The cost depends only on what is new."""

    maker: RequestMaker
    lock: Any = attrs.field(factory=threading.RLock, init=False, repr=False)
    """Is held by whoever uses a builder that may be at work in a thread."""
    lineage: Lineage = attrs.field(factory=Lineage, init=False)
    _last: Draft | None = attrs.field(default=None, init=False)
    """The last request, in lists that the owner does not change."""
    _number: int = attrs.field(default=0, init=False)
    """How many requests were sent."""
    _continuity: Continuity = attrs.field(factory=Continuity, init=False)
    """How the last request relates to the one before it."""
    _is_lost: bool = attrs.field(default=False, init=False)
    """Whether the last request was made by an earlier process, and cannot be made again."""
    _is_resumed: bool = attrs.field(default=False, init=False)
    """Whether the last request was made by an earlier process, and was made again."""
    _is_withdrawn: bool = attrs.field(default=False, init=False)
    """Whether the last request was not sent after all."""
    change_writer: ChangeWriter | None = attrs.field(default=None, init=False)
    """Writes a changed system prompt or changed tools as messages; None if they begin an epoch."""
    _overhead: Overhead | None = attrs.field(init=False)
    _sent_overhead: Overhead | None = attrs.field(init=False)
    """Counts what is sent in front of an epoch whose system prompt or tools have changed since."""
    _repair: Repair = attrs.field(factory=Repair, init=False)
    _left_out: tuple[tuple[int, ...], int | None] = attrs.field(default=((), None), init=False)
    """Where reasoning was left out of the epoch, and from where on a running loop is text."""
    _digest: RollingDigest | None = attrs.field(default=None, init=False)
    """The hash of the last request, as far as it was asked for."""
    _stored: StoredEpoch | None = attrs.field(default=None, init=False)
    """The epoch of an earlier process, until a history shows whether it still holds."""

    def __attrs_post_init__(self) -> None:
        token_cache = self.maker.token_cache
        self._overhead = None if token_cache is None else Overhead(token_cache)
        self._sent_overhead = None if token_cache is None else Overhead(token_cache)

    @property
    def reasoning(self) -> ReasoningFilter:
        """What knows which reasoning is still valid."""
        return self.maker.reasoning

    @property
    def prefix(self) -> RequestPrefix | None:
        """What precedes the messages of the last request."""
        return None if self._last is None else self._last.epoch.prefix

    def draft(
        self,
        history: Sequence[Message],
        system_prompt: str,
        tools: Sequence[ToolDefinition],
        *,
        idle_seconds: float = 0.0,
    ) -> Draft:
        """Return a draft of the next request, which may be larger than the window.

        It extends the last request, unless what was sent has changed, a strategy's bound is
        exceeded, or a new epoch has paid for itself.
        """
        # A list, because the messages seen before are one, and no slice of a tuple equals a list.
        branch = self.lineage.follow(history if isinstance(history, list) else list(history))
        self.maker.appends_changes = self.change_writer is not None
        overhead = 0
        if self._overhead is not None:
            overhead = self._overhead.count(system_prompt, tools, branch.history)
        closed_history = self._repair.close(branch.history)
        prefix = RequestPrefix(system_prompt, tuple(tools))
        begun = len(closed_history)
        epoch = Epoch(closed_history, closed_history, begun=begun, prefix=prefix)
        number = self._number
        draft = Draft(branch, system_prompt, prefix.tools, closed_history, epoch, overhead, number)
        # Who measures nothing has chosen no limit: that of a model is for Views with a counter.
        model = self.reasoning.model if self.maker.counter is not None else ""
        self.maker.limits.renew(self.maker.policy, model, system_prompt, draft.tools)
        if self._last is None:
            self._meet(draft)
        longer = self._carry(draft)
        if longer is None or self.maker.limits.exceeded(longer.view):
            return self.begin(draft if longer is None else longer)
        return self._weigh(longer, idle_seconds) if self.maker.reduces else longer

    def begin(self, draft: Draft) -> Draft:
        """Return the draft as the first request of a new epoch, or as it is if nothing changes.

        The strategies are applied, the summary is cut to its share, and stale reasoning is left
        out.
        """
        renewed = self._with_overhead(draft)
        history = self._repair.close_anew(draft.branch.history, draft.repaired)
        view, stages = self.maker.make_view(history, renewed.overhead_tokens)
        beginning = self.maker.with_view(attrs.evolve(renewed, repaired=history), view, stages)
        if not draft.continues or beginning.view != draft.view:
            return beginning
        # What is cut from it is explained by the steps that led to all of it.
        return attrs.evolve(draft, epoch=attrs.evolve(draft.epoch, stages=beginning.stages))

    def cut(self, draft: Draft) -> Draft:
        """Return the draft with a view cut to the window, as far as possible."""
        if draft.continues and not draft.fits:
            draft = self.begin(draft)
        return self.maker.cut(draft)

    def begin_if_shorter(self, draft: Draft) -> Draft:
        """Return the draft as the first request of a new epoch if that makes it much shorter.

        What can be left out without a summary goes first, unless that would hardly help: the next
        request would begin another epoch.
        """
        beginning = self.begin(draft)
        # It is larger if the epoch was cut to the window. The size of all of it then says whether a
        # compactor that failed is asked again: what was cut never grows beyond the window.
        # Without hidden thinking: to lose that of this epoch is no gain.
        before, after = map(self.maker.visible_tokens, (draft, beginning))
        return draft if _WORTHWHILE * before < after <= before else beginning

    def shorten(
        self,
        sent: list[Message],
        messages: list[Message],
        system_prompt: str,
        tools: Sequence[ToolDefinition],
    ) -> Draft | None:
        """Return a draft that is at most three quarters of what was sent, or at least smaller.

        None if nothing smaller is possible, or nothing is measured.
        """
        token_cache = self.maker.token_cache
        if token_cache is None:
            return None
        before = token_cache.sizes(sent).total
        draft = self.draft(messages, system_prompt, tools)
        draft = self.cut(self.begin(draft) if draft.continues else draft)
        most = int(_AFTER_OVERFLOW * before)
        if token_cache.sizes(draft.view).total > most:
            draft = self.maker.shrink(draft, max(1, most))
        # An equal or larger request would only be refused again.
        return None if token_cache.sizes(draft.view).total >= before else draft

    def commit(self, draft: Draft) -> Continuity:
        """Record a draft as sent, and return how it relates to the last request."""
        if draft.number != self._number:
            # It extends the one before: another thread or task has sent a request meanwhile.
            draft.continues = False
        self._number += 1
        continuity = self._compare(draft)
        last = self._last if draft.continues else None
        length = 0 if last is None or draft.may_lack_reasoning else len(last.view)
        beside = draft.system_prompt, draft.tools
        self.reasoning.sent(draft.view, *beside, extended=length)
        dead = draft.dead_tokens
        if self._is_withdrawn:
            continuity, self._is_withdrawn = self._continuity.then(continuity), False
            dead -= 0 if last is None else last.dead_tokens
        self._continuity = continuity
        draft.epoch = draft.epoch.keep(self._cache_terms.read * dead if dead else 0.0)
        self._last, self._is_resumed = draft, False
        self.maker.notes.note_sent(draft.view)
        self._repair.note_sent(draft.branch.history, is_epoch=not draft.continues)
        if not draft.continues:
            self._begin_epoch(draft.view)
        if self.maker.meter is not None:
            self.maker.meter.sent(draft.branch.history, draft.view)
        return continuity

    def withdraw(self) -> None:
        """Take the last request for one that was not sent: the history has grown meanwhile."""
        self._is_withdrawn = True
        self.reasoning.withdraw()

    def continued(self, draft: Draft) -> list[Message] | None:
        """Return the last request as it was sent, followed by what came since.

        Calls that are not answered yet, and what follows them, are left out. None if the history
        does not continue it, or the prompt or the tools are others.
        """
        last = self._last
        if last is None or last.beside != draft.beside:
            return None
        shorter, _ = self.maker.shorten_new(draft.repaired)
        _, epoch = last.epoch.follow(draft.repaired, shorter)
        if epoch is None or self._is_broken(last, epoch):
            return None
        # Up to the calls that wait for a result: what the repair made up is no message.
        length = len(last.view)
        later = reopen_rounds(epoch.view[length:])
        return [*epoch.view[:length], *later[: count_settled(later, split_rounds(later))]]

    def to_plain(self) -> dict[str, Any] | None:
        """Return the JSON form of the epoch: what is needed to make its requests again."""
        if self._last is None:
            return None if self._stored is None else self._stored.to_plain()
        epoch = self._last.epoch
        left_out, turn = self._left_out
        has_changes = epoch.prefix != self._last.beside
        keeps_prefix = has_changes or self.change_writer is not None
        record = StoredEpoch(
            begun=epoch.begun,
            messages=len(epoch.source),
            budget_tokens=epoch.budget_tokens,
            fit_tokens=epoch.fit_tokens,
            shrunk_tokens=epoch.shrunk_tokens,
            carrying_cost=epoch.carrying_cost,
            sent=self._digest_sent(self._last),
            left_out=left_out,
            turn_as_text=turn,
            given_up=self._repair.lengths,
            held=self.reasoning.held,
            prefix=epoch.prefix if keeps_prefix else None,
            latest=self._last.beside if has_changes else None,
            changes=epoch.changes,
        )
        return record.to_plain()

    def read_plain(self, plain: Mapping[str, Any]) -> None:
        """Restore what `to_plain` returned.

        Raises:
            KeyError, TypeError or ValueError: `to_plain` did not return this.
        """
        self._stored = StoredEpoch.from_plain(plain)
        self._repair.restore(self._stored.given_up)

    def _begin_epoch(self, view: list[Message]) -> None:
        self._digest, self._left_out = None, self.reasoning.left_out_of(view)

    def _digest_sent(self, last: Draft) -> str:
        """Return a hash of the last request, at the cost of what was not hashed before."""
        if self._digest is None:
            self._digest = _begin_digest(last)
        self._digest.add(last.view[self._digest.length - 1 :])
        return self._digest.text

    @property
    def _cache_terms(self) -> CacheTerms:
        return cache_terms(self.reasoning.model)

    def _meet(self, draft: Draft) -> None:
        """Take over a conversation that was begun elsewhere."""
        beside = draft.system_prompt, draft.tools
        epoch, self._stored = self._stored, None
        if epoch is None:
            if self._is_lost:
                return  # a second draft of the first request
            first = self.reasoning.first_valid(draft.repaired)
            self.reasoning.assume(draft.repaired, *beside, first=first)
            return
        last = self._restored(draft, epoch)
        if last is None:
            self._is_lost = True
            # What was sent has changed since, and with it all that was answered to it. If the owner
            # put items in front, or a compaction holds no more, no position tells what is new.
            first = len(draft.repaired)
            if self.reasoning.is_dropped:
                first = _behind_replies(draft.repaired, epoch.messages)
            self.reasoning.assume(draft.repaired, *beside, first=first)
            return
        beside = last.epoch.prefix.system_prompt, last.epoch.prefix.tools
        self.reasoning.resume(last.view, *beside, epoch.held)
        self._last, self._is_resumed = last, True

    def _restored(self, draft: Draft, record: StoredEpoch) -> Draft | None:
        """Return the last request of an earlier process; None if it cannot be made again."""
        beginning, length = record.begun, record.messages
        if not beginning <= length <= len(draft.repaired):
            return None
        source = draft.repaired[:length]
        overhead = draft.overhead_tokens
        view, stages = self.maker.make_again(source[:beginning], overhead, record)
        later = self.maker.shorten_new(draft.repaired)[0][beginning:length]
        for at, change in reversed(record.changes):
            later.insert(max(0, at - beginning), change)
        view = [*view, *later]
        view = source if are_same(view, source) else view
        epoch = Epoch(
            source,
            view,
            tuple(stages),
            begun=beginning,
            budget_tokens=record.budget_tokens,
            fit_tokens=record.fit_tokens,
            shrunk_tokens=record.shrunk_tokens,
            carrying_cost=record.carrying_cost,
            prefix=record.prefix or draft.beside,
            changes=record.changes,
        )
        latest = record.latest or epoch.prefix
        last = attrs.evolve(
            draft,
            repaired=source,
            epoch=epoch,
            system_prompt=latest.system_prompt,
            tools=latest.tools,
        )
        self._begin_epoch(view)
        return last if self._digest_sent(last) == record.sent else None

    def _carry(self, draft: Draft) -> Draft | None:
        """Return the draft as one more request of the last epoch; None if it cannot be one."""
        last = self._last
        if last is None:
            return None
        shorter, steps = self.maker.shorten_new(draft.repaired)
        former, epoch = last.epoch.follow(draft.repaired, shorter)
        if epoch is None:
            draft.is_edited = True
            return None
        draft.may_lack_reasoning = self._is_resumed or former is not last.epoch
        self.reasoning.note_replies(draft.repaired[len(former.source) :])
        if draft.may_lack_reasoning and self._is_broken(last, epoch):
            draft.is_edited = True
            return None
        # Another model cannot read it, and the one that made it reads it again.
        if not self.maker.policy.epochs or self.maker.notes.is_other(draft.repaired):
            return None
        epoch = self._with_changes(last, draft, epoch)
        if epoch is None:
            return None
        draft.epoch, draft.continues = epoch, True
        if epoch.prefix != draft.beside:
            self._count_sent(draft)
        start = len(former.source)
        draft.shortened = tuple(each for each in steps if each.changes_from(start))
        return self.maker.measured(draft)

    def _is_broken(self, last: Draft, epoch: Epoch) -> bool:
        """Return whether the owner's list has lost reasoning without which other is refused."""
        beside = last.epoch.prefix.system_prompt, last.epoch.prefix.tools
        former = None if self._is_resumed else last.view
        return self.reasoning.becomes_stale(former, epoch.view, *beside)

    def _with_changes(self, last: Draft, draft: Draft, epoch: Epoch) -> Epoch | None:
        """Return the epoch with what says how the system prompt and the tools have changed.

        None if they have to be sent in front of the request.
        """
        if not epoch.is_in_order:
            return None
        if last.beside == draft.beside:
            return epoch
        if self.change_writer is None:
            return None
        changes = self.change_writer.write_change(last.beside, draft.beside)
        if changes is None or (changes and not takes_change(epoch.view)):
            return None
        return epoch.append(list(mark_changes(changes))) if changes else epoch

    def _count_sent(self, draft: Draft) -> None:
        """Note the size of what is sent besides the messages of the draft's epoch."""
        if self._sent_overhead is not None:
            prefix = draft.epoch.prefix
            tools = tools_on_wire(prefix, draft.beside)
            history = draft.branch.history
            draft.overhead_tokens = self._sent_overhead.count(prefix.system_prompt, tools, history)

    def _with_overhead(self, draft: Draft) -> Draft:
        """Return the draft with the size of what will precede the first request of an epoch."""
        if self._overhead is None or draft.epoch.prefix == draft.beside:
            return draft
        beside = draft.system_prompt, draft.tools
        overhead = self._overhead.count(*beside, draft.branch.history)
        return attrs.evolve(draft, overhead_tokens=overhead)

    def _weigh(self, draft: Draft, idle_seconds: float) -> Draft:
        """Return the draft as the first request of a new epoch if that is due or pays."""
        if self.maker.is_exceeded(draft.view):
            return self.begin(draft)
        shorter, _ = self.maker.make_view(draft.repaired, draft.overhead_tokens)
        whole, rest = self.maker.size_of(draft.view), self.maker.size_of(shorter)
        dead = max(0, whole - rest)
        draft.dead_tokens = dead
        # Without a window nothing else bounds what is carried.
        if dead > rest and self.maker.window is None:
            return self.begin(draft)
        if not dead:
            return draft
        terms = self._cache_terms
        if idle_seconds >= terms.lifetime_seconds:
            # All of it has to be written again; only the reasoning would be lost.
            due = not self.reasoning.is_active or dead >= _LEAST_IDLE_GAIN * whole
        else:
            is_renewed = draft.epoch.prefix != draft.beside
            same_to = 0 if is_renewed else common_length(draft.view, shorter, "meaning")
            tokens_rewritten = rest - self.maker.size_of(shorter, same_to)
            due = draft.epoch.pays(terms, dead, tokens_rewritten, self.maker.policy.epoch_gain)
        # Asked last: a loop may be as long as the conversation.
        if not due or self._loses_reasoning(draft):
            return draft
        return self.begin(draft)

    def _loses_reasoning(self, draft: Draft) -> bool:
        """Return whether a new epoch would cost the running tool loop its reasoning."""
        in_loop = in_tool_loop(draft.branch.history)
        return in_loop and self.reasoning.is_at_stake(draft.repaired)

    def _compare(self, draft: Draft) -> Continuity:
        """Return how a request relates to the last one."""
        last = self._last
        if last is None:
            difference = Continuity(extends=False, changes=("owner_edited",))
            return difference if self._is_lost else Continuity()
        if draft.continues:
            return Continuity(reused_tokens=self.maker.size_of(draft.view, len(last.view)))
        changes = tuple(self._changes(last, draft))
        if {"system_changed", "tools_changed"} & set(changes):
            size = last.tokens or self.maker.size_of(last.view)
            note = prefix_changed(changes, size, self._cache_terms)
            return Continuity(extends=False, changes=changes, notes=(note,))
        same_to = common_length(last.view, draft.view, "meaning")
        reused_tokens = self.maker.size_of(draft.view, same_to)
        if same_to == len(last.view):
            return Continuity(reused_tokens=reused_tokens)
        # Without any other reason, a late result has taken its place.
        changes = changes or ("owner_edited",)
        return Continuity(extends=False, reused_tokens=reused_tokens, changes=changes)

    def _changes(self, last: Draft, draft: Draft) -> Iterator[str]:
        """Yield the reasons why a request does not extend the last one."""
        if last.epoch.prefix.system_prompt != draft.system_prompt:
            yield "system_changed"
        if last.epoch.prefix.tools != draft.tools:
            yield "tools_changed"
        if find_summary(last.repaired) != find_summary(draft.repaired):
            yield "compaction"
        elif self.maker.notes.is_other(draft.repaired):
            yield "model_changed"
        elif draft.is_edited:
            yield "owner_edited"
        parts = {each.part for each in draft.stages if each.after is not each.before}
        if parts & {WINDOW, TO_BE_SENT}:
            yield "cut"
        if parts - {WINDOW, TO_BE_SENT, SHARE, STALE, PREFIX}:
            yield "cleared"


def _behind_replies(messages: Sequence[Message], start: int) -> int:
    """Return where the messages behind the replies to a request of this length begin."""
    late = range(start, len(messages))
    return next((at for at in late if messages[at].role != "assistant"), len(messages))


def in_tool_loop(messages: Sequence[Message]) -> bool:
    """Return whether the newest message is a result: the model is in the middle of its work."""
    return bool(messages) and messages[-1].role == "tool"


def _begin_digest(draft: Draft) -> RollingDigest:
    """Return the hash of what precedes the messages of a request."""
    prefix = draft.epoch.prefix
    tools = [[tool.name, tool.description, tool.parameters] for tool in prefix.tools]
    beside = Message("system", json.dumps([prefix.system_prompt, tools], default=dict))
    digest = RollingDigest()
    digest.add([beside])
    return digest
