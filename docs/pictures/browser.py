"""A headless Chromium, driven by its own protocol: opens pages, looks at them, takes pictures.

https://chromedevtools.github.io/devtools-protocol/. Everything waits at most `PATIENCE_SECONDS`.
"""

import asyncio
import base64
import itertools
import json
import shutil
import subprocess
import tempfile
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import aiohttp
import attrs

PATIENCE_SECONDS = 30.0
FLAGS = (
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--hide-scrollbars",
    "--remote-debugging-port=0",
)


def find_chromium() -> str | None:
    """Find the browser; None where there is none."""
    names = ("chromium", "chromium-browser", "google-chrome")
    return next((path for name in names if (path := shutil.which(name))), None)


@attrs.define
class Browser:
    """One page of one browser. Enter it to start the process, leave it to end it."""

    program: str
    complaints: list[str] = attrs.field(factory=list)
    """What the console said, and what the page asked the network for."""
    # The browser may still write for a moment after it was ended.
    _folder: "tempfile.TemporaryDirectory[str]" = attrs.field(
        factory=lambda: tempfile.TemporaryDirectory(ignore_cleanup_errors=True)
    )
    _runner: asyncio.Runner = attrs.field(factory=asyncio.Runner)
    _process: "subprocess.Popen[bytes] | None" = None
    _client: aiohttp.ClientSession | None = None
    _page: Any = None
    _numbers: "itertools.count[int]" = attrs.field(factory=lambda: itertools.count(1))

    def __enter__(self) -> Self:
        command = [self.program, *FLAGS, f"--user-data-dir={self._folder.name}", "about:blank"]
        self._process = subprocess.Popen(
            command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        )
        self._runner.run(self._connect())
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._runner.run(self._disconnect())
        self._runner.close()
        if self._process is not None:
            self._process.terminate()
            self._process.wait(PATIENCE_SECONDS)
        self._folder.cleanup()

    def open(
        self,
        page: Path,
        *,
        width: int = 1280,
        height: int = 900,
        dark: bool = False,
        media: str = "screen",
    ) -> None:
        """Open a file in a window of a size, or as it would be printed."""
        self.visit(page.resolve().as_uri(), width=width, height=height, dark=dark, media=media)

    def visit(
        self,
        address: str,
        *,
        width: int = 1280,
        height: int = 900,
        dark: bool = False,
        media: str = "screen",
    ) -> None:
        """Open an address."""
        self.complaints.clear()
        features = [{"name": "prefers-color-scheme", "value": "dark" if dark else "light"}]
        self.send("Emulation.setEmulatedMedia", media=media, features=features)
        size = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": False}
        self.send("Emulation.setDeviceMetricsOverride", **size)
        self._runner.run(self._open(address))

    def evaluate(self, expression: str) -> Any:
        """Return the value of an expression in the page, as JSON data."""
        found = self.send("Runtime.evaluate", expression=expression, returnByValue=True)
        if "exceptionDetails" in found:
            raise AssertionError(found["exceptionDetails"])
        return found["result"].get("value")

    def wait(self, condition: str) -> None:
        """Wait until an expression is true, whatever changes the page, or loads it again."""
        script = f"""new Promise(done => {{
            const look = () => ({condition}) ? (watch.disconnect(), done(true)) : false;
            const watch = new MutationObserver(look);
            const all = {{subtree: true, childList: true, characterData: true}};
            look() || watch.observe(document, all);
        }})"""
        for is_last in (False, False, True):
            try:
                reply = self.send("Runtime.evaluate", expression=script, awaitPromise=True)
            except AssertionError as problem:  # the page that was asked is gone
                if is_last or "navigated" not in str(problem):
                    raise
                continue
            if "exceptionDetails" in reply:
                raise AssertionError(reply["exceptionDetails"])
            return

    def point(self, x: float, y: float) -> None:
        """Move the mouse."""
        self.send("Input.dispatchMouseEvent", type="mouseMoved", x=x, y=y)

    def click(self, x: float, y: float) -> None:
        """Press the mouse and let it go."""
        self.point(x, y)
        for kind in ("mousePressed", "mouseReleased"):
            options = {"x": x, "y": y, "button": "left", "clickCount": 1}
            self.send("Input.dispatchMouseEvent", type=kind, **options)

    def press(self, key: str) -> None:
        """Press a key by its name."""
        for kind in ("keyDown", "keyUp"):
            self.send("Input.dispatchKeyEvent", type=kind, key=key, code=key)

    def picture(self) -> bytes:
        """Take a picture of the window, as PNG."""
        return base64.b64decode(self.send("Page.captureScreenshot", format="png")["data"])

    def send(self, method: str, **parameters: Any) -> Any:
        """Call a method of the protocol."""
        return self._runner.run(self._send(method, parameters))

    async def _connect(self) -> None:
        self._client = aiohttp.ClientSession()
        port = await self._port()
        async with self._client.get(f"http://127.0.0.1:{port}/json/list") as reply:
            pages = [page for page in await reply.json() if page["type"] == "page"]
        address = pages[0]["webSocketDebuggerUrl"]
        self._page = await self._client.ws_connect(address, max_msg_size=0)
        for domain in ("Page", "Runtime", "Log", "Network"):
            await self._send(f"{domain}.enable", {})

    async def _disconnect(self) -> None:
        if self._page is not None:
            await self._page.close()
        if self._client is not None:
            await self._client.close()

    async def _port(self) -> str:
        written = Path(self._folder.name, "DevToolsActivePort")
        async with asyncio.timeout(PATIENCE_SECONDS):
            while not (text := _text_of(written)).strip():  # noqa: ASYNC110  of another process
                await asyncio.sleep(0.05)
        return text.split()[0]

    async def _open(self, address: str) -> None:
        await self._send("Page.navigate", {"url": address}, until="Page.loadEventFired")

    async def _send(self, method: str, parameters: dict[str, Any], until: str = "") -> Any:
        """Send, and read what comes until the answer is there, and the event that is waited for."""
        number = next(self._numbers)
        await self._page.send_json({"id": number, "method": method, "params": parameters})
        answer, happened = None, not until
        async with asyncio.timeout(PATIENCE_SECONDS):
            while answer is None or not happened:
                message = json.loads((await self._page.receive()).data)
                self._take_note(message)
                happened |= message.get("method") == until
                if message.get("id") == number:
                    answer = message
        if "error" in answer:
            raise AssertionError(f"{method}: {answer['error']}")
        return answer["result"]

    def _take_note(self, message: dict[str, Any]) -> None:
        method, parameters = message.get("method", ""), message.get("params", {})
        if method in {"Runtime.consoleAPICalled", "Runtime.exceptionThrown", "Log.entryAdded"}:
            self.complaints.append(json.dumps(parameters)[:500])
        if method == "Network.requestWillBeSent":
            address = parameters["request"]["url"]
            if not address.startswith(("file:", "about:", "data:")):
                self.complaints.append(f"asked for {address}")


def _text_of(path: Path) -> str:
    return path.read_text() if path.exists() else ""
