"""A whole coding agent in one file: read it in ten minutes, copy it, make it yours.

Run `python examples/mono-like "read README.md then run ls"`, or without a request for a prompt.
It asks before it writes or runs anything, unless `--yes` is given. `--session work.jsonl` keeps the
conversation and resumes it; `--window 6000` sets a small window.
`--model anthropic:claude-sonnet-4-5` uses that model; any provider in `agentic.providers` works,
and its SDK reads key and address from the environment. Without a model, an offline decider
understands a few simple requests and uses the same tools.
"""

import argparse
import asyncio
import contextlib
import json
import os
import re
import shlex
import signal
import sys
import tempfile
from asyncio.subprocess import DEVNULL, PIPE, STDOUT
from itertools import islice
from pathlib import Path

from agentic import events, history, limits, loop, providers, tokens, tools, truncate
from agentic.context import budget, compactors
from agentic.errors import AgenticError
from agentic.messages import ToolCall, ToolError, ToolResult
from agentic.tools import tool

BYTES_PER_TOKEN = 4  # about as many as in English text and code
PROMPT = "You are a coding agent. Look before you change things, and run what you changed."


class Workspace:
    """The four tools. Output that `bash` cuts off is kept in a file in `spill`; a notice names it.

    The tools of one turn run concurrently, sync functions in threads. `write` and `edit` are async
    but never await, so no two of their calls overlap.
    """

    def __init__(self, max_bytes: int, spill: Path) -> None:
        self.max_bytes, self.spill = max_bytes, spill

    def read(self, path: str, offset: int = 1) -> ToolResult:
        """Read a text file, from the line `offset` on."""
        buffer = truncate.HeadBuffer(max_bytes=self.max_bytes)
        with Path(path).open(errors="replace", newline="\n") as file:
            skipped = sum(1 for _ in islice(file, max(0, offset - 1)))
            while chunk := file.read(65_536):
                buffer.feed(chunk)
        shown = buffer.result()
        if not shown.total_lines and offset > 1:
            raise ValueError(f"{path} has {skipped} lines: read it from a smaller offset")
        last, total = skipped + shown.output_lines, skipped + shown.total_lines
        notice = f"[Lines {offset}-{last} of {total}. Go on with offset={last + 1}.]"
        return ToolResult(output=shown.content, notice=notice if shown.truncated else "")

    async def write(self, path: str, content: str) -> str:
        """Write a text file, and make its folders."""
        Path(path).parent.mkdir(parents=True, exist_ok=True)
        Path(path).write_bytes(content.encode())
        return f"wrote {len(content)} characters to {path}"

    async def edit(self, path: str, old: str, new: str) -> str:
        """Replace a text that stands exactly once in a file."""
        text = Path(path).read_bytes().decode()
        if text.count(old) != 1:
            raise ValueError(f"{old!r} stands {text.count(old)} times in {path}: give more of it")
        Path(path).write_bytes(text.replace(old, new).encode())
        return f"edited {path}"

    async def bash(self, command: str, timeout_seconds: float = 60) -> ToolResult:
        """Run a shell command. The end of a long output is shown, the whole is kept in a file."""
        with tempfile.NamedTemporaryFile(prefix="bash-", dir=self.spill, delete=False) as full:
            output = truncate.TailBuffer(max_bytes=self.max_bytes, spill=full.name)
        process = await asyncio.create_subprocess_shell(
            command, stdin=DEVNULL, stdout=PIPE, stderr=STDOUT, start_new_session=True
        )
        try:
            async with asyncio.timeout(timeout_seconds):
                while chunk := await process.stdout.read(65_536):  # type: ignore[union-attr]
                    output.feed(chunk)
                code = await process.wait()
            failure = ToolError(f"exit status {code}") if code else None
        except TimeoutError:
            failure = ToolError(f"stopped after {timeout_seconds} seconds", "timeout")
        finally:
            output.close()
            with contextlib.suppress(ProcessLookupError):  # background processes that it left
                os.killpg(process.pid, signal.SIGKILL)
        shown = output.result()
        if not shown.truncated:
            Path(full.name).unlink()
        return ToolResult(output=shown.content, error=failure, notice=shown.notice(full.name))


class Ask:
    """Asks at the keyboard whether a call may run. Anything but yes is a no."""

    async def approve(self, call: ToolCall, _: tools.ToolDefinition, /) -> tools.Approval:
        """Show the whole call, and return the answer."""
        try:
            question = f"  {call.name} {call.arguments!r}\n  Run it? [y/N] "
            answer = input(question)  # noqa: ASYNC250  one question at a time
        except EOFError:  # nobody is there to answer
            answer = ""
        return tools.Approval(answer.strip().lower() in {"y", "yes"}, "the user did not allow it")


class Offline:
    """Decides without a model: the request names the steps, and each turn carries out one."""

    name = """an offline decider for read PATH [from line N], run COMMAND, find TEXT [in PATH],
write TEXT to PATH, edit PATH: OLD -> NEW, and several of them joined by 'then'"""
    steps = {
        "read": r"read (?P<path>\S+)(?: from line (?P<offset>\d+))?",
        "bash": r"run (?P<command>.+)",
        "write": r"write (?P<content>.+) to (?P<path>\S+)",
        "edit": r"edit (?P<path>\S+): (?P<old>.+) -> (?P<new>.+)",
    }

    def limits(self) -> limits.ModelLimits:
        """Return limits like those of a model."""
        return limits.ModelLimits(128_000, 0)

    async def decide(self, request: loop.Input) -> loop.Decision:
        """Carry out the next step, or report after the last one or a failure."""
        steps = re.split(r"\s+then\s+", request.user_message.strip())
        if failed := [result.error for result in request.tool_results if result.error]:
            return loop.Decision(f"Step {request.turn - 1} failed: {failed[0].message}")
        if request.turn > len(steps):
            return loop.Decision(f"Done, all of {len(steps)}.")
        step = steps[request.turn - 1]
        report = f"Step {request.turn} of {len(steps)}: {step}"
        if sought := re.fullmatch(r"find (.+?)(?: in (\S+))?", step):
            text, place = shlex.quote(sought[1]), shlex.quote(sought[2] or ".")
            step = f"run grep -rnI --exclude-dir='.?*' -- {text} {place} || echo it is nowhere"
        for name, pattern in self.steps.items():
            if match := re.fullmatch(pattern, step):
                arguments = {key: value for key, value in match.groupdict().items() if value}
                line = {"offset": int(arguments["offset"])} if "offset" in arguments else {}
                return loop.Decision(report, [ToolCall("", name, json.dumps(arguments | line))])
        return loop.Decision(f"I do not understand {step!r}. I am {self.name}")


class Screen:
    """Prints events as they happen."""

    streamed = False

    def show(self, _: object, event: events.Event) -> None:
        """Print one event."""
        match event:
            case events.TurnStart(turn=turn, context_tokens=size):
                print(f"[turn {turn}: {size:,} tokens]")
            case events.MessageUpdate(delta=delta):
                print(delta, end="", flush=True)
                self.streamed = True
            case events.MessageEnd(message=message) if message.role == "assistant":
                print("" if self.streamed else message.content)
                self.streamed = False
            case events.ToolExecutionStart(call=call):
                print(f"  {call.name} {call.arguments:.90}")
            case events.ToolExecutionEnd(result=result, seconds=seconds):
                failed = f"Failed: {result.error.message}." if result.error else ""
                size = len(result.output)
                print(f"  {size:,} characters in {seconds:.1f} s.", failed, result.notice)
            case events.ContextCompactionEnd(tokens_before=before, tokens_after=after, error=error):
                why = error or event.declined
                print(f"  {why}" if why else f"  compacted: {before:,} -> {after:,} tokens")
            case events.AgentEnd(incomplete=why) if why:
                print(f"  {why}")


def make_agent(
    decider: loop.Decider,
    store: history.Rewriter,
    window: int,
    counter: tokens.Counter,
    *,
    ask: bool,
) -> loop.Runner:
    """Return the agent."""
    digest = compactors.Digest(max_tokens=max(1, window // 8), counter=counter)
    quarter_of_window = window * BYTES_PER_TOKEN // 4
    max_bytes = min(51_200, max(1, quarter_of_window or 51_200))  # a window of 0 has no budget
    work = Workspace(max_bytes, Path(tempfile.mkdtemp(prefix="mono-like-")))
    registry = tools.Registry(tool(work.read), tool(work.write), tool(work.edit), tool(work.bash))
    asking = tools.RequireApproval(registry, Ask(), needs=["write", "edit", "bash"])
    return loop.Runner(
        decider,
        asking if ask else registry,
        store=store,
        budget=budget.Manager(counter, digest, budget.Policy(window)),
        truncation=truncate.Options(max_bytes=max_bytes),
        system_prompt=PROMPT,
    )


def talk(
    request: str, model: str | None, session: str | None, window: int | None, *, ask: bool
) -> None:
    """Serve one request, or prompt for requests until an empty line."""
    decider = providers.connect(model) if model else Offline()
    store = history.JsonlStore(session) if session else history.MemoryStore()
    own = decider.limits()
    counter = tokens.for_model(model.partition(":")[2]) if model else tokens.EstimateCounter()
    size = own.context_window if window is None else window
    agent = make_agent(decider, store, size, counter, ask=ask)
    print(f"mono-like, with {decider.name}")
    if window is None and not own.known:
        print(f"Its window is unknown: {size:,} tokens are assumed. --window sets another.")
    with asyncio.Runner() as runner:
        if past := runner.run(store.load()):
            print(f"Resuming session {session}: {len(past)} messages in history")
        for line in [request] if request else iter(lambda: input("> ").strip(), ""):
            runner.run(agent.run(line))
        runner.run(store.aclose())


def main() -> None:
    """Run the command line. A user's mistake results in one sentence, not a traceback."""
    parser = argparse.ArgumentParser("mono-like", description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("request", nargs="*", help="what to do; without it, a prompt")
    parser.add_argument("--model", help="PROVIDER:NAME, such as openai_chat:gpt-4.1")
    parser.add_argument("--window", type=int, help="the context window, in tokens")
    parser.add_argument("--session", help="a file that keeps the conversation")
    parser.add_argument("--yes", action="store_true", help="write and run without asking")
    options = parser.parse_args()
    request = " ".join(options.request)
    screen = Screen()
    for happening in events.signals.values():
        happening.connect(screen.show)
    try:
        talk(request, options.model, options.session, options.window, ask=not options.yes)
    except (AgenticError, ImportError, OSError) as error:
        sys.exit(f"mono-like: {error}")
    except (EOFError, KeyboardInterrupt):
        print()


if __name__ == "__main__":
    main()
