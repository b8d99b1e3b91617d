"""What the tests of several rooms need: real material, local servers, a conversation that grows."""

import asyncio
import functools
import json
import selectors
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Iterator
from contextlib import (
    AbstractAsyncContextManager,
    AbstractContextManager,
    ExitStack,
    asynccontextmanager,
    contextmanager,
)
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

import attrs
import pytest
from jinja2.exceptions import TemplateError
from jinja2.sandbox import ImmutableSandboxedEnvironment

from agentic.messages import Message, ToolCall, ToolResult

if TYPE_CHECKING:
    from aiohttp import web

Handler: TypeAlias = "Callable[[web.Request], Awaitable[web.StreamResponse]]"

# Templates of our own, with the checks of two others: lines 83-86 of
# https://huggingface.co/Qwen/Qwen3.5-27B/blob/main/chat_template.jinja, and those that
# https://github.com/anomalyco/opencode/issues/5034 quotes of Ministral's and Devstral's (2026-11).
_CHAT_TEMPLATES = {
    "qwen": """
{%- for m in messages %}
{%- if m.role == "system" and not loop.first %}
{{- raise_exception("System message must be at the beginning.") }}
{%- endif %}
<{{ m.role }}>{{ text_of(m) }}
{%- endfor %}
""",
    "mistral": """
{%- set rest = messages[1:] if messages[0].role == "system" else messages %}
{%- if messages[0].role == "system" %}<system>{{ text_of(messages[0]) }}{% endif %}
{%- set turns = namespace(n=0) %}
{%- for m in rest %}
{%- if m.role == "user" or (m.role == "assistant" and not m.tool_calls) %}
{%- if (m.role == "user") != (turns.n % 2 == 0) %}
{{- raise_exception("conversation roles must alternate user and assistant roles") }}
{%- endif %}
{%- set turns.n = turns.n + 1 %}
{%- elif m.role not in ("assistant", "tool") %}
{{- raise_exception("Only user, assistant and tool roles are supported") }}
{%- endif %}
<{{ m.role }}>{{ text_of(m) }}
{%- endfor %}
""",
}


@pytest.fixture(scope="session")
def recorded_path() -> Callable[[str], Path]:
    """Return what finds a file or folder of real material, which lies beside the checkout."""
    data = Path(__file__).resolve().parents[2] / "shared" / "data"

    def find(name: str) -> Path:
        if not (data / name).exists():
            pytest.skip(f"{name} does not lie beside this checkout")
        return data / name

    return find


@pytest.fixture(scope="session")
def read_lines() -> Callable[[Path], list[Any]]:
    """Return what reads a file of JSON lines."""

    def read(path: Path) -> list[Any]:
        # Not splitlines(): a JSON string may hold the other ends of lines that it knows.
        return [json.loads(line) for line in path.read_text("utf-8").split("\n") if line]

    return read


@pytest.fixture(scope="session")
def growth() -> Callable[[Callable[[int], object], int], float]:
    """Return how many times longer something takes for four times as much: linear 4, square 16.

    It is the least of five ratios: a busy machine makes one of them too large, a square all.
    """

    def seconds(run: Callable[[int], object], size: int) -> float:
        began = time.process_time()
        run(size)
        return time.process_time() - began

    def measure(run: Callable[[int], object], size: int) -> float:
        ratios = (
            min(seconds(run, 4 * size) for _ in "abc") / min(seconds(run, size) for _ in "abc")
            for _ in range(5)
        )
        least = next(ratios)
        while least >= 8 and (another := next(ratios, None)) is not None:
            least = min(least, another)
        return least

    return measure


@pytest.fixture(scope="session")
def count_calls() -> Callable[[Callable[[], object]], int]:
    """Return how many functions a program calls, of Python and of C: the same on every machine."""

    def count(run: Callable[[], object]) -> int:
        calls = 0

        def note(_: object, event: str, __: object) -> None:
            nonlocal calls
            calls += event in {"call", "c_call"}

        before = sys.getprofile()
        sys.setprofile(note)
        try:
            run()
        finally:
            sys.setprofile(before)
        return calls

    return count


@pytest.fixture
def idle_clock(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let time pass only while an event loop waits, and then at once.

    What a program does takes no time by this clock, however busy the machine is: a limit of a tenth
    of a second is exceeded by waiting for longer, and by nothing else. Other threads keep the real
    time: the loop of a server that waits by a clock that stands still would not wake again.
    """
    now, real, owner = 1_000.0, time.monotonic, threading.get_ident()

    class Selector(selectors.DefaultSelector):
        def select(self, timeout: float | None = None) -> Any:
            nonlocal now
            if threading.get_ident() != owner:
                return super().select(timeout)
            ready = super().select(0 if timeout else timeout)
            # A turn takes some time, as what is left of a limit may be a rounding error.
            now += (timeout or 0.0) + 1e-6 if not ready else 1e-6
            return ready

    monkeypatch.setattr(
        time, "monotonic", lambda: now if threading.get_ident() == owner else real()
    )
    monkeypatch.setattr(selectors, "DefaultSelector", Selector)
    # From Python 3.12 on, a loop that is closed gives its threads 300 seconds, of this clock.
    monkeypatch.setattr(asyncio.constants, "THREAD_JOIN_TIMEOUT", None, raising=False)


class CountingCounter:
    """Counts characters, and how often it was asked for each text."""

    def __init__(self) -> None:
        self.asked: Counter[str] = Counter()

    def count(self, text: str, /) -> int:
        """Return the number of characters."""
        self.asked[text] += 1
        return len(text)


@pytest.fixture
def counter() -> CountingCounter:
    """Return a counter of characters that knows what it was asked, in `asked`."""
    return CountingCounter()


@pytest.fixture(scope="session")
def serving() -> Callable[[Handler], AbstractAsyncContextManager[str]]:
    """Return what serves on 127.0.0.1, in the event loop of its caller, and yields the address."""
    return _serving


@pytest.fixture(scope="session")
def serving_apart() -> Callable[[Handler], AbstractContextManager[str]]:
    """Return the same in a thread, so that a test may run event loops as it likes."""
    return _serving_apart


@asynccontextmanager
async def _serving(handler: Handler) -> AsyncIterator[str]:
    from aiohttp import web  # noqa: PLC0415  not every test environment has it

    application = web.Application(client_max_size=2**26)
    application.router.add_route("*", "/{path:.*}", handler)
    runner = web.AppRunner(application, shutdown_timeout=0.1)
    await runner.setup()
    try:
        await web.TCPSite(runner, "127.0.0.1", 0).start()
        yield f"http://127.0.0.1:{runner.addresses[0][1]}"
    finally:
        await runner.cleanup()


@contextmanager
def _serving_apart(handler: Handler) -> Iterator[str]:
    loop, started, stop = asyncio.new_event_loop(), threading.Event(), asyncio.Event()
    address = ""

    async def serve() -> None:
        nonlocal address
        async with _serving(handler) as address:
            started.set()
            await stop.wait()

    thread = threading.Thread(target=loop.run_until_complete, args=(serve(),), daemon=True)
    thread.start()
    assert started.wait(60)
    try:
        yield address
    finally:
        loop.call_soon_threadsafe(stop.set)
        thread.join(60)
        loop.close()


@attrs.define
class AnsweringServer:
    """Answers in turn; a list is a stream of events, a pair a status and a body.

    The answer `{}` never comes. An event `"drop"` cuts the connection.
    """

    make_client: Callable[..., Any]
    """Returns a client, given the address."""
    answers: list[Any]
    requests: list[dict[str, Any]] = attrs.field(factory=list)
    asked: threading.Event = attrs.field(factory=threading.Event)
    url: str = ""

    def connect(self, *args: Any, **options: Any) -> Any:
        """Return a client of this server."""
        return self.make_client(self.url, *args, **options)

    async def handle(self, request: "web.Request") -> "web.StreamResponse":
        """Return the next answer; the last one again and again."""
        from aiohttp import web  # noqa: PLC0415  not every test environment has it

        self.requests.append(await request.json())
        self.asked.set()
        answer = self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]
        if answer == {}:
            await asyncio.sleep(3600)
        # Kept alive, a connection would outlive the event loop of its test.
        if isinstance(answer, list):
            headers = {"Content-Type": "text/event-stream", "Connection": "close"}
            response = web.StreamResponse(headers=headers)
            await response.prepare(request)
            return await _send_events(request, response, answer)
        status, body = answer if isinstance(answer, tuple) else (200, answer)
        return web.json_response(body, status=status, headers={"Connection": "close"})


async def _send_events(
    request: "web.Request", response: "web.StreamResponse", events: list[Any]
) -> "web.StreamResponse":
    for event in events:
        if event == "drop":
            assert request.transport is not None
            request.transport.abort()
            return response
        text = event if isinstance(event, str) else f"data: {json.dumps(event)}"
        if isinstance(event, dict) and "type" in event:
            text = f"event: {event['type']}\n{text}"
        await response.write(f"{text}\n\n".encode())
    return response


@pytest.fixture
def serve_in_turn(
    serving_apart: Callable[..., AbstractContextManager[str]],
) -> Iterator[Callable[..., Callable[..., AnsweringServer]]]:
    """Return what starts such servers, given what makes a client of an address."""
    with ExitStack() as stack:

        def start(make_client: Callable[..., Any], *answers: Any) -> AnsweringServer:
            server = AnsweringServer(make_client, list(answers))
            server.url = stack.enter_context(serving_apart(server.handle))
            return server

        yield lambda make_client: functools.partial(start, make_client)


@pytest.fixture
def write(tmp_path: Path) -> Callable[..., Path]:
    """Write JSON values into a file, one a line; bytes as they are."""

    def written(lines: Iterable[Any] | bytes, name: str = "session.jsonl") -> Path:
        path = tmp_path / name
        if not isinstance(lines, bytes):
            lines = b"".join(json.dumps(line).encode() + b"\n" for line in lines)
        path.write_bytes(lines)
        return path

    return written


@pytest.fixture
def talk() -> Callable[..., list[Message]]:
    """Make a conversation: a system prompt, a task, and turns that read a file each."""

    def make(turns: int, *, words: int = 200) -> list[Message]:
        messages = [Message("system", "You mend code."), Message("user", "Mend src/parser_0.py.")]
        for number in range(turns):
            path = f"src/parser_{number}.py"
            output = f"{path} imports src/parser_{number + 1}.py\n" + "def parse(text):\n" * words
            call = ToolCall(f"c{number}", "read", json.dumps({"path": path}))
            messages += [
                Message("assistant", f"I read {path}.", tool_calls=[call]),
                Message("tool", tool_results=[ToolResult(call.id, "read", output)]),
            ]
        return [*messages, Message("assistant", "Done.")]

    return make


@pytest.fixture(scope="session")
def run_python() -> Callable[[str], str]:
    """Run a program in an interpreter of its own, and return what it printed."""

    def run(program: str) -> str:
        command = [sys.executable, "-c", program]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
        return done.stdout.strip()

    return run


@pytest.fixture(scope="session")
def remedy() -> Callable[[str], str]:
    """Return the line by which a message says how an extra is installed: from this checkout."""
    root = Path(__file__).resolve().parents[1]
    return lambda extra: f"pip install -e '{root}[{extra}]'"


@pytest.fixture(scope="session")
def render_chat() -> Callable[[str, list[Any]], str]:
    """Return what renders messages of Chat Completions by a template, as vLLM and others do it.

    The template raises for what it does not accept.
    """

    def refuse(reason: str) -> None:
        raise TemplateError(reason)

    def text_of(item: Any) -> str:
        content = item["content"]
        return content if isinstance(content, str) else "\n".join(part["text"] for part in content)

    def render(name: str, messages: list[Any]) -> str:
        environment = ImmutableSandboxedEnvironment()
        environment.globals |= {"raise_exception": refuse, "text_of": text_of}
        return environment.from_string(_CHAT_TEMPLATES[name]).render(messages=messages)

    return render
