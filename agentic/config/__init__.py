"""Agents from YAML: one file names the model, the tools, and how conversations are kept.

Start with `load`, `find` and `AgentConfig`.

Reading a file needs the extra: pip install 'agentic-weave[config]'. It runs no code. Like any
plugin, the Python files that it names are imported when their part is needed.
"""

from agentic.config._agent import AgentConfig
from agentic.config._load import find, list_agents, load, loads
from agentic.config._problems import ConfigProblems, Problem
from agentic.config._records import (
    ContextSettings,
    StoreSettings,
    StrategySettings,
    TruncationSettings,
)
from agentic.config._schema import schema

__all__ = [
    "AgentConfig",
    "ConfigProblems",
    "ContextSettings",
    "Problem",
    "StoreSettings",
    "StrategySettings",
    "TruncationSettings",
    "find",
    "list_agents",
    "load",
    "loads",
    "schema",
]
