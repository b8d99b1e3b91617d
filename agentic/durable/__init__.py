"""Runs that survive their process: each decision, tool call and summary is one recorded step.

Start with `Durable` and `Steps`.

An engine records what a step returned. If the process dies, the engine runs the same code again,
and every step that was recorded returns its record instead of doing its work again. This room knows
no engine: it needs an object with `run(name, function, *args)`. `durable.dbos` is the service on
DBOS, and needs the extra `durable`.
"""

from agentic._base import _lazy
from agentic.durable._durable import Durable, Steps
from agentic.durable._records import StepFailed

__all__ = ["Durable", "StepFailed", "Steps"]

__getattr__, __dir__ = _lazy.load_lazily(__name__, {"dbos": ".dbos"})
