"""A compactor that lets the provider compact, and keeps a readable digest beside what it made.

What the provider makes is opaque: only the model that made it reads it. It is sent in the place of
the summary, first and byte for byte, as long as requests are for that model. For every other one,
and for everybody who searches, compares or restores, there is the digest of the same messages.
"""

from itertools import takewhile

import attrs

from agentic import usage
from agentic._base._validate import must_be_async, must_compact
from agentic.context._for_conversation import ContextualBase, for_conversation, start_compactor
from agentic.context.compactors._model import check_growth, report_decision
from agentic.context.digest import Digest
from agentic.errors import CompactionRefused
from agentic.messages import Message, SummaryText, split_rounds
from agentic.messages._provider_compaction import NativeCompaction, compaction_text
from agentic.messages._rounds import count_settled
from agentic.protocols import CompactionContext, Compactor, Input, LastRequest, NativeSummarizer
from agentic.tokens import CharCounter, count_tokens


@attrs.frozen
class ProviderCompactor(ContextualBase):
    """Lets the provider compact: Anthropic on demand, OpenAI and xAI by their own endpoint.

    The provider is asked for a compaction of the older messages as they were sent, which it reads
    from its cache. If it makes none, or refuses, nothing is changed and this compactor fails: put
    it into a `first_of` with others.

    Raises:
        ConfigError: a part lacks a method that is needed.
    """

    summarizer: NativeSummarizer | None = attrs.field(default=None)
    """Asks the provider: a decider of `providers.anthropic` or `providers.openai_responses`, or
    anything with its `name` and `compact_natively`. None for the decider of the Runner. It has to
    be the model of the conversation, or its compactions are never sent."""
    beside: Compactor | None = attrs.field(default=None, kw_only=True)
    """Writes the readable summary of the same messages; by default a `Digest`."""

    @summarizer.validator
    def _check_summarizer(self, _: object, value: object) -> None:
        if value is not None:
            signature = "async compact_natively(request, instructions)"
            remedy = "pass a Decider of providers.anthropic or providers.openai_responses"
            must_be_async("summarizer", value, "compact_natively", signature, remedy)

    @beside.validator
    def _check_beside(self, _: object, value: object) -> None:
        if value is not None:
            must_compact("beside", value, "pass compactors.Digest()")

    def for_conversation(self, *, recall: str | None = None) -> "ProviderCompactor":
        """Return a copy whose digest names the recall tool of the conversation."""
        beside = Digest(recall=recall) if self.beside is None else self.beside
        return attrs.evolve(self, beside=for_conversation(beside, recall))

    async def compact_in(self, messages: list[Message], context: CompactionContext, /) -> str:
        """Return the readable summary, with what the provider made among its notes.

        Raises:
            CompactionRefused: the provider made no compaction, one that was cut off, or one that is
                larger than what it replaces, or there is none to ask.
            Exception: whatever else its request fails with.
        """
        summarizer = self.summarizer or context.native
        if summarizer is None:
            raise CompactionRefused("there is no provider to ask: pass a decider that can compact")
        # First: if it fails, the readable one would be wasted work.
        native = await self._ask(summarizer, messages, context)
        beside = Digest() if self.beside is None else self.beside
        if isinstance(beside, Digest) and context.max_tokens is not None:
            beside = attrs.evolve(beside, max_tokens=context.max_tokens)
        text = await start_compactor(beside, messages, context)
        # Without a readable text the conversation would be captive.
        return SummaryText(text, {**SummaryText(text).notes, **native.to_notes()})

    async def _ask(
        self, summarizer: NativeSummarizer, messages: list[Message], context: CompactionContext
    ) -> NativeCompaction:
        provider, _, model = summarizer.name.partition(":")
        last = context.last_request
        length, is_exact = (0, False) if last is None else _count_before(last, context.kept)
        if last is not None and length:
            request = Input(
                system_prompt=last.system_prompt,
                user_message="",
                history=last.messages[:length],
                tools=last.tools,
            )
        else:
            request = Input(user_message="", history=tuple(messages))
        decision = await summarizer.compact_natively(request, context.instructions)
        report_decision(decision)
        reply = Message("assistant", decision.reply, native=decision.native)
        text = compaction_text(reply)
        if text is None:
            raise CompactionRefused(f"{provider} made no compaction")
        if decision.stop_reason is usage.StopReason.MAX_TOKENS:
            raise CompactionRefused(f"the compaction ended with {decision.stop_reason}")
        # It is sent as it is, whatever its size, and what nobody can read has the size reported.
        used = usage.normalize(decision.usage)
        size = max(CharCounter().count(text), used.output - used.reasoning)
        check_growth(size, count_tokens(request.history))
        if is_exact:
            context.covered.append(length)
        return NativeCompaction(provider, model, reply)


def _count_before(last: LastRequest, kept: tuple[Message, ...]) -> tuple[int, bool]:
    """Return how many messages of the last request precede its end, which is kept.

    Also whether nothing else is kept. In the middle of a turn its request is, and what is pinned:
    the provider summarizes them, too, and reads everything from its cache. 0 if the end is not kept
    as it was sent.
    """
    # A round whose calls are not answered yet was not sent.
    kept = kept[: count_settled(kept, split_rounds(list(kept)))]
    pairs = zip(reversed(last.messages), reversed(kept), strict=False)
    same = sum(1 for _ in takewhile(lambda pair: _are_same_place(*pair), pairs))
    others = kept[: len(kept) - same]
    before = last.messages[: len(last.messages) - same]
    if not same or not all(each.role == "user" or each.pinned for each in others):
        return 0, False
    if all(message.role == "system" for message in before):
        return 0, False
    return len(before), not others


def _are_same_place(former: Message, message: Message) -> bool:
    """Return whether one message is the other as it was sent: perhaps shorter."""
    if former is message:
        return True
    ids = [[call.id for call in each.tool_calls] for each in (former, message)]
    results = [[result.call_id for result in each.tool_results] for each in (former, message)]
    is_alike = former.role == message.role and ids[0] == ids[1] and results[0] == results[1]
    return is_alike and (bool(ids[0] or results[0]) or former.content == message.content)
