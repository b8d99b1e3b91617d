"""What other programs send, by their rules: Claude Code, Codex and Gemini CLI.

A rule says when a program compacts, what it keeps, and how it asks for the summary. What a model
would have written is not known: a digest stands in its place. What only the program knows (its
system prompt, its reminders) is not modelled, nor what it does before it summarizes at all.

Sources (2026-11):

- Claude Code compacts at the window less the reply, of which it reserves at most 20,000 tokens, and
  a buffer of 13,000 (https://github.com/anthropics/claude-code/issues/31806). All messages are
  replaced by the summary and the five files that were last read, of at most 5,000 tokens each. The
  request for the summary extends the last one.
- Codex compacts at nine tenths of the window. It keeps what the user said, the newest 20,000 tokens
  of it, and puts the summary behind it (codex-rs/core/src/compact.rs of
  https://github.com/openai/codex). Its request declares no tools, which stand before all messages:
  nothing is read from the cache. With OpenAI's models it uses their endpoint instead: see `native`.
- Gemini CLI compacts at half of the window. It keeps the newest three tenths, counted in
  characters, from a message of the user on; of tool outputs beyond the newest 50,000 tokens it
  keeps the last 30 lines (packages/core/src/services/chatCompressionService.ts of
  https://github.com/google-gemini/gemini-cli). A second request has the summary checked.

A summary that would make the request no smaller is not used, and no other is asked for: Gemini CLI
then only cuts outputs, Claude Code stops after three failures.
"""

from collections.abc import Callable, Iterator, Sequence

import attrs

from agentic import truncate
from agentic.context.budget import Compaction
from agentic.context.budget._compaction import CompactionTarget
from agentic.context.compactors import Digest
from agentic.context.digest import ToolTable
from agentic.context.digest._turns import Called, read_turns
from agentic.context.view import Prepared
from agentic.messages import ContextSummary, Message, SummaryText, ToolResult, leading_system_count
from agentic.tokens import Counter
from agentic.tokens._count import TokenCache

SUMMARY_TOKENS = 2_000
"""The size of the digest that stands for a summary."""
_HEADING = "A summary of the conversation so far:"
_REPLY_TOKENS, _BUFFER_TOKENS = 20_000, 13_000
_FILES, _FILE_TOKENS = 5, 5_000
_REQUEST_TOKENS = 20_000
_OUTPUT_TOKENS, _OUTPUT_LINES = 50_000, 30
_COMPRESSED = 0.7
_ACKNOWLEDGED = "Got it. Thanks for the additional context!"


@attrs.frozen
class Replacement:
    """What a program puts in the place of messages."""

    gone: list[Message]
    """What the summary is about."""
    before: list[Message]
    """What stands before the summary."""
    after: list[Message]


Keep = Callable[[list[Message], TokenCache], Replacement | None]
"""Returns what stays of the messages behind the system prompt; None if the program changes
nothing."""


Shorten = Callable[[list[Message], TokenCache], list[Message]]
"""Returns messages with shorter outputs."""


@attrs.frozen(kw_only=True)
class Program:
    """The rules of one program."""

    trigger: Callable[[int], int]
    """Returns the size from which on it compacts, for a window; both in tokens."""
    keep: Keep
    shorten: Shorten | None = None
    """What it does without a summary, once one has failed."""


@attrs.define(eq=False)
class ProgramView:
    """Makes the requests of one session as a program would."""

    program: Program
    window: int
    counter: Counter
    summary_tokens: int = SUMMARY_TOKENS
    _cache: TokenCache = attrs.field(init=False)
    _view: list[Message] = attrs.field(factory=list, init=False)
    _tokens: int = attrs.field(default=0, init=False)
    """The size of the view."""
    _seen: int = attrs.field(default=0, init=False)
    """The length of the history at the latest request."""
    _summaries: dict[int, Message] = attrs.field(factory=dict, init=False)
    """By the id of the message that is sent: the summary with what the next digest needs."""

    _has_failed: bool = attrs.field(default=False, init=False)

    def __attrs_post_init__(self) -> None:
        self._cache = TokenCache(self.counter)

    async def prepare(
        self, history: list[Message], *, target: CompactionTarget | None = None
    ) -> Prepared:
        """Return the request for a history, which stays whole: nothing goes to the `target`."""
        fresh, self._seen = history[self._seen :], len(history)
        self._view += fresh
        self._tokens += sum(map(self._cache.count_message, fresh))
        compaction = None
        if self._tokens >= self.program.trigger(self.window):
            compaction = self._shorten() if self._has_failed else self._compact()
        return Prepared(messages=self._view, history=history, compaction=compaction)

    def _compact(self) -> Compaction | None:
        """Put a summary in the place of what the program does not keep."""
        start = leading_system_count(self._view)
        made = self.program.keep(self._view[start:], self._cache)
        if made is None:
            return None
        text = self._digest(made.gone)
        summary = ContextSummary(text, len(made.gone), notes=SummaryText(text).notes)
        shown = Message("user", f"{_HEADING}\n\n{text}")
        view = [*self._view[:start], *made.before, shown, *made.after]
        compaction = self._use(view, summary)
        self._has_failed = compaction is None
        if compaction is not None:
            self._summaries = {id(shown): summary.to_message()}
        return compaction

    def _shorten(self) -> Compaction | None:
        if self.program.shorten is None:
            return None
        return self._use(self.program.shorten(self._view, self._cache), None)

    def _use(self, view: list[Message], summary: ContextSummary | None) -> Compaction | None:
        tokens = sum(map(self._cache.count_message, view))
        if tokens >= self._tokens:
            return None
        self._view, self._tokens = view, tokens
        return Compaction(messages=view, summary=summary, changed=True)

    def _digest(self, gone: Sequence[Message]) -> str:
        # A shown summary is a user's message; the digest is to go on from what it noted.
        messages = [self._summaries.get(id(each), each) for each in gone]
        digest = Digest(max_tokens=self.summary_tokens, counter=self.counter)
        return digest.write(messages) or "Nothing was done yet."


def _claude_trigger(window: int) -> int:
    # It has no windows so small that the buffers leave less than half of them.
    return max(window // 2, window - _REPLY_TOKENS - _BUFFER_TOKENS)


def _claude_keep(messages: list[Message], cache: TokenCache) -> Replacement:
    return Replacement(messages, [], list(_files_again(messages, cache)))


def _files_again(messages: list[Message], cache: TokenCache) -> Iterator[Message]:
    """Yield the files that were last read, as they were read."""
    turns = [each for each in read_turns(messages, ToolTable()) if isinstance(each, Called)]
    texts: dict[str, str] = {}
    for call in reversed(turns):
        if call.does == "read" and len(call.paths) == 1 and call.output and not call.failed:
            texts.setdefault(call.paths[0], call.output)
    for path, text in list(texts.items())[:_FILES]:
        shown = f"Read again: {path}\n{_clip(text, _FILE_TOKENS, cache)}"
        yield Message("user", shown)


def _clip(text: str, most: int, cache: TokenCache) -> str:
    """Return the beginning of a text, of about so many tokens."""
    tokens = cache.count_text(text)
    return text if tokens <= most else text[: len(text) * most // tokens]


def _codex_trigger(window: int) -> int:
    return window * 9 // 10


def _codex_keep(messages: list[Message], cache: TokenCache) -> Replacement:
    kept: list[Message] = []
    room = _REQUEST_TOKENS
    for message in reversed(messages):
        if message.role != "user" or message.content.startswith(_HEADING) or room <= 0:
            continue
        size = cache.count_message(message)
        if size > room:
            message = message.replace(content=_clip(message.content, room, cache))  # noqa: PLW2901
        room -= size
        kept.append(message)
    return Replacement(messages, kept[::-1], [])


def _gemini_trigger(window: int) -> int:
    return window // 2


def _gemini_keep(messages: list[Message], cache: TokenCache) -> Replacement | None:
    # What is about to be sent is not in its history yet.
    late = range(len(messages) - 1, -1, -1)
    end = next((at + 1 for at in late if messages[at].role == "assistant"), 0)
    if end and not messages[end - 1].tool_calls:
        # Results behind a reply without calls belong to a call before it.
        behind = range(end, len(messages))
        end = next((at for at in behind if messages[at].role != "tool"), len(messages))
    history = _cut_outputs(messages[:end], cache)
    split = _split_point(history)
    if not split:
        return None
    reply = Message("assistant", _ACKNOWLEDGED)
    return Replacement(history[:split], [], [reply, *history[split:], *messages[end:]])


def _split_point(history: list[Message]) -> int:
    """Return where what is kept begins: at a request, behind seven tenths of all characters."""
    sizes = [_chars(message) for message in history]
    most, before, latest = _COMPRESSED * sum(sizes), 0, 0
    for at, message in enumerate(history):
        if message.role == "user":
            if before >= most:
                return at
            latest = at
        before += sizes[at]
    if history and history[-1].role == "assistant" and not history[-1].tool_calls:
        return len(history)
    return latest


def _chars(message: Message) -> int:
    calls = sum(len(call.name) + len(call.arguments) for call in message.tool_calls)
    return len(message.content) + calls + sum(len(each.text) for each in message.tool_results)


def _cut_outputs(history: list[Message], cache: TokenCache) -> list[Message]:
    """Return a history with the outputs beyond the newest ones as their last lines."""
    shown: list[Message] = []
    room = _OUTPUT_TOKENS
    for message in reversed(history):
        results: list[ToolResult] = []
        for result in message.tool_results:
            size = cache.count_text(result.output)
            if size > room:
                text = truncate.tail(result.output, max_lines=_OUTPUT_LINES).content
                result = attrs.evolve(result, output=text)  # noqa: PLW2901
                size = cache.count_text(text)
            room -= size
            results.append(result)
        changed = tuple(results) != message.tool_results
        shown.append(message.replace(tool_results=results) if changed else message)
    return shown[::-1]


CLAUDE_CODE = Program(trigger=_claude_trigger, keep=_claude_keep)
CODEX = Program(trigger=_codex_trigger, keep=_codex_keep)
GEMINI_CLI = Program(trigger=_gemini_trigger, keep=_gemini_keep, shorten=_cut_outputs)
