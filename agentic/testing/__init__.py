"""Fakes and contract suites: plain functions and classes, for any test runner.

Start with `ScriptedDecider`, `ScriptedExecutor`, `check_store` and `check_adapter`.

A suite takes a factory and raises an AssertionError that names the broken promise. Only
`conversations`, a strategy for property tests, needs an extra, `testing`.
"""

import typing

from agentic._base import _lazy
from agentic.testing._adapter import check_adapter
from agentic.testing._adapter_protocol import Streamed as Streamed
from agentic.testing._adapter_protocol import Wire as Wire
from agentic.testing._bridge import Bridge as Bridge
from agentic.testing._bridge import check_bridge
from agentic.testing._fakes import EventRecorder, ScriptedDecider, ScriptedExecutor
from agentic.testing._fakes import StreamingScriptedDecider as StreamingScriptedDecider
from agentic.testing._runner_parts import check_compactor, check_counter, check_decider
from agentic.testing._sessions import check_sessions
from agentic.testing._store import check_store

if typing.TYPE_CHECKING:
    from agentic.testing._conversations import conversations
    from agentic.testing._model_server import MODEL_WIRES as MODEL_WIRES
    from agentic.testing._model_server import AgentScript as AgentScript
    from agentic.testing._model_server import ModelServer as ModelServer
    from agentic.testing._model_server import ModelWire as ModelWire
    from agentic.testing._model_server import ScriptedAnswer as ScriptedAnswer
    from agentic.testing._model_server import ServedRequest as ServedRequest
    from agentic.testing._model_server import ServerReply as ServerReply
    from agentic.testing._model_server import ServerReport as ServerReport
    from agentic.testing._model_server import TokenPrices as TokenPrices

__all__ = [
    "EventRecorder",
    "ScriptedDecider",
    "ScriptedExecutor",
    "check_adapter",
    "check_bridge",
    "check_compactor",
    "check_counter",
    "check_decider",
    "check_sessions",
    "check_store",
    "conversations",
]


_MODEL_SERVER = (
    "MODEL_WIRES",
    "AgentScript",
    "ModelServer",
    "ModelWire",
    "ScriptedAnswer",
    "ServedRequest",
    "ServerReply",
    "ServerReport",
    "TokenPrices",
)
__getattr__, __dir__ = _lazy.load_lazily(
    __name__,
    {"conversations": "._conversations"} | dict.fromkeys(_MODEL_SERVER, "._model_server"),
)
