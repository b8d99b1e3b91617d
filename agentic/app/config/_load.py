"""From a file, or an agent's name, to a configuration, or to a list of everything wrong with it."""

import os
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from types import ModuleType
from typing import Any

import attrs

from agentic._base import _imports
from agentic._base._validate import suggest
from agentic.app.config._agent import AgentConfig
from agentic.app.config._problems import ConfigProblems, Fault, Origin
from agentic.app.config._reference import Reference, is_file
from agentic.errors import ConfigError

_MAX_BYTES = 256 * 1024
"""An agent's file has a few kilobytes, or somewhat more with a long prompt."""
_NOT_IN_A_NAME = re.compile(r"[\s/\\:]")
_SUFFIXES = (".yaml", ".yml")
_AGENTS = "agents"


def load(path: str | Path, *, environ: Mapping[str, str] | None = None) -> AgentConfig:
    """Read an agent's file. Nothing in it is run, and nothing that it names is imported yet.

    Args:
        path: The file. Relative paths in it are relative to its folder.
        environ: The source of `${NAME}`, by default the environment of the process.

    Raises:
        ConfigProblems: lists everything that is wrong with it, with line numbers.
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
        text: The content of an agent's file.
        name: The name of the text in problems, and the agent's name if the text has none.
        folder: The folder that relative paths are relative to.
        environ: See `load`.

    Raises:
        ConfigProblems: lists everything that is wrong with it, with line numbers.
        ImportError: the extra is not installed.
    """
    return _make(_text(text), Origin(name, Path(folder).absolute()), name, environ)


def _text(value: Any) -> str:
    if not isinstance(value, str):
        raise ConfigError("text", value, "a str", "decode bytes, or load a file")
    return value


def _path(value: Any) -> Path:
    if not isinstance(value, str | Path) or not str(value):
        raise ConfigError("path", value, "a str or a Path", "name the agent's file")
    return Path(value)


def _read(path: Path) -> str:
    """Read a file, which may be of any kind."""
    try:
        # A device can be opened as well, and reading it may never end.
        if not path.is_file():
            raise _refused(path, _not_found(path))
        with path.open("rb") as file:
            # Read one byte more than allowed, to detect a file that is too large.
            data = file.read(_MAX_BYTES + 1)
    except OSError as error:
        reason = (error.strerror or str(error)).lower()
        raise _refused(path, f"cannot be read: {reason}") from error
    if len(data) > _MAX_BYTES:
        limit = f"larger than the {_MAX_BYTES // 1024} KB that an agent's file may have"
        raise _refused(path, limit)
    try:
        # Windows editors write a byte order mark, which would become part of the first key.
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise _refused(path, "not UTF-8; save it as UTF-8", line) from error


def _not_found(path: Path) -> str:
    if path.exists():
        return "not a file"
    beside = [each.name for each in path.parent.glob("*.y*ml")] if path.parent.is_dir() else []
    hint = suggest(path.name, beside, "")
    return f"no such file; {hint}" if hint else "no such file"


def _refused(path: Path, message: str, line: int = 0) -> ConfigProblems:
    return Origin(str(path), path.parent).problems([Fault((), "", line=line, message=message)])


def _make(text: str, origin: Origin, name: str, environ: Mapping[str, str] | None) -> AgentConfig:
    document, structure = _readers()
    try:
        read = document.read_yaml(text)
    except document.Unreadable as error:
        fault = Fault((), "", line=error.line, message=error.message)
        raise origin.problems([fault]) from error
    origin = attrs.evolve(origin, lines=read.lines)
    variables = os.environ if environ is None else environ
    result: AgentConfig | list[Fault] = structure.structure(read.data, origin.folder, variables)
    faults = [*read.faults, *structure.contradictions(read.data)]
    if not isinstance(result, AgentConfig) or faults:
        faults += [] if isinstance(result, AgentConfig) else result
        raise origin.problems([*faults, *_missing_names(read.data, origin.folder)])
    # Do not compare the value: the file may contain exactly the default.
    title = result.name if origin.has("name") else _name(name)
    return attrs.evolve(result, name=title, origin=origin)


def _missing_names(data: Any, folder: Path) -> Iterator[Fault]:
    """Yield what a file with mistakes names that does not exist, to report all at once.

    Without other mistakes this is reported when the tools are needed: listing sessions needs none.
    """
    tools = data.get("tools") if isinstance(data, dict) else None
    for index, text in enumerate(tools if isinstance(tools, list) else ()):
        try:
            reference = Reference.read(text, folder)
        except (ConfigError, TypeError):
            continue  # reported already, or the session's own tool
        try:
            reference.check_name()
        except ConfigError as error:
            yield Fault.of(error, ("tools", index))


def _name(value: str) -> str:
    """Return an agent's name, made from the name of a file.

    >>> _name("my agent.yaml"), _name(".hidden")
    ('my-agent', 'hidden')
    """
    value = value.removesuffix(".yaml").removesuffix(".yml")
    return _NOT_IN_A_NAME.sub("-", value).lstrip(".-")[:64] or "agent"


def _readers() -> tuple[ModuleType, ModuleType]:
    """Import the modules that need the extra."""
    try:
        # They load PyYAML and cattrs.
        return _imports.load("agentic.app.config._document"), _imports.load(
            "agentic.app.config._structure"
        )
    except ModuleNotFoundError as absent:
        # Any other missing module is a mistake of this package, which the extra would not mend.
        if absent.name not in {"yaml", "cattrs"}:
            raise
        raise ImportError(
            f"agentic.app.config needs PyYAML and cattrs: "
            f"{_imports.pip_install('agentic-weave[config]')}"
        ) from absent


def find(
    agent: str | Path, folder: str | Path = ".", *, environ: Mapping[str, str] | None = None
) -> AgentConfig:
    """Read an agent, given its name or its file.

    Anything that ends with .yaml or .yml, or contains a slash, is a file. A name is looked up as
    agents/NAME.yaml, agents/NAME.yml, NAME.yaml and NAME.yml, in this order.

    Raises:
        ConfigError: there is no agent of that name; the text lists the existing ones.
        ConfigProblems: lists everything that is wrong with the file, as for `load`.
    """
    home, text = Path(folder), str(agent)
    if text.endswith(_SUFFIXES) or "/" in text or "\\" in text:
        return load(home / text, environ=environ)
    for place in (home / _AGENTS, home):
        for suffix in _SUFFIXES:
            if text and is_file(path := place / f"{text}{suffix}"):
                return load(path, environ=environ)
    names = list_agents(home)
    path = home / _AGENTS / f"{text or 'NAME'}.yaml"
    remedy = suggest(text, names, f"create {path}, or name a file")
    choices = f"one of {', '.join(names)}, or a file" if names else "a file; agents/ holds none"
    message = f"no agent named '{text}'; {remedy}"
    raise ConfigError("agent", agent, choices, remedy, message)


def list_agents(folder: str | Path = ".") -> dict[str, Path]:
    """Return the agents that have a file in the folder `agents`, by name, in order."""
    paths: dict[str, Path] = {}
    for suffix in reversed(_SUFFIXES):  # if two have the same name, keep the one that `find` uses
        paths |= {path.stem: path for path in (Path(folder) / _AGENTS).glob(f"*{suffix}")}
    return dict(sorted(paths.items()))
