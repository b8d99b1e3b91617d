"""A whole coding agent in one file: read it in ten minutes, copy it, make it yours.

Run `python examples/mono-like "read README.md then run ls"`, or without a request for a prompt.
`--session work.jsonl` keeps the conversation and resumes it; `--window 6000` is a small window.
With OPENAI_BASE_URL or OPENAI_API_KEY set, it asks that endpoint (OPENAI_MODEL names the model);
otherwise an offline decider understands a handful of plain requests and drives the same tools.
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
from typing import Any

from agentic import events, history, limits, loop, tokens, tools, truncate, usage
from agentic.context import budget, compactors
from agentic.errors import AgenticError, ContextOverflow, RequestFailed
from agentic.messages import Message, ToolCall, ToolFailure, ToolResult
from agentic.tools import tool
from agentic.usage import StopReason as Stop

OPENAI = "https://api.openai.com/v1"
PROMPT = "You are a coding agent. Look before you change things, and run what you changed."


class Workspace:
    """The four tools. What `bash` cuts off stays in a file in `spill`, and the model is told so."""

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

    def write(self, path: str, content: str) -> str:
        """Write a text file, and make its folders."""
        Path(path).parent.mkdir(parents=True, exist_ok=True)
        Path(path).write_bytes(content.encode())
        return f"wrote {len(content)} characters to {path}"

    def edit(self, path: str, old: str, new: str) -> str:
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
            failure = ToolFailure(f"exit status {code}") if code else None
        except TimeoutError:
            failure = ToolFailure(f"stopped after {timeout_seconds} seconds", "timeout")
        finally:
            output.close()
            with contextlib.suppress(ProcessLookupError):  # what it left in the background
                os.killpg(process.pid, signal.SIGKILL)
        shown = output.result()
        if not shown.truncated:
            Path(full.name).unlink()
        return ToolResult(output=shown.content, error=failure, notice=shown.notice(full.name))


class Offline:
    """Decides without a model: the request names the steps, and each turn takes one."""

    name = """an offline decider for read PATH [from line N], run COMMAND, find TEXT [in PATH],
write TEXT to PATH, edit PATH: OLD -> NEW, and several of them joined by 'then'"""
    window = 128_000
    steps = {
        "read": r"read (?P<path>\S+)(?: from line (?P<offset>\d+))?",
        "bash": r"run (?P<command>.+)",
        "write": r"write (?P<content>.+) to (?P<path>\S+)",
        "edit": r"edit (?P<path>\S+): (?P<old>.+) -> (?P<new>.+)",
    }

    async def decide(self, request: loop.Input) -> loop.Decision:
        """Take the next step, or report after the last one or a failure."""
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
            if found := re.fullmatch(pattern, step):
                given = {key: value for key, value in found.groupdict().items() if value}
                line = {"offset": int(given["offset"])} if "offset" in given else {}
                return loop.Decision(report, [ToolCall("", name, json.dumps(given | line))])
        return loop.Decision(f"I do not understand {step!r}. I am {self.name}")


class OpenAICompatible:
    """Asks any server that speaks the chat completions protocol."""

    reasons = {"stop": Stop.STOP, "tool_calls": Stop.TOOL, "length": Stop.MAX_TOKENS}
    words = usage.StopWords("the endpoint", reasons | {"content_filter": Stop.CONTENT_FILTER})

    def __init__(self, url: str, key: str) -> None:
        import httpx  # an extra: pip install 'agentic-weave[http]'

        headers = {"Authorization": f"Bearer {key or 'none'}"}
        self.client = httpx.AsyncClient(base_url=url or OPENAI, headers=headers, timeout=600)
        self.unreadable = (httpx.HTTPError, LookupError, TypeError, ValueError)
        self.model = os.environ.get("OPENAI_MODEL", "gpt-4.1-mini")
        self.name = f"{self.model} at {self.client.base_url}"
        self.window = limits.lookup(self.model).context_window

    async def decide(self, request: loop.Input) -> loop.Decision:
        """Send the view, and read the first choice."""
        messages = [{"role": "system", "content": request.system_prompt}]
        messages += [item for message in request.history for item in self.encode(message)]
        keys = ("name", "description", "parameters")
        functions = [{key: getattr(offered, key) for key in keys} for offered in request.tools]
        offers = [{"type": "function", "function": function} for function in functions]
        body = {"model": self.model, "messages": messages, "tools": offers}
        try:
            answer = await self.client.post("chat/completions", json=body)
            if not answer.is_error:
                return self.decode(answer.json())
        except self.unreadable as error:
            raise RequestFailed(self.name, None, repr(error)) from error
        if re.search("context.{0,20}(length|size|window)|too many tokens", answer.text):
            raise ContextOverflow(self.model, None, self.window)
        raise RequestFailed(self.name, answer.status_code, answer.text[:500])

    def decode(self, answer: dict[str, Any]) -> loop.Decision:
        """Read the first choice, and what it cost."""
        choice, counts = answer["choices"][0], answer.get("usage") or {}
        reply, word = choice["message"], choice.get("finish_reason")
        calls = reply.get("tool_calls") or []
        return loop.Decision(
            reply.get("content") or "",
            [ToolCall(c["id"], c["function"]["name"], c["function"]["arguments"]) for c in calls],
            usage.Usage(counts.get("prompt_tokens"), counts.get("completion_tokens")),
            self.words.reason(word, has_tool_calls=bool(calls)),
            stop_word=word or "",
        )

    def encode(self, message: Message) -> list[dict[str, Any]]:
        """Write one message as the protocol has it: each tool result is a message of its own."""
        if results := message.tool_results:
            return [{"role": "tool", "tool_call_id": r.call_id, "content": r.text} for r in results]
        wire: dict[str, Any] = {"role": message.role, "content": message.content}
        for call in message.tool_calls:
            function = {"name": call.name, "arguments": call.arguments}
            asked = {"id": call.id, "type": "function", "function": function}
            wire["tool_calls"] = [*wire.get("tool_calls", []), asked]
        return [wire]


def show(_: object, event: events.Event) -> None:
    """Print what happens, as it happens."""
    match event:
        case events.TurnStart(turn=turn, context_tokens=size):
            print(f"[turn {turn}: {size:,} tokens]")
        case events.MessageEnd(message=message) if message.role == "assistant":
            print(message.content)
        case events.ToolExecutionStart(call=call):
            print(f"  {call.name} {call.arguments:.90}")
        case events.ToolExecutionEnd(result=result, seconds=seconds):
            failed = f"Failed: {result.error.message}." if result.error else ""
            print(f"  {len(result.output):,} characters in {seconds:.1f} s.", failed, result.notice)
        case events.ContextCompactionEnd(tokens_before=before, tokens_after=after, error=error):
            print(f"  {error}" if error else f"  compacted: {before:,} -> {after:,} tokens")


def make_agent(decider: loop.Decider, store: history.Rewriter, window: int) -> loop.Runner:
    """Put the parts together."""
    digest = compactors.Digest(max_tokens=max(1, window // 8))
    max_bytes = min(51_200, max(1, window or 51_200))  # a quarter of the window, 0 being none
    work = Workspace(max_bytes, Path(tempfile.mkdtemp(prefix="mono-like-")))
    return loop.Runner(
        decider,
        tools.Registry(tool(work.read), tool(work.write), tool(work.edit), tool(work.bash)),
        store=store,
        budget=budget.Manager(tokens.CharCounter(), digest, budget.Policy(window)),
        truncation=truncate.Options(max_bytes=max_bytes),
        system_prompt=PROMPT,
    )


def talk(request: str, session: str | None, window: int | None) -> None:
    """Serve one request, or ask for requests until there is none."""
    url, key = (os.environ.get(f"OPENAI_{name}", "") for name in ("BASE_URL", "API_KEY"))
    decider = OpenAICompatible(url, key) if url or key else Offline()
    store = history.JsonlStore(session) if session else history.MemoryStore()
    agent = make_agent(decider, store, decider.window if window is None else window)
    print(f"mono-like, with {decider.name}")
    with asyncio.Runner() as runner:
        if known := runner.run(store.load()):
            print(f"Resuming session {session}: {len(known)} messages in history")
        for line in [request] if request else iter(lambda: input("> ").strip(), ""):
            runner.run(agent.run(line))
        runner.run(store.aclose())


def main() -> None:
    """Read the command line. A user's mistake is one sentence, not a traceback."""
    parser = argparse.ArgumentParser("mono-like", description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("request", nargs="*", help="what to do; without it, a prompt")
    parser.add_argument("--window", type=int, help="the context window, in tokens")
    parser.add_argument("--session", help="a file that keeps the conversation")
    given = parser.parse_args()
    for happening in events.signals.values():
        happening.connect(show)
    try:
        talk(" ".join(given.request), given.session, given.window)
    except (AgenticError, ImportError, OSError) as error:
        sys.exit(f"mono-like: {error}")
    except (EOFError, KeyboardInterrupt):
        print()


if __name__ == "__main__":
    main()
