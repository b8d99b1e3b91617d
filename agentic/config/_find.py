"""Agents by name: the files of a folder."""

from collections.abc import Mapping
from pathlib import Path

from agentic.config._agent import AgentConfig
from agentic.config._load import load
from agentic.config._problems import did_you_mean
from agentic.errors import ConfigError

__all__ = ["find", "list_agents"]

_SUFFIXES = (".yaml", ".yml")
_AGENTS = "agents"


def find(
    agent: str | Path, folder: str | Path = ".", *, environ: Mapping[str, str] | None = None
) -> AgentConfig:
    """Read an agent by its name or by its file, whichever is given.

    What ends with .yaml or .yml, or has a slash in it, is a file. A name is looked for as
    agents/NAME.yaml, agents/NAME.yml, NAME.yaml and NAME.yml, in this order.

    Raises:
        ConfigError: there is no agent of that name; the text tells which there are.
        ConfigProblems: everything that is wrong with the file, as by `load`.
    """
    home, given = Path(folder), str(agent)
    if given.endswith(_SUFFIXES) or "/" in given or "\\" in given:
        return load(home / given, environ=environ)
    for place in (home / _AGENTS, home):
        for suffix in _SUFFIXES:
            if given and (path := place / f"{given}{suffix}").is_file():
                return load(path, environ=environ)
    known = list_agents(home)
    path = home / _AGENTS / f"{given or 'NAME'}.yaml"
    remedy = did_you_mean(given, known, f"create {path}, or name a file")
    allowed = f"one of {', '.join(known)}, or a file" if known else "a file; agents/ holds none"
    message = f"no agent named '{given}'; {remedy}"
    raise ConfigError("agent", agent, allowed, remedy, message)


def list_agents(folder: str | Path = ".") -> dict[str, Path]:
    """Return the agents that have a file in the folder `agents`, by name, in order."""
    found: dict[str, Path] = {}
    for suffix in reversed(_SUFFIXES):  # of two with one name, the one that `find` takes
        found |= {path.stem: path for path in (Path(folder) / _AGENTS).glob(f"*{suffix}")}
    return dict(sorted(found.items()))
