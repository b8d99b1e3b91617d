#!/usr/bin/env bash
# LiteLLM 1.110.2: of a reply of Anthropic's that has `usage.iterations`, `prompt_tokens` is the sum
# over all of them, that of a compaction on the server included. Anthropic's own top-level counts
# leave the compaction out, and say how large the request was: 23,000 tokens here, where LiteLLM
# says 203,000. For a bill that is right. Whoever takes `prompt_tokens` for the size of the
# conversation believes that it has outgrown its window right after it was compacted.
#
# Output seen on 2026-11-27: 1.110.2 prompt_tokens=203000 completion_tokens=4500
set -euo pipefail
place=$(mktemp -d)
trap 'rm -rf "$place"' EXIT
python3 -m venv "$place/env"
"$place/env/bin/pip" -q install litellm==1.110.2
cat > "$place/run.py" <<'PYTHON'
import importlib.metadata
import json
import threading
from http.server import BaseHTTPRequestHandler, HTTPServer

UNCACHED = {"cache_creation_input_tokens": 0, "cache_read_input_tokens": 0}
REPLY = {
    "id": "msg_1",
    "type": "message",
    "role": "assistant",
    "model": "claude-opus-4-6",
    "content": [{"type": "text", "text": "Done."}],
    "stop_reason": "end_turn",
    "stop_sequence": None,
    "usage": {
        "input_tokens": 23_000,
        "output_tokens": 1_000,
        **UNCACHED,
        "iterations": [
            {"type": "compaction", "input_tokens": 180_000, "output_tokens": 3_500, **UNCACHED},
            {"type": "message", "input_tokens": 23_000, "output_tokens": 1_000, **UNCACHED},
        ],
    },
}


class Server(BaseHTTPRequestHandler):
    def do_POST(self):
        self.rfile.read(int(self.headers["Content-Length"]))
        body = json.dumps(REPLY).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass


server = HTTPServer(("127.0.0.1", 0), Server)
threading.Thread(target=server.serve_forever, daemon=True).start()

import litellm  # noqa: E402

usage = litellm.completion(
    "anthropic/claude-opus-4-6",
    [{"role": "user", "content": "Go on."}],
    api_base=f"http://127.0.0.1:{server.server_port}",
    api_key="none",
).usage
version = importlib.metadata.version("litellm")
print(version, f"prompt_tokens={usage.prompt_tokens} completion_tokens={usage.completion_tokens}")
assert (usage.prompt_tokens, usage.completion_tokens) == (203_000, 4_500)
PYTHON
LITELLM_LOCAL_MODEL_COST_MAP=True "$place/env/bin/python" -W ignore "$place/run.py"
