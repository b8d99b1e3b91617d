"""A compactor whose request extends the last request of the conversation as it was sent.

The provider reads all of that from its prompt cache, at about a tenth of the price. Nothing earlier
is edited, so reasoning that is bound to the request stays valid. It is the same model with the same
system prompt and tools; one user message more asks for the summary.
"""

import inspect
from collections.abc import Awaitable, Callable
from typing import Any, Literal, TypeAlias

import attrs

from agentic import limits
from agentic._base._validate import must_be, must_compact, must_count, whole
from agentic.context._for_conversation import ContextualBase, for_conversation, start_compactor
from agentic.context.compactors._combinators import first_of
from agentic.context.compactors._coverage import cover
from agentic.context.compactors._model import (
    TOKENS_PER_WORD,
    Model,
    cut_summary,
    describe_sections,
    read_summary_text,
    report_decision,
)
from agentic.context.digest import Digest
from agentic.errors import CompactionRefused, ConfigError
from agentic.messages import Message
from agentic.protocols import CompactionContext, Compactor, Decision, Input
from agentic.tokens import CharCounter, Counter, count_tokens
from agentic.usage import StopReason

AskAgain: TypeAlias = Callable[[Any], Any]
"""A function from a request to the reply, or to an awaitable of it: the caller's own call."""

# First and last, because the tools stay declared, and the reply to a call would be no summary.
_TEXT_ONLY = "Answer with text only. Do not call any tool: no call is carried out."
_INSTRUCTION = """\
{text_only}

The older part of this conversation is about to be left out. Write a summary of all of it, for \
yourself: you will go on from the summary and the newest messages alone. Do not continue the work \
in this reply, and answer nothing that was asked. If the conversation begins with a record of an \
earlier part, carry over what still holds.

Write Markdown under these headings, in this order, and leave out a heading that has nothing:
{headings}

Use fewer than {max_words} words. State facts only, and copy names, paths and \
numbers exactly.{focus}

{text_only}"""
_FOCUS = "\nLook at this in particular, without leaving out the rest: {instructions}"


@attrs.frozen
class Continuation(ContextualBase):
    r"""Summarizes by extending the last request, which the provider reads from its cache.

    It is used only if that pays and can succeed: the model is the same, the cache is younger than
    its lifetime, and the window has room for the instruction and the answer. Calls that are not
    answered yet are left out of it.
    A tool call, an empty answer, one of reasoning alone, one that was cut off, and one that is
    larger than what it replaces are refused. Otherwise, the `fallback` writes the summary.

    >>> import asyncio
    >>> from agentic.messages import Message
    >>> from agentic.protocols import CompactionContext, LastRequest
    >>> talk = [Message("user", "Is it green?"), Message("assistant", "All tests pass now.")]
    >>> async def ask(request):
    ...     return "## Done\nThe build is green."
    >>> last = LastRequest(messages=talk, age_seconds=20)
    >>> context = CompactionContext(last_request=last)
    >>> print(asyncio.run(Continuation(ask).compact_in(talk, context)))
    ## Done
    The build is green.
    """

    ask: AskAgain | None = attrs.field(default=None)
    """Sends a request and returns its reply. In a Runner, a Session and most bridges it is left
    out: they ask the model of the conversation. With `dicts.Conversation` it takes what `fit` or
    `fit_request` returns, and returns the provider's response; otherwise a `loop.Input`, and it
    returns a `loop.Decision`, or the text."""
    fallback: Compactor | Literal["standard"] | None = attrs.field(default="standard", kw_only=True)
    """Writes the summary if this compactor cannot. `standard` is a `Model` that is asked in the
    same way, then a `Digest`. With None, this compactor fails, as in a `first_of`."""
    max_tokens: int = attrs.field(default=1_000, kw_only=True, validator=whole(50))
    """The largest size of a summary. The instruction states it in words."""
    coverage: bool = attrs.field(default=True, kw_only=True, validator=must_be(bool))
    """Whether facts that the summary lacks are listed below it, as `with_coverage` does, also below
    that of a fallback."""
    counter: Counter = attrs.field(factory=CharCounter, kw_only=True)
    _recall: str | None = attrs.field(default=None, kw_only=True)
    """The name of the recall tool, for the digest of the default fallback."""

    @ask.validator
    def _check_ask(self, _: object, value: object) -> None:
        if value is not None and not callable(value):
            remedy = "wrap your client's call in a function"
            raise ConfigError("ask", value, "a function from a request to its reply", remedy)

    @fallback.validator
    def _check_fallback(self, _: object, value: object) -> None:
        if value not in (None, "standard"):
            must_compact("fallback", value, "pass compactors.Digest()")

    @counter.validator
    def _check_counter(self, _: object, value: object) -> None:
        must_count("counter", value)

    def for_conversation(self, *, recall: str | None = None) -> "Continuation":
        """Return a copy whose digest names the recall tool of the conversation."""
        fallback = self.fallback
        fallback = fallback if fallback == "standard" else for_conversation(fallback, recall)
        return attrs.evolve(self, fallback=fallback, recall=recall or self._recall)

    async def compact_in(self, messages: list[Message], context: CompactionContext, /) -> str:
        """Return the summary of all that was sent, or what the fallback writes.

        Raises:
            CompactionRefused: it cannot be used or the answer is no summary, and there is no
                fallback.
            Exception: without a fallback, whatever the model's client raises.
        """
        context = attrs.evolve(context, ask=self._asker(context))
        try:
            text = await self._continue(messages, context)
        except Exception as failure:
            if self.fallback is None:
                raise
            context.failures.append(f"{type(self).__name__}: {failure}")
            text = await start_compactor(self._fallback_in(context), messages, context)
        if not self.coverage:
            return text
        digest = Digest(counter=self.counter, recall=self._recall)
        return await cover(text, messages, context, digest, self.max_tokens // 2)

    async def _continue(self, messages: list[Message], context: CompactionContext) -> str:
        words = self.max_tokens // TOKENS_PER_WORD
        focus = _FOCUS.format(instructions=context.instructions) if context.instructions else ""
        instruction = _INSTRUCTION.format(
            text_only=_TEXT_ONLY, headings=describe_sections(), max_words=words, focus=focus
        )
        last = context.last_request
        problem = self._problem(context, self.counter.count(instruction) + self.max_tokens)
        if problem or last is None or context.ask is None:
            raise CompactionRefused(problem)
        request = Input(
            system_prompt=last.system_prompt,
            user_message=instruction,
            history=(*last.messages, Message("user", instruction)),
            tools=last.tools,
        )
        decision = await context.ask(request)
        report_decision(decision)
        former_tokens = count_tokens(messages, self.counter)
        text = read_summary_text(_reply_of(decision), self.counter, former_tokens)
        return cut_summary(text, self.counter, self.max_tokens)

    def _problem(self, context: CompactionContext, added_tokens: int) -> str:
        """Return why the last request is not extended; empty if that pays and can succeed."""
        last = context.last_request
        if context.ask is None:
            return "there is no way to ask the model: pass Continuation(ask)"
        if last is None:
            return "the conversation does not continue the last request"
        if last.model and context.model and last.model != context.model:
            return f"the last request was for {last.model}, and the next one is for {context.model}"
        lifetime = limits.cache_terms(last.model).lifetime_seconds
        if last.age_seconds is None or last.age_seconds >= lifetime:
            return f"the prompt cache has expired: it lasts {lifetime} s"
        window = context.context_window
        if window and last.tokens + added_tokens > window:
            need = f"{last.tokens:,} + {added_tokens:,} tokens of {window:,}"
            return f"the window has no room for the instruction and the answer ({need})"
        return ""

    def _asker(self, context: CompactionContext) -> Callable[[Input], Awaitable[Decision]] | None:
        """Return the function that asks: the caller's own, or that of the conversation."""
        own = self.ask
        if own is None:
            return context.ask
        codec = context.codec

        async def ask(request: Input) -> Decision:
            reply = own(request if codec is None else codec.write_request(request))
            reply = await reply if inspect.isawaitable(reply) else reply
            if isinstance(reply, str):
                return Decision(reply)
            if isinstance(reply, Decision):
                return reply
            if codec is None:
                remedy = "return its text, or a loop.Decision"
                raise ConfigError("the reply of ask", reply, "a text or a Decision", remedy)
            return codec.read_reply(reply)

        return ask

    def _fallback_in(self, context: CompactionContext) -> Compactor:
        fallback = self.fallback
        if fallback is not None and fallback != "standard":
            return fallback
        digest = Digest(counter=self.counter, recall=self._recall)
        if context.max_tokens is not None:
            digest = attrs.evolve(digest, max_tokens=context.max_tokens)
        return first_of(Model(counter=self.counter), digest)


def _reply_of(decision: Decision) -> str:
    """Return the text of a reply.

    Raises:
        CompactionRefused: it is not a complete text.
    """
    if decision.tool_calls:
        names = ", ".join(call.name for call in decision.tool_calls)
        raise CompactionRefused(f"the model called {names} instead of summarizing")
    if decision.stop_reason is not StopReason.STOP:
        raise CompactionRefused(f"the summary ended with {decision.stop_reason}")
    if not decision.reply.strip() and decision.reasoning:
        raise CompactionRefused("the model only reasoned")
    return decision.reply
