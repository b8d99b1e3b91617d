"""From a file to a configuration, or to everything that is wrong with it."""

import os
import re
from collections.abc import Mapping
from pathlib import Path
from types import ModuleType
from typing import Any

import attrs

from agentic.config._agent import AgentConfig
from agentic.config._numbers import contradictions
from agentic.config._origin import Origin
from agentic.config._problems import ConfigProblems, Problem
from agentic.errors import ConfigError

__all__ = ["load", "loads"]

_MAX_BYTES = 256 * 1024
"""An agent's file has some kilobytes, and some more in a long prompt."""
_NOT_IN_A_NAME = re.compile(r"[\s/\\:]")


def load(path: str | Path, *, environ: Mapping[str, str] | None = None) -> AgentConfig:
    """Read an agent's file. Nothing in it runs, and nothing that it names is imported yet.

    Args:
        path: The file. What it names by a relative path counts from its folder.
        environ: What `${NAME}` is taken from, by default the environment of the process.

    Raises:
        ConfigProblems: everything that is wrong with it, each thing with its line.
        ImportError: the extra is not installed.
    """
    file = _path(path)
    text = _read(file)
    absolute = file.absolute()
    origin = Origin(str(file), absolute.parent, absolute)
    return _make(text, origin, file.stem, environ)


def loads(
    text: str,
    name: str = "agent",
    *,
    folder: str | Path = ".",
    environ: Mapping[str, str] | None = None,
) -> AgentConfig:
    """Read an agent from a text.

    >>> loads("model: anthropic:claude-sonnet-4-5").context.max_messages_before_summary
    30

    Args:
        text: What would stand in a file.
        name: What problems call the text, and the agent's name where the text has none.
        folder: What relative paths count from.
        environ: See `load`.

    Raises:
        ConfigProblems: everything that is wrong with it, each thing with its line.
        ImportError: the extra is not installed.
    """
    return _make(_text(text), Origin(name, Path(folder).absolute()), name, environ)


def _text(given: Any) -> str:
    if not isinstance(given, str):
        raise ConfigError("text", given, "a str", "decode bytes, or load a file")
    return given


def _path(given: Any) -> Path:
    if not isinstance(given, str | Path) or not str(given):
        raise ConfigError("path", given, "a str or a Path", "name the agent's file")
    return Path(given)


def _read(path: Path) -> str:
    """Read a file that may be anything."""
    try:
        if not path.is_file():
            found = "no file" if path.exists() else "missing"
            raise _refused(path, found, "a file that is there", "mend the path, or write the file")
        with path.open("rb") as file:
            data = file.read(_MAX_BYTES + 1)
    except OSError as error:
        said = (error.strerror or str(error)).lower()
        raise _refused(path, f"unreadable ({said})", "a file", "see to its permissions") from error
    if len(data) > _MAX_BYTES:
        allowed = f"up to {_MAX_BYTES // 1024} KB"
        raise _refused(path, "too large", allowed, "is it an agent's file? Shorten its texts")
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise _refused(path, "no UTF-8", "UTF-8", "save it as UTF-8", line) from error


def _refused(path: Path, given: str, allowed: str, remedy: str, line: int = 0) -> ConfigProblems:
    return ConfigProblems([Problem(str(path), line, "", given, allowed, remedy)])


def _make(text: str, origin: Origin, name: str, environ: Mapping[str, str] | None) -> AgentConfig:
    document, structure = _readers()
    try:
        read = document.read_yaml(text)
    except document.Unreadable as error:
        said = (error.line, "", error.given, error.allowed, error.remedy)
        raise ConfigProblems([Problem(origin.file, *said)]) from error
    origin = attrs.evolve(origin, lines=read.lines)
    made = structure.structure(read.data, origin.folder, os.environ if environ is None else environ)
    faults = [*read.faults, *contradictions(read.data)]
    if not isinstance(made, AgentConfig):
        raise origin.problems([*faults, *made])
    if faults:
        raise origin.problems(faults)
    called = made.name if origin.has("name") else _name(name)
    return attrs.evolve(made, name=called, origin=origin)


def _name(given: str) -> str:
    """Make a name of the name of a file.

    >>> _name("my agent.yaml"), _name(".hidden")
    ('my-agent', 'hidden')
    """
    given = given.removesuffix(".yaml").removesuffix(".yml")
    return _NOT_IN_A_NAME.sub("-", given).lstrip(".-")[:64] or "agent"


def _readers() -> tuple[ModuleType, ModuleType]:
    """Import what needs the extra."""
    try:
        from agentic.config import _document, _structure  # noqa: PLC0415  cost PyYAML and cattrs
    except ModuleNotFoundError as absent:
        if absent.name not in {"yaml", "cattrs"}:
            raise
        raise ImportError(
            "agentic.config needs PyYAML and cattrs: pip install 'agentic-weave[config]'"
        ) from absent
    return _document, _structure
