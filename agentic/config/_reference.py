"""References to Python: `tools.py:read_file`, `package.module:function`, and the tools they name.

Parsing a reference runs nothing. Resolving it imports the module, which runs it, like any plugin. A
file is imported once per process, however many references name it. The folder that relative paths
are relative to is added to the end of `sys.path`, so that the file can import modules next to it.
"""

import ast
import hashlib
import importlib
import importlib.util
import operator
import os
import re
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import attrs

from agentic import tools
from agentic._validate import suggest
from agentic.errors import ConfigError

__all__ = ["RECALL", "Reference", "check_tool", "expand", "is_file", "resolve_tools"]

_FORM = re.compile(r"(.+):([^\W\d]\w*(?:\.[^\W\d]\w*)*)", re.DOTALL)
_MODULE = re.compile(r"[^\W\d]\w*(?:\.[^\W\d]\w*)*")
_ALLOWED = "FILE.py:NAME or PACKAGE.MODULE:NAME"
RECALL = "recall"
"""The name of the session's own tool."""


@attrs.frozen
class Reference:
    """A name in a Python file or a module."""

    text: str
    module: str | Path
    """A Path if the module is a file."""
    name: str
    folder: Path

    @classmethod
    def read(cls, text: str, folder: Path) -> "Reference":
        """Parse a reference, and check that its file exists.

        Raises:
            ConfigError: it has another form, or names a file that does not exist.
        """
        found = _FORM.fullmatch(text)
        if found is None:
            raise _wrong(text, _ALLOWED)
        place, name = found.groups()
        if place.endswith(".py"):
            path = expand(place, folder)
            if not is_file(path):
                raise _wrong(text, "a file that exists", f"{text}: no such file: {path}")
            return cls(text, path, name, folder)
        if _MODULE.fullmatch(place) is None:
            raise _wrong(text, _ALLOWED)
        return cls(text, place, name, folder)

    def check_name(self) -> None:
        """Raise if the module or the name certainly does not exist; nothing is imported.

        Raises:
            ConfigError: there is no such module, or it has no such name.
        """
        if isinstance(self.module, Path):
            _check_name(self.text, self.module, self.name)
        else:
            _check_module(self.text, self.module, self.name, self.folder)

    def resolve(self) -> Any:
        """Import the module and return the object of that name.

        Raises:
            ConfigError: the module cannot be imported, or has no such name.
        """
        try:
            module = self._import()
        # A script that is not guarded by `if __name__ == "__main__"` may exit when it is imported.
        except (Exception, SystemExit) as error:
            message = f"cannot import {self.text}: {type(error).__name__}: {error}"
            raise _wrong(self.text, "a module that can be imported", message) from error
        try:
            return operator.attrgetter(self.name)(module)
        except AttributeError as error:
            raise _absent(self.text, self.module, self.name, vars(module)) from error

    def _import(self) -> ModuleType:
        folder = str(self.folder)
        if folder not in sys.path:
            # At the end, so that a file next to the agent's never hides a module of the standard
            # library or of a package.
            sys.path.append(folder)
        if isinstance(self.module, str):
            return importlib.import_module(self.module)
        # Resolved, so that links and relative paths to one file lead to one module.
        return _import_file(self.module.resolve())


def _check_module(text: str, place: str, name: str, folder: Path) -> None:
    """Raise if the first part of a module's name is neither next to the file nor installed."""
    # Only the first part: finding the others would import it.
    top, _, rest = place.partition(".")
    beside = folder / f"{top}.py"
    if not rest and beside.is_file():
        _check_name(text, beside, name)
    elif not (folder / top).is_dir() and importlib.util.find_spec(top) is None:
        message = f"cannot import {text}: there is no module '{top}'"
        raise _wrong(text, "a module that can be imported", message)


def _check_name(text: str, path: Path, name: str) -> None:
    """Raise if a file certainly does not define a name at its top level."""
    try:
        names = _top_names(ast.parse(path.read_bytes()))
    except (OSError, SyntaxError, ValueError, RecursionError):
        return  # importing it says what is wrong
    if names is not None and name.partition(".")[0] not in names:
        raise _absent(text, path, name, names)


def _top_names(module: ast.Module) -> set[str] | None:
    """Return the names that a module defines; None if only running it can tell."""
    names: set[str] = set()
    # At any depth, since a definition may be inside `if` or `try`.
    for node in ast.walk(module):
        match node:
            case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name):
                names.add(name)
            case ast.ClassDef(name=name) | ast.Name(id=name, ctx=ast.Store()):
                names.add(name)
            case ast.Import(names=found) | ast.ImportFrom(names=found):
                names |= {(each.asname or each.name).partition(".")[0] for each in found}
    # A star, a __getattr__ and a write to globals() can define anything.
    return None if names & {"*", "__getattr__"} or "globals" in _called(module) else names


def _called(module: ast.Module) -> set[str]:
    calls = (node.func for node in ast.walk(module) if isinstance(node, ast.Call))
    return {called.id for called in calls if isinstance(called, ast.Name)}


def _absent(text: str, module: str | Path, name: str, names: Iterable[str]) -> ConfigError:
    public = [each for each in names if not each.startswith("_")]
    hint = suggest(name, public, "define it there")
    message = f"{module} has no '{name}'; {hint}"
    return _wrong(text, f"a name that {module} has", message)


def _import_file(path: Path) -> ModuleType:
    # With the path: agents in two folders may each have a tools.py.
    name = f"{path.stem}_{hashlib.sha256(str(path).encode('utf-8', 'replace')).hexdigest()[:12]}"
    if name in sys.modules:
        return sys.modules[name]
    spec = importlib.util.spec_from_file_location(name, path)
    if spec is None or spec.loader is None:
        raise ImportError(f"{path} is not a Python file")
    module = importlib.util.module_from_spec(spec)
    # Before it runs, as the import system does: dataclasses look for their module there.
    sys.modules[name] = module
    try:
        spec.loader.exec_module(module)
    # Remove a module that failed halfway: the next import would find it and treat it as complete.
    except BaseException:
        del sys.modules[name]
        raise
    return module


def _wrong(text: str, allowed: str, message: str = "") -> ConfigError:
    return ConfigError("a reference", text, allowed, message=message)


def expand(place: str, folder: Path) -> Path:
    """Return a path of an agent's file: relative to its folder, with `~` as somebody's home.

    Raises:
        ConfigError: there is no such home.
    """
    try:
        # Joining drops the folder if the path is absolute, as ~ is once it is expanded.
        return folder / Path(place).expanduser()
    except RuntimeError as error:
        message = f"{place}: there is no such home; write the whole path, or set HOME"
        raise _wrong(place, "a path in a home that exists", message) from error


def is_file(path: Path) -> bool:
    """Return whether a path is a file. No name is an error, however long it is."""
    return os.path.isfile(path)  # noqa: PTH113  `Path.is_file` raises for a name that is too long


def check_tool(text: object, folder: Path) -> str:
    """Raise unless a reference to a tool is valid; nothing is imported.

    Raises:
        ConfigError: it is not a reference, or names a file that does not exist.
    """
    if not isinstance(text, str):
        raise ConfigError("tools", text, f"{RECALL}, FILE.py:NAME or PACKAGE.MODULE:NAME")
    if text != RECALL:
        Reference.read(text, folder)
    return text


def resolve_tools(text: str, folder: Path) -> Iterator[tools.Tool]:
    """Import what a reference names: a function, a tool, or a list of these.

    Raises:
        ConfigError: it cannot be imported, or is not a function that can be a tool.
    """
    found = Reference.read(text, folder).resolve()
    for each in found if isinstance(found, list | tuple) else (found,):
        yield _tool(text, each)


def _tool(text: str, found: Any) -> tools.Tool:
    if isinstance(found, type):
        found = _made(text, found)
    if isinstance(found, tools.Tool):
        return found
    try:
        made: tools.Tool = tools.tool(found)
    except ConfigError as error:
        raise attrs.evolve(error, given=text) from error
    return made


def _made(text: str, found: type[Any]) -> Any:
    try:
        return found()
    except Exception as error:
        message = f"cannot create a tool with {text}: {type(error).__name__}: {error}"
        raise ConfigError("tools", text, "a function, or a tool", message=message) from error
