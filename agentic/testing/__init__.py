"""Fakes and contract suites: plain functions and classes, for any test runner.

Start with `ScriptedDecider`, `ScriptedExecutor`, `check_store` and `check_adapter`.

A suite takes a factory and raises an AssertionError that names the broken promise. Only
`conversations`, a strategy for property tests, needs an extra: pip install
'agentic-weave[testing]'.
"""

import typing

from agentic import _lazy
from agentic.testing._adapter import check_adapter
from agentic.testing._adapter_protocol import Adapter as Adapter
from agentic.testing._adapter_protocol import Streamed as Streamed
from agentic.testing._fakes import EventRecorder, ScriptedDecider, ScriptedExecutor
from agentic.testing._fakes import StreamingScriptedDecider as StreamingScriptedDecider
from agentic.testing._runner_parts import check_compactor, check_counter, check_decider
from agentic.testing._sessions import check_sessions
from agentic.testing._store import check_store

if typing.TYPE_CHECKING:
    from agentic.testing._conversations import conversations

__all__ = [
    "EventRecorder",
    "ScriptedDecider",
    "ScriptedExecutor",
    "check_adapter",
    "check_compactor",
    "check_counter",
    "check_decider",
    "check_sessions",
    "check_store",
    "conversations",
]


__getattr__, __dir__ = _lazy.load_lazily(__name__, {"conversations": "._conversations"})
