"""A chat from the command line to its end."""

import asyncio
import contextlib
import secrets
import shlex
import sys
from collections.abc import Generator, Iterable, Iterator, Sequence
from datetime import datetime

import attrs
import click
from rich.cells import cell_len

from agentic._base import _imports
from agentic.app import config
from agentic.app.chat._input import ChatApprover, PlainPrompt, Prompt, read_pipe
from agentic.app.chat._models import choose_model, find_choices, model_name, new_agent
from agentic.app.chat._screen import Screen, describe_size
from agentic.app.chat._session import ChatSession, Outcome, blaming
from agentic.app.chat._slash import SLASHES, Quit, run_command
from agentic.app.cli._output import clip, count_of, is_capable, print_warnings, printable
from agentic.app.cli._place import SessionPlace, find_agent
from agentic.app.cli._stdio import captured_stdio
from agentic.app.config._load import list_agents
from agentic.messages import Message, split_rounds

_PATIENCE_SECONDS = 5
"""How long stopped work may take to end."""
_EXCHANGE_WIDTH = 300
"""The characters of a request, and of a reply, that a resumed chat begins with."""
_REMEMBERED = 100
"""The number of earlier requests that the arrow keys bring back."""


def run_chat(
    *, name: str, session_id: str | None, resume: bool, model: str | None, plain: bool
) -> int:
    """Do what the command line says, and return its exit status."""
    if session_id is not None and resume:
        raise click.UsageError("--session names a session, --resume takes the latest: choose one")
    start = _Start.of(name, model)
    with contextlib.ExitStack() as stack:
        if model is not None:
            stack.enter_context(blaming("--model"))
        loop = stack.enter_context(asyncio.Runner())
        door = _Door.open(stack, plain=plain)
        stack.enter_context(print_warnings(door.screen.warn))
        if resume:
            session_id = loop.run(SessionPlace(start.arguments[-1], start.agent).find(None))
        session_id = _new_id() if session_id is None else session_id
        talk = loop.run(ChatSession.begin(start.agent, session_id, door.screen, door.approver))
        door.talk = talk
        try:
            loop.run(_greet(talk, door.prompt))
            signal_number = _serve(talk, loop, door.lines(loop))
        finally:
            loop.run(talk.end())
        loop.run(_print_resume_hint(talk, start.arguments))
    if signal_number:
        raise click.Abort
    return 1 if talk.has_failed and not door.screen.is_terminal else 0


@attrs.frozen
class _Start:
    """Whom to talk with, and how the command line names it."""

    agent: config.AgentConfig
    arguments: list[str]

    @classmethod
    def of(cls, name: str, model: str | None) -> "_Start":
        if name:
            agent = find_agent(name)
            return cls(agent if model is None else choose_model(agent, model), [name])
        if model is not None:
            return cls(new_agent(model), ["--model", model])
        agents = list_agents()
        if len(agents) == 1:
            (only,) = agents
            return cls(find_agent(only), [only])
        return cls._chosen(list(agents))

    @classmethod
    def _chosen(cls, agents: list[str]) -> "_Start":
        # Servers are asked only where no agent has a file, since that may take a moment.
        choices = [] if agents else find_choices()
        names = [*agents, *(each.model for each in choices)]
        if not _is_terminal():
            raise click.UsageError(
                "Missing argument 'AGENT', which cannot be asked for in a pipe: name one, or "
                f"a model with --model; there are {printable(', '.join(names))}"
            )
        lines = ["agents"] * len(agents) + [each.told for each in choices]
        click.echo("Whom do you want to talk with?")
        for number, (each, what) in enumerate(zip(names, lines, strict=True), 1):
            click.echo(printable(f"  {number}  {each} ({what})"))
        name = names[click.prompt("Number", type=click.IntRange(1, len(names)), default=1) - 1]
        return cls.of(name, None) if agents else cls.of("", name)


@attrs.define(eq=False)
class _Door:
    """Where requests come in and replies go out."""

    screen: Screen
    prompt: Prompt | None = None
    """Where a user types; None in a pipe."""
    piped: Iterable[bytes] = ()
    talk: ChatSession | None = None

    @classmethod
    def open(cls, stack: contextlib.ExitStack, *, plain: bool) -> "_Door":
        """Return the door of a terminal or of a pipe."""
        if _is_terminal():
            door = cls(Screen(is_terminal=True))
            if plain or not is_capable():
                door.prompt = PlainPrompt(SLASHES)
            else:
                door._draw()
            return door
        if sys.stdin is None:
            raise click.UsageError("stdin is closed: there is nothing to read requests from")
        stdio = stack.enter_context(captured_stdio())
        return cls(Screen(is_terminal=False, stdout=stdio.out), piped=stdio.source)

    def _draw(self) -> None:
        """Edit what is typed, and render what is replied."""
        try:
            # Imported here: it takes as long as everything else that a chat needs.
            with _imports.quietly():
                from agentic.app.chat._terminal import TerminalPrompt  # noqa: PLC0415

            self.screen.make_live()
        except ModuleNotFoundError as absent:
            remedy = f"{_imports.pip_install('agentic-weave[cli]')}, or add --plain"
            raise ImportError(f"a chat in a terminal needs {absent.name}: {remedy}") from absent
        self.prompt = TerminalPrompt(SLASHES, self.status)

    @property
    def approver(self) -> ChatApprover | None:
        """Who is asked before a tool runs; nobody in a pipe."""
        if self.prompt is None:
            return None
        return ChatApprover(self.screen, self.prompt, self.stop)

    def lines(self, loop: asyncio.Runner) -> Generator[str, None, None]:
        """Yield the requests."""
        return read_pipe(self.piped) if self.prompt is None else self.prompt.lines(loop)

    def stop(self) -> None:
        """Stop what the chat does, as Ctrl-C would."""
        if self.talk is not None:
            self.talk.stop()

    def status(self) -> str:
        """Return the line below the prompt, shortened to the width of the screen."""
        if self.talk is None or self.talk.status is None:
            return ""
        parts = [describe_size(self.talk.status), self.talk.spending.describe()]
        parts.append(printable(model_name(self.talk.agent)))
        texts = [part for part in parts if part]
        # From the end: how full the context is matters most.
        while len(texts) > 1 and cell_len(" · ".join(texts)) > self.screen.out.width:
            texts.pop()
        return " · ".join(texts)


def _is_terminal() -> bool:
    return sys.stdin is not None and sys.stdin.isatty() and sys.stdout.isatty()


def _serve(talk: ChatSession, loop: asyncio.Runner, lines: Generator[str, None, None]) -> bool:
    """Process the lines one by one; return whether Ctrl-C ended a pipe or a blocking call."""
    # However it ends, this turns the echo of the terminal on again.
    with contextlib.closing(lines):
        for line in lines:
            try:
                loop.run(_take(talk, line))
            except Quit:
                break
            except SystemExit:
                _settle(loop)
                talk.screen.warn("sys.exit() was called instead of a reply: the chat continues.")
                continue
            except KeyboardInterrupt:
                _settle(loop)
                return True
            if talk.was_stopped and not talk.screen.is_terminal:
                return True
    return False


def _settle(loop: asyncio.Runner) -> None:
    # An exception that ends `run` leaves its tasks in the loop, which serves the next line, too.
    tasks = asyncio.all_tasks(loop.get_loop())
    for task in tasks:
        task.cancel()
    if tasks:
        loop.run(asyncio.wait(tasks, timeout=_PATIENCE_SECONDS))


async def _take(talk: ChatSession, line: str) -> None:
    talk.was_stopped = False
    if not await run_command(talk, line):
        await talk.ask(line)


async def _greet(talk: ChatSession, prompt: Prompt | None) -> None:
    greeting = await talk.session.greeting()
    if not greeting:
        talk.screen.note(f"New session {talk.session.session_id}. /help lists the commands.")
        return
    talk.screen.note(greeting)
    if talk.status is not None and (summary := talk.status.ignored_summary) is not None:
        number = count_of(summary.messages_summarized, "message")
        talk.screen.warn(f"A summary of {number} is ignored: it points past the history.")
    messages = await talk.session.store.full()
    talk.outcomes = _outcomes(messages)
    if prompt is not None:
        for line in _last_exchange(await talk.session.store.load()):
            talk.screen.note(line)
        requests = [each.content for each in messages if each.role == "user"]
        prompt.remember(each for each in requests[-_REMEMBERED:] if printable(each) == each)


def _last_exchange(messages: Sequence[Message]) -> Iterator[str]:
    """Yield the latest request and the latest reply after it, each in a line."""
    request = max((at for at, each in enumerate(messages) if each.role == "user"), default=None)
    if request is None:
        return
    yield f"> {clip(messages[request].content, _EXCHANGE_WIDTH)}"
    replies = (each.content for each in messages[request:] if each.role == "assistant")
    if reply := "".join(list(filter(None, replies))[-1:]):
        yield clip(reply, _EXCHANGE_WIDTH)


def _outcomes(messages: list[Message]) -> list[Outcome]:
    """Return the tool calls that were answered, with their results, in the order of the calls."""
    outcomes: list[Outcome] = []
    for each in split_rounds(messages):
        # By rounds, because imported sessions may use an id again.
        results = {one.call_id: one for message in each.messages for one in message.tool_results}
        outcomes += [Outcome(one, results[one.id]) for one in each.tool_calls if one.id in results]
    return outcomes


async def _print_resume_hint(talk: ChatSession, arguments: list[str]) -> None:
    if not talk.screen.is_terminal or talk.agent.store.kind == "memory":
        return
    if await talk.session.store.full():
        words = [*arguments, "--session", talk.session.session_id]
        talk.screen.note(f"To continue: {shlex.join(['agentic', 'chat', *words])}")


def _new_id() -> str:
    # The day first, so that a listing of the files is in order; few digits, since one types them.
    return f"{datetime.now().astimezone():%Y-%m-%d}-{secrets.token_hex(3)}"
