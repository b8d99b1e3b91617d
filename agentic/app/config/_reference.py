"""What an agent's file refers to: names in Python, tools, and models of a provider or custom ones.

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
import threading
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from types import ModuleType
from typing import Any, cast

import attrs

from agentic import limits, providers, tools
from agentic._base._validate import nearest, suggest
from agentic.app.config._records import MODEL, with_provider
from agentic.errors import ConfigError
from agentic.limits import ModelLimits
from agentic.loop import Decider
from agentic.providers._offline import OFFLINE
from agentic.providers._registry import adapter_names, find_adapter, full_name, sorted_names

_FORM = re.compile(r"(.+):([^\W\d]\w*(?:\.[^\W\d]\w*)*)", re.DOTALL)
_MODULE = re.compile(r"[^\W\d]\w*(?:\.[^\W\d]\w*)*")
_ALLOWED = "FILE.py:NAME or PACKAGE.MODULE:NAME"
RECALL = "recall"
"""The name of the session's own tool."""
_importing = threading.RLock()
"""Held while a file runs, as the import system locks a module: another thread would find it half
run. A file may load an agent, whose files the same thread imports."""


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
        match = _FORM.fullmatch(text)
        if match is None:
            raise _wrong(text, _ALLOWED, remedy=_complete(text))
        place, name = match.groups()
        if place.endswith(".py"):
            path = expand(place, folder)
            if not is_file(path):
                raise _wrong(text, "a file that exists", f"{text}: no such file: {path}")
            return cls(text, path, name, folder)
        if _MODULE.fullmatch(place) is None:
            raise _wrong(text, _ALLOWED, remedy=_complete(text))
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
        with _importing:
            return _import_file(self.module.resolve())


def expand(place: str, folder: Path) -> Path:
    """Return a path of an agent's file: relative to its folder, with `~` as somebody's home.

    Raises:
        ConfigError: there is no such home.
    """
    try:
        # Joining drops the folder if the path is absolute, as ~ is once it is expanded.
        return folder / Path(place).expanduser()
    except RuntimeError as error:
        message = f"{place}: there is no such home directory; write the whole path, or set HOME"
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
    entry = Reference.read(text, folder).resolve()
    for each in entry if isinstance(entry, list | tuple) else (entry,):
        yield _tool(text, each)


def is_served(model: str) -> bool:
    """Return whether a provider serves the model; otherwise it is a custom decider.

    >>> is_served("anthropic:claude-sonnet-4-5"), is_served("my_agent.py:Offline")
    (True, False)
    """
    provider, _, name = full_name(model).partition(":")
    return provider in adapter_names() and bool(name)


def served_name(model: str | None) -> str:
    """Return the provider's name for a model; "" for a custom decider, or for no model.

    >>> served_name("openai_chat:gpt-oss:20b"), served_name("gpt-5"), served_name("mine.py:Offline")
    ('gpt-oss:20b', 'gpt-5', '')
    """
    is_ours = model is not None and is_served(model)
    return full_name(model).partition(":")[2] if model is not None and is_ours else ""


def check_model(model: str, folder: Path) -> None:
    """Raise unless a model's name is valid; nothing is imported or connected to.

    Raises:
        ConfigError: it is neither a provider's model nor a reference, or its file does not exist.
    """
    if is_served(model):
        return
    try:
        Reference.read(model, folder)
    except ConfigError as error:
        # That names a file, so a hint at providers would mislead.
        if ".py:" in model:
            raise
        provider, _, name = model.partition(":")
        near = nearest(provider, sorted_names())
        remedy = f"did you mean '{near}:{name}'?" if near else with_provider(name)
        raise ConfigError("model", model, MODEL, remedy) from error


def connect(
    model: str,
    options: Mapping[str, Any],
    window: ModelLimits | None,
    folder: Path,
    **settings: Any,
) -> Decider:
    """Connect to a provider's model, or import a custom decider and create it with its arguments.

    `settings` are those of a provider's decider.

    Raises:
        ConfigError: it cannot be set up.
        ImportError: the provider's SDK is not installed.
    """
    if model == OFFLINE:
        return providers.connect(model)
    if is_served(model):
        return providers.connect(model, options=dict(options), limits=window, **settings)
    try:
        entry = Reference.read(model, folder).resolve()
    except ConfigError as error:
        if ".py:" in model:
            raise
        # A misspelt provider looks like the name of a module.
        provider, names = model.partition(":")[0], sorted_names()
        names_text, hint = ", ".join(names), suggest(provider, names, "")
        remedy = f"{hint} Providers are {names_text}" if hint else f"providers are {names_text}"
        message = f"{error.message or error}; {remedy}"
        raise attrs.evolve(error, message=message) from error
    if isinstance(entry, type) or not hasattr(entry, "decide"):
        entry = _make_decider(model, entry, options)
    elif options:
        raise ConfigError(
            "model_options",
            dict(options),
            "left out if the model is already an object",
            "refer to its class, or to a function that creates it",
        )
    if isinstance(entry, type) or not callable(getattr(entry, "decide", None)):
        raise ConfigError("model", model, "an object with async decide(request) -> Decision")
    return cast("Decider", entry)


def limits_of(decider: Decider) -> ModelLimits:
    """Return the limits of a custom decider, if it reports them."""
    method = getattr(decider, "limits", None)
    value: object = method() if callable(method) else None
    return value if isinstance(value, ModelLimits) else limits.lookup("")


def reply_tokens(model: str | None, options: Mapping[str, Any], limits: ModelLimits) -> int:
    """Return the length of the reply that is asked for; 0 if it may use the rest of the window.

    >>> reply_tokens("openai_chat:gpt-4o", {"max_tokens": 9_000}, ModelLimits(128_000, 16_384))
    9000
    """
    if model is None or not is_served(model):
        return 0
    adapter = find_adapter(model.partition(":")[0])
    return adapter.reply_tokens(options, limits)


def _check_module(text: str, place: str, name: str, folder: Path) -> None:
    """Raise if the first part of a module's name is neither next to the file nor installed."""
    # Only the first part: finding the others would import it.
    top, _, rest = place.partition(".")
    beside = folder / f"{top}.py"
    if not rest and beside.is_file():
        _check_name(text, beside, name)
    elif not (folder / top).is_dir() and not _is_installed(top):
        message = f"cannot import {text}: there is no module '{top}'"
        raise _wrong(text, "a module that can be imported", message)


def _is_installed(module: str) -> bool:
    try:
        return importlib.util.find_spec(module) is not None
    except ValueError:  # it runs, but was not imported: `__main__` of a console script
        return True


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
            case ast.Import(names=aliases) | ast.ImportFrom(names=aliases):
                names |= {(each.asname or each.name).partition(".")[0] for each in aliases}
    # A star, a __getattr__ and a write to globals() can define anything.
    return None if names & {"*", "__getattr__"} or "globals" in _called(module) else names


def _called(module: ast.Module) -> set[str]:
    calls = (node.func for node in ast.walk(module) if isinstance(node, ast.Call))
    return {function.id for function in calls if isinstance(function, ast.Name)}


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


def _complete(name: str) -> str:
    """Return what to write instead of a name without a place.

    >>> _complete("read"), _complete("my tools")
    ('write the file before the name, as in tools.py:read', '')
    """
    return f"write the file before the name, as in tools.py:{name}" if name.isidentifier() else ""


def _wrong(text: str, requirement: str, message: str = "", remedy: str = "") -> ConfigError:
    return ConfigError("a reference", text, requirement, remedy, message)


def _tool(text: str, entry: Any) -> tools.Tool:
    if isinstance(entry, type):
        entry = _make_tool(text, entry)
    if isinstance(entry, tools.Tool):
        return entry
    try:
        result: tools.Tool = tools.tool(entry)
    except ConfigError as error:
        raise attrs.evolve(error, given=text) from error
    return result


def _make_tool(text: str, cls: type[Any]) -> Any:
    try:
        return cls()
    except Exception as error:
        message = f"cannot create a tool with {text}: {type(error).__name__}: {error}"
        raise ConfigError("tools", text, "a function, or a tool", message=message) from error


def _make_decider(model: str, factory: Any, options: Mapping[str, Any]) -> Any:
    try:
        return factory(**options)
    except Exception as error:
        # What connects to a server itself says best which models that has.
        if isinstance(error, ConfigError) and error.name == "model":
            raise
        requirement = "a class or a function that creates a decider"
        message = f"cannot create a decider with {model}: {type(error).__name__}: {error}"
        raise ConfigError("model", model, requirement, message=message) from error
