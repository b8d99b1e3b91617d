"""The OpenAI Agents SDK: its sessions in any store, and its requests within the window.

Start with `InputFilter` and `StoreSession`.

Both speak the framework's protocols and import nothing of it. They need version 0.2.8 or newer,
which brought `RunConfig.call_model_input_filter`.
"""

from agentic.bridges.openai_agents._input_filter import InputFilter
from agentic.bridges.openai_agents._session import StoreSession

__all__ = ["InputFilter", "StoreSession"]
