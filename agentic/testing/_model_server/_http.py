"""A model server behind a port of loopback, with the HTTP server of the standard library."""

import contextlib
import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Protocol

from agentic.errors import ConfigError

__all__ = ["listen"]


class _Answers(Protocol):
    def post(self, path: str, body: Any, headers: Any = None) -> Any: ...


@contextlib.contextmanager
def listen(server: _Answers) -> Iterator[str]:
    """Serve inside the block, and give the base URL."""
    http = _Server(("127.0.0.1", 0), _Handler)
    http.answers = server
    thread = threading.Thread(target=http.serve_forever, args=(0.01,), daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{http.server_address[1]}"
    finally:
        http.shutdown()
        thread.join()
        http.server_close()


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    answers: _Answers


class _Handler(BaseHTTPRequestHandler):
    """Hands each request to the model server, and sends its answer."""

    protocol_version = "HTTP/1.1"  # clients keep their connection
    # Headers and body are two writes, and the second would wait for the first one's receipt.
    disable_nagle_algorithm = True
    server: _Server

    def do_POST(self) -> None:
        """Answer a request."""
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        try:
            reply = self.server.answers.post(self.path, json.loads(body), dict(self.headers))
        except (ConfigError, ValueError) as problem:
            self._send(404, "application/json", json.dumps({"error": str(problem)}).encode())
            return
        if reply.events:
            self._send(reply.status, "text/event-stream", reply.sse())
        else:
            self._send(reply.status, "application/json", json.dumps(reply.body).encode())

    def _send(self, status: int, kind: str, body: bytes) -> None:
        # A client may leave before its answer, as when a summary is not needed any more.
        with contextlib.suppress(ConnectionError):
            self.send_response(status)
            self.send_header("Content-Type", kind)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

    def log_message(self, *_: Any) -> None:
        """Log nothing: the server's own report says more."""
