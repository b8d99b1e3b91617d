"""A fake model server that binds reasoning, enforces pairing and roles, and bills the cache.

It shares no code with what it judges: an import contract keeps it from `agentic.context` and
`agentic.messages`. A wire is one record, `ModelWire`; `ModelServer(wires=...)` takes others.
"""

from collections.abc import Mapping

from agentic.testing._model_server._anthropic import ANTHROPIC
from agentic.testing._model_server._cache import TokenPrices as TokenPrices
from agentic.testing._model_server._chat import OPENAI_CHAT, QWEN_CHAT
from agentic.testing._model_server._converse import BEDROCK
from agentic.testing._model_server._gemini import GEMINI
from agentic.testing._model_server._ledger import ServedRequest as ServedRequest
from agentic.testing._model_server._ledger import ServerReport as ServerReport
from agentic.testing._model_server._request import ScriptedAnswer as ScriptedAnswer
from agentic.testing._model_server._responses import OPENAI_RESPONSES
from agentic.testing._model_server._script import AgentScript as AgentScript
from agentic.testing._model_server._server import ModelServer as ModelServer
from agentic.testing._model_server._server import ServerReply as ServerReply
from agentic.testing._model_server._wire import ModelWire as ModelWire

MODEL_WIRES: Mapping[str, ModelWire] = {
    wire.name: wire
    for wire in (ANTHROPIC, OPENAI_RESPONSES, OPENAI_CHAT, QWEN_CHAT, BEDROCK, GEMINI)
}
"""The wires by name. `qwen_chat` refuses what the chat templates of local models refuse."""
