"""Agents from YAML: one file names the model, the tools, and how conversations are kept.

Start with `load`, `find` and `AgentConfig`.

Reading a file needs the extra `config`. It runs no code. Like any
plugin, the Python files that it names are imported when their part is needed.
"""

from agentic.app.config._agent import AgentConfig
from agentic.app.config._load import find, load, loads
from agentic.app.config._problems import ConfigProblems
from agentic.app.config._records import ContextSettings

__all__ = [
    "AgentConfig",
    "ConfigProblems",
    "ContextSettings",
    "find",
    "load",
    "loads",
]
