"""A compactor in the form of a chat model, for LangChain's own SummarizationMiddleware.

That middleware decides what to summarize, and asks its model with a prompt that contains the
messages as text, written by `langchain_core.messages.get_buffer_string`: as XML, or in older
versions with a prefix such as `Human: ` (langchain 1.2.10 and 1.4.7, 2026-11). The messages are
read back from that text.
"""

import ast
import asyncio
import concurrent.futures
import contextvars
import html
import re
from collections.abc import Iterable, Iterator
from typing import Any

from langchain_core.callbacks import AsyncCallbackManagerForLLMRun, CallbackManagerForLLMRun
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, BaseMessage
from langchain_core.outputs import ChatGeneration, ChatResult
from pydantic import ConfigDict, PrivateAttr

from agentic._base._validate import must_be_async
from agentic.bridges.langchain._messages import read_message
from agentic.context.budget import Compactor
from agentic.messages import ContextSummary, Message, SummaryText, ToolCall, ToolResult

_SUMMARY_PREFIX = "Here is a summary of the conversation to date:\n\n"
"""How SummarizationMiddleware begins the message that holds a summary."""
_MOST_SUMMARIES = 64
_TAG = '<message type="'
_XML = re.compile(r'<message type="(\w+)">(.*?)</message>', re.DOTALL)
_CONTENT = re.compile(r"<content>(.*?)</content>", re.DOTALL)
# LangChain quotes with `quoteattr`, which takes ' for a value that contains ".
_XML_CALL = re.compile(
    r"""<tool_call id=(?:"(.*?)"|'(.*?)') name=(?:"(.*?)"|'(.*?)')>(.*?)</tool_call>""", re.DOTALL
)
_PREFIX = re.compile(r"^(Human|AI|System|Tool): ", re.MULTILINE)
_PREFIX_CALLS = re.compile(r"\[\{'name': .*\}\]\Z", re.DOTALL)


def summarizer(compactor: Compactor, *, context_window: int | None = None) -> BaseChatModel:
    """Return a chat model that summarizes with a compactor, for SummarizationMiddleware.

    >>> from langchain.agents.middleware import SummarizationMiddleware
    >>> from agentic.context.compactors import Digest
    >>> middleware = SummarizationMiddleware(
    ...     summarizer(Digest()), trigger=("messages", 40), trim_tokens_to_summarize=None
    ... )

    Without `trim_tokens_to_summarize=None`, LangChain passes on no more than the last 4,000 tokens
    of what it drops.

    Args:
        compactor: an object with `async compact(messages)`.
        context_window: of the agent's model, in tokens; needed for limits that are fractions of it.

    Raises:
        ConfigError: the compactor has no such method.
    """
    must_be_async("compactor", compactor, "compact", "async compact(messages)", "pass a Digest")
    model = _CompactorModel()
    if context_window is not None:
        model.profile = {"max_input_tokens": context_window}
    model._compactor = compactor  # noqa: SLF001  a field would be validated and copied
    return model


class _CompactorModel(BaseChatModel):
    """A chat model whose replies are summaries of the messages in the prompt."""

    model_config = ConfigDict(arbitrary_types_allowed=True)

    _compactor: Any = PrivateAttr()
    _made: dict[str, SummaryText] = PrivateAttr(default_factory=dict)
    """The latest summaries by their text: their notes help to make the next one."""

    @property
    def _llm_type(self) -> str:
        return "agentic-compactor"

    def _generate(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: CallbackManagerForLLMRun | None = None,
        **kwargs: Any,
    ) -> ChatResult:
        try:
            asyncio.get_running_loop()
        except RuntimeError:
            return asyncio.run(self._agenerate(messages))
        # The thread sees the caller's context variables: a trace continues in it.
        context, work = contextvars.copy_context(), self._agenerate(messages)
        with concurrent.futures.ThreadPoolExecutor(1) as elsewhere:  # the loop here is waiting
            return elsewhere.submit(context.run, asyncio.run, work).result()

    async def _agenerate(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: AsyncCallbackManagerForLLMRun | None = None,
        **kwargs: Any,
    ) -> ChatResult:
        history = [self._with_notes(message) for message in _messages_in(messages)]
        summary = await self._compactor.compact(history)
        for old in list(self._made)[: 1 - _MOST_SUMMARIES]:
            del self._made[old]
        # SummarizationMiddleware strips the text that it keeps.
        self._made[summary.strip()] = SummaryText(summary)
        return ChatResult(generations=[ChatGeneration(message=AIMessage(str(summary)))])

    def _with_notes(self, message: Message) -> Message:
        """Return a summary that was made here as such, and any other message as it is."""
        text = message.content.removeprefix(_SUMMARY_PREFIX)
        entry = self._made.get(text.strip())
        if entry is None or text == message.content:
            return message
        return ContextSummary(entry, 0, notes=entry.notes).to_message()


def _messages_in(prompt: list[BaseMessage]) -> list[Message]:
    """Return the messages that a prompt contains as text, or the prompt itself if it has none."""
    history = [read_message(message) for message in prompt]
    if len(history) != 1:
        return history
    text = history[0].content
    prefix = _PREFIX.search(text)
    # Only XML is escaped: after a prefix, a tag is what somebody said.
    is_quoted = prefix is not None and text.find(_TAG, 0, prefix.start()) < 0
    return list(_paired((_from_prefixes if is_quoted else _from_xml)(text))) or history


def _from_xml(text: str) -> Iterator[Message]:
    for role, body in _XML.findall(text):
        calls = [
            ToolCall(
                html.unescape(one or other), html.unescape(name or same), html.unescape(arguments)
            )
            for one, other, name, same, arguments in _XML_CALL.findall(body)
        ]
        # Only a message with calls has its text in an element of its own.
        content = _CONTENT.search(body) if calls else None
        inner = (content.group(1) if content else "") if calls else body
        yield _message(role, html.unescape(inner), calls)


def _from_prefixes(text: str) -> Iterator[Message]:
    text = text.removesuffix("\n</messages>")  # the prompt ends with it
    starts = list(_PREFIX.finditer(text))
    ends = [*(match.start() - 1 for match in starts[1:]), len(text)]
    for match, end in zip(starts, ends, strict=False):
        content = text[match.end() : end]
        calls_match = _PREFIX_CALLS.search(content) if match.group(1) == "AI" else None
        calls = _literal(calls_match.group()) if calls_match else []
        if calls_match and calls:
            content = content[: calls_match.start()]
        yield _message(match.group(1).lower(), content, calls)


def _literal(text: str) -> list[ToolCall]:
    """Return the calls in the Python form of a list of them."""
    try:
        return list(read_message(AIMessage("", tool_calls=ast.literal_eval(text))).tool_calls)
    except (KeyError, SyntaxError, TypeError, ValueError):
        return []


def _message(role: str, content: str, calls: list[ToolCall]) -> Message:
    if role == "ai":
        return Message("assistant", content, tool_calls=calls)
    if role in {"tool", "function"}:
        return Message("tool", tool_results=[ToolResult(output=content)])
    return Message("system" if role == "system" else "user", content)


def _paired(messages: Iterable[Message]) -> Iterator[Message]:
    """Yield the messages with each result under the id of a call: the text has them in order."""
    waiting: list[ToolCall] = []
    for message in messages:
        if message.role == "assistant":
            waiting = list(message.tool_calls)
        if message.role == "tool" and waiting:
            call = waiting.pop(0)
            output = message.tool_results[0].output
            yield message.replace(tool_results=[ToolResult(call.id, call.name, output)])
        elif message.role != "tool":
            yield message
