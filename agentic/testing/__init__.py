"""Fakes and contract suites: plain functions and classes, for any test runner.

Start with `ScriptedDecider`, `ScriptedExecutor`, `check_store` and `check_adapter`.

A suite takes a factory and raises an AssertionError that names the broken promise. Only
`conversations`, a strategy for property tests, needs an extra, `testing`.
"""

import typing

from agentic._base import _lazy
from agentic.testing._adapter import check_adapter
from agentic.testing._adapter_protocol import Wire
from agentic.testing._bridge import check_bridge
from agentic.testing._fakes import (
    EventRecorder,
    ScriptedDecider,
    ScriptedExecutor,
    StreamingScriptedDecider,
)
from agentic.testing._runner_parts import check_compactor, check_counter, check_decider
from agentic.testing._sessions import check_sessions
from agentic.testing._store import check_store

if typing.TYPE_CHECKING:
    from agentic.testing._conversations import conversations
    from agentic.testing._model_server import MODEL_WIRES, AgentScript, ModelServer, ScriptedAnswer

__all__ = [
    "MODEL_WIRES",
    "AgentScript",
    "EventRecorder",
    "ModelServer",
    "ScriptedAnswer",
    "ScriptedDecider",
    "ScriptedExecutor",
    "StreamingScriptedDecider",
    "Wire",
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
    "ScriptedAnswer",
)
__getattr__, __dir__ = _lazy.load_lazily(
    __name__,
    {"conversations": "._conversations"} | dict.fromkeys(_MODEL_SERVER, "._model_server"),
)
