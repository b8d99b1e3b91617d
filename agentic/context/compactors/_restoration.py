"""A compactor that reads again what the work needs after a compaction.

A summary says which files were read, and not what is in them. The texts that are read again are
shown behind the summary by a View. They are not in the history: the next compaction reads anew.
"""

import json
from collections.abc import Awaitable, Callable, Iterator, Sequence
from typing import TypeAlias

import attrs

from agentic._base._validate import must_be, must_compact, must_count, whole
from agentic.context._for_conversation import ContextualBase, for_conversation, start_compactor
from agentic.context.compactors._model import clip_to_tokens
from agentic.context.digest import ToolTable
from agentic.context.digest._turns import Called, read_turns
from agentic.errors import ConfigError
from agentic.messages import Message, SummaryText, ToolCall, ToolResult
from agentic.messages._restoration import Restoration
from agentic.protocols import CompactionContext, Compactor
from agentic.tokens import CharCounter, Counter

AfterCompaction: TypeAlias = Callable[
    [list[Message], CompactionContext], Awaitable[Sequence[Message]]
]
"""Returns what is shown behind a summary, as user messages. It is given the messages that the
summary replaces, and what is known besides them: `context.kept` are those that stay."""

_PARTS_OF_WINDOW = 5
"""All texts together take at most the window divided by this."""


def with_restoration(
    compactor: Compactor, restore: "AfterCompaction | ReadAgain | None" = None
) -> "WithRestoration":
    """Return a compactor after whose summary a View shows what the work needs.

    `restore` is any async function that returns user messages; by default a `ReadAgain`, which
    reads the files again that were last read or changed. If it fails, the summary stands alone.

    Raises:
        ConfigError: `compactor` is not a compactor, or `restore` is not a function.
    """
    return WithRestoration(compactor, ReadAgain() if restore is None else restore)


@attrs.frozen
class WithRestoration(ContextualBase):
    """A compactor with what is read again. Created by `with_restoration`."""

    compactor: Compactor = attrs.field()
    restore: "AfterCompaction | ReadAgain" = attrs.field()

    @compactor.validator
    def _check_compactor(self, _: object, value: object) -> None:
        must_compact("compactor", value, "pass a Continuation()")

    @restore.validator
    def _check_restore(self, _: object, value: object) -> None:
        if not callable(value):
            requirement = "an async function of the messages and the context"
            raise ConfigError("restore", value, requirement, "leave it out to read files again")

    def for_conversation(self, *, recall: str | None = None) -> "WithRestoration":
        """Return a copy whose compactor is of the conversation, too."""
        return attrs.evolve(self, compactor=for_conversation(self.compactor, recall))

    async def compact_in(self, messages: list[Message], context: CompactionContext, /) -> str:
        """Return the compactor's summary, with what is read again among its notes.

        Raises:
            ConfigError: what is to be shown is not a list of user messages.
            Exception: whatever the compactor raises.
        """
        text = await start_compactor(self.compactor, messages, context)
        if not text.strip():
            return text
        try:
            restoration: tuple[object, ...] = tuple(await self.restore(messages, context))
        except Exception as failure:  # noqa: BLE001  anybody's code, and the summary is as good
            context.failures.append(f"{type(self.restore).__name__}: {failure!r}")
            return text
        visible = []
        for message in restoration:
            if not isinstance(message, Message) or message.role != "user":
                requirement = "user messages, which every provider accepts behind a summary"
                raise ConfigError("the messages to restore", message, requirement)
            visible.append(message)
        notes = {**SummaryText(text).notes, **Restoration(tuple(visible)).to_notes()}
        return SummaryText(text, notes)


@attrs.frozen(kw_only=True)
class ReadAgain:
    """Reads the files again that were last read or changed, by the agent's own tool.

    The tool is called as the agent last called it, with a path and nothing else. A file is left out
    if the messages that stay show it, if it cannot be read any more, or if what the conversation
    last had of it is not in it: somebody else has changed it, or the conversation was redacted.

    Raises:
        ConfigError: a number is out of range, or the counter cannot count.
    """

    execute: Callable[[ToolCall], Awaitable[ToolResult]] | None = None
    """Carries out a call; None for the executor of the Runner."""
    max_files: int = attrs.field(default=5, validator=whole(1))
    max_tokens: int = attrs.field(default=5_000, validator=whole(1))
    """The largest size of each text; the middle of a longer one is left out. Where the window is
    known, all of them together take at most a fifth of it."""
    tools: ToolTable = attrs.field(factory=ToolTable, validator=must_be(ToolTable))
    """Which tools read, write and edit files."""
    counter: Counter = attrs.field(factory=CharCounter)

    @counter.validator
    def _check_counter(self, _: object, value: object) -> None:
        must_count("counter", value)

    async def __call__(self, messages: list[Message], context: CompactionContext) -> list[Message]:
        """Return a message for each file, the newest first."""
        execute = self.execute or context.execute
        earlier = set(map(id, messages))
        visible = [*messages, *(each for each in context.kept if id(each) not in earlier)]
        calls = [turn for turn in read_turns(visible, self.tools) if isinstance(turn, Called)]
        reader = next((call for call in reversed(calls) if _reads_one(call)), None)
        if execute is None or reader is None:
            return []
        most = context.context_window // _PARTS_OF_WINDOW or self.max_files * self.max_tokens
        texts: list[Message] = []
        for number, (path, last) in enumerate(self._files(calls, context)):
            room = min(self.max_tokens, most)
            if len(texts) == self.max_files or room <= 0:
                break
            text = await _read(execute, _call(reader, path, number), last)
            if text:
                excerpt = clip_to_tokens(text, self.counter, room)
                most -= self.counter.count(excerpt)
                texts.append(Message("user", f"[Read again after the summary: {path}]\n{excerpt}"))
        return texts

    def _files(
        self, calls: Sequence[Called], context: CompactionContext
    ) -> Iterator[tuple[str, str]]:
        """Yield the files that were last read or changed, and what was last known of each."""
        excerpts = {
            path
            for turn in read_turns(context.kept, self.tools)
            if isinstance(turn, Called) and turn.does in {"read", "write"}
            for path in turn.paths
        }
        for call in reversed(calls):
            for path in call.paths if not call.failed and call.output is not None else ():
                if path not in excerpts:
                    excerpts.add(path)
                    if call.does != "delete":
                        yield path, _last_text(call, path)


def _reads_one(call: Called) -> bool:
    return call.does == "read" and len(call.paths) == 1 and not call.failed


def _call(reader: Called, path: str, number: int) -> ToolCall:
    """Return a call as the agent made it, for another path and without a range of lines."""
    was = reader.paths[0]
    name, value = next(
        (key, each) for key, each in reader.arguments.items() if each in (was, [was])
    )
    arguments = {name: [path] if isinstance(value, list) else path}
    return ToolCall(f"restored-{number}", reader.call.name, json.dumps(arguments))


def _last_text(call: Called, path: str) -> str:
    """Return what a call shows of a file: what was read, or what it says now."""
    if call.does == "read":
        return call.output or ""
    texts = [text for text in call.arguments.values() if isinstance(text, str) and text != path]
    # Of an edit the last text takes the place of the others.
    return texts[-1] if texts else ""


async def _read(
    execute: Callable[[ToolCall], Awaitable[ToolResult]], call: ToolCall, last: str
) -> str:
    """Return the text of a file; empty if it cannot be read, or has not what was known of it."""
    result = await execute(call)
    if result.error is not None or not result.output.strip():
        return ""
    lines = filter(None, map(str.strip, last.split("\n")))
    return result.output if all(line in result.output for line in lines) else ""
