"""A server without the SDK, which does what an SDK's server does not: `odd_server.py MODE`.

paged: lists one tool a page. mute: answers nothing. stubborn: ignores the end of its stdin, and
SIGTERM. loud: writes what is no JSON to stdout. vague: fails without a reason, and refuses a call
with a JSON-RPC error. echo: returns the result that its arguments contain. brief: speaks the
protocol of 2026-07-28, lists its tools for 0.3 seconds, does not report changes, and notes each
listing. polled: the same protocol; a call is asked for 40 times before it has its result.
"""

import json
import os
import signal
import sys
import time
from pathlib import Path
from typing import Any

MODE = sys.argv[1]
COMPLETE = {"resultType": "complete", "ttlMs": 0, "cacheScope": "private"}
NAMES = ["first", "second/third", "fourth"]


class Refused(Exception):
    """Becomes a JSON-RPC error."""


def _tools(cursor: str | None) -> dict[str, Any]:
    at = int(cursor or 0)
    page: dict[str, Any] = {"tools": [{"name": NAMES[at], "inputSchema": {"type": "object"}}]}
    if at + 1 < len(NAMES):
        page["nextCursor"] = str(at + 1)
    return page


def _call(name: str, arguments: dict[str, Any], state: str | None) -> dict[str, Any]:
    polls = int(state or 0)
    if MODE == "polled" and polls < 40:
        return {"resultType": "input_required", "requestState": str(polls + 1)}
    if MODE == "polled":
        return {"content": [{"type": "text", "text": f"after {polls} polls"}], **COMPLETE}
    if MODE == "echo":
        result: dict[str, Any] = arguments["result"]
        return result
    if MODE == "vague" and name == "fourth":
        raise Refused("fourth is closed today")
    if MODE == "vague":
        return {"content": [], "isError": True}
    text = {"type": "text", "text": f"ran {name}"}
    return {"content": [text], "structuredContent": {"name": name}}


def _answer(method: str, params: dict[str, Any]) -> dict[str, Any]:
    if method == "initialize":
        about = {"name": "odd", "version": "1"}
        version = params["protocolVersion"]
        return {"protocolVersion": version, "capabilities": {"tools": {}}, "serverInfo": about}
    if method == "server/discover" and MODE in ("brief", "polled"):
        return {"supportedVersions": ["2026-07-28"], "capabilities": {"tools": {}}, **COMPLETE}
    if method == "tools/list" and MODE == "brief":
        with Path(os.environ["NOTES"]).open("a") as notes:
            notes.write("listed ")
        return {"tools": _tools(None)["tools"], **COMPLETE, "ttlMs": 600_000}
    if method == "tools/list" and MODE == "polled":
        return {"tools": _tools(None)["tools"], **COMPLETE}
    if method == "tools/list":
        return _tools(params.get("cursor"))
    if method == "tools/call":
        return _call(params["name"], params.get("arguments") or {}, params.get("requestState"))
    raise Refused(method)


def _reply(request: dict[str, Any]) -> dict[str, Any]:
    try:
        return {"result": _answer(request["method"], request.get("params") or {})}
    except Refused as problem:
        return {"error": {"code": -32601, "message": str(problem)}}


def main() -> None:
    """Answer line by line."""
    if "NOTES" in os.environ:
        Path(os.environ["NOTES"]).write_text(str(os.getpid()))
    if MODE == "stubborn":
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
    if MODE == "loud":
        sys.stdout.write("Welcome!\n")
    for line in sys.stdin:
        request = json.loads(line)
        if "id" in request and MODE != "mute":
            answer = {"jsonrpc": "2.0", "id": request["id"], **_reply(request)}
            sys.stdout.write(json.dumps(answer) + "\n")
            sys.stdout.flush()
    while MODE == "stubborn":
        time.sleep(1)


if __name__ == "__main__":
    main()
