"""The house as a whole: what its rooms export, and what it costs to enter one."""

import ast
import importlib
import inspect
import pkgutil
import re
from collections.abc import Callable
from pathlib import Path

import pytest

import agentic

ROOT = Path(agentic.__file__).parent
ROOMS = [
    info.name
    for info in pkgutil.walk_packages([str(ROOT)], "agentic.")
    if not any(part.startswith("_") for part in info.name.split("."))
]
_PUBLIC = {name.rpartition(".")[2] for name in ROOMS}

_LISTED: dict[str, list[str]] = {}
"""Each name that is listed, and the rooms that list it."""
for _room in ROOMS:
    for _name in importlib.import_module(_room).__all__:
        _LISTED.setdefault(_name, []).append(_room)


def _handed_on(path: Path) -> set[str]:
    """Return what a module imports as itself: `from module import name as name`."""
    imports = [n for n in ast.walk(ast.parse(path.read_text())) if isinstance(n, ast.ImportFrom)]
    return {each.name for node in imports for each in node.names if each.asname == each.name}


_MOST_NAMES = 323
"""How many names may be imported from public modules. It only gets smaller."""


def test_every_public_name_is_listed() -> None:
    """What a room hands on for another one is listed in that one; the reference shows each there.

    A name that only this package uses is imported from the module that has it.
    """
    files = {Path(inspect.getfile(importlib.import_module(room))) for room in ROOMS}
    handed_on = {name for file in files for name in _handed_on(file)}

    assert sorted(handed_on - set(_LISTED)) == []
    assert len(_LISTED) <= _MOST_NAMES


@pytest.mark.parametrize("name", ["agentic", *ROOMS])
def test_rooms_list_exports_sorted_and_exactly(name: str) -> None:
    """`__all__` is sorted: constants, classes, functions. A name is left out on purpose only."""
    room = importlib.import_module(name)

    assert list(room.__all__) == sorted(
        set(room.__all__), key=lambda each: (not each.isupper(), not each[0].isupper(), each)
    )
    assert all(hasattr(room, exported) for exported in room.__all__)
    unlisted = _handed_on(Path(inspect.getfile(room)))
    assert unlisted.isdisjoint(room.__all__)
    public = {key: value for key, value in vars(room).items() if not key.startswith("_")}
    if not hasattr(room, "__path__"):  # a bare module imports what it needs
        public = {k: v for k, v in public.items() if getattr(v, "__module__", name) == name}
        # As the adapters list `validate`, and other rooms hand on what their parts return.
        unlisted |= {key for key in public if key in _LISTED}
    assert {k for k in public if not inspect.ismodule(public[k])} <= {*room.__all__, *unlisted}


def test_each_name_is_listed_once() -> None:
    """In the room where a newcomer looks for it, even if others hand it on, and `protocols`."""
    rooms = {n: [r for r in rooms if r != "agentic.protocols"] for n, rooms in _LISTED.items()}
    twice = {name: places for name, places in rooms.items() if len(places) > 1}

    meanings = {
        name: [getattr(importlib.import_module(room), name) for room in rooms]
        for name, rooms in twice.items()
    }
    same = {n for n, found in meanings.items() if len({id(each) for each in found}) < len(found)}
    assert same == {"Digest"}  # a room of its own, and the compactor that most people use


def test_the_house_lists_every_room() -> None:
    """No room is missing from the front door, and none is empty."""
    rooms = {info.name for info in pkgutil.iter_modules([str(ROOT)])}

    assert set(dir(agentic)) == {n for n in rooms if not n.startswith("_")} | {"__version__"}
    assert all(getattr(agentic, each) for each in dir(agentic))


def test_the_top_of_the_tree_shows_only_rooms() -> None:
    """What all of them use and no user sees is in one place below it."""
    packages = {path.parent.name for path in ROOT.glob("*/__init__.py")}
    modules = {path.stem for path in ROOT.glob("*.py")}

    assert packages | modules == set(agentic._ROOMS) | {"__init__", "__main__", "_base"}


def test_unknown_room_is_an_attribute_error() -> None:
    """A misspelt room is the mistake it looks like."""
    with pytest.raises(AttributeError, match="tuncate"):
        _ = agentic.tuncate


@pytest.mark.parametrize(
    ("statement", "absent"),
    [
        ("import agentic", ["attr", "asyncio", "blinker", "agentic.errors"]),
        ("from agentic import truncate", ["asyncio", "blinker", "agentic.messages"]),
        ("from agentic import limits, usage", ["asyncio", "blinker", "agentic.messages"]),
        ("from agentic import limits, usage", ["decimal", "genai_prices", "pydantic"]),
        ("from agentic import messages", ["asyncio", "blinker", "agentic.tokens"]),
        ("from agentic.context import strategies", ["asyncio", "agentic.context.budget"]),
        ("from agentic import loop, history", ["asyncio", "msgspec", "httpx", "hypothesis"]),
        ("from agentic import loop", ["agentic.context", "agentic.history", "agentic.tools"]),
        ("from agentic import tools", ["asyncio", "msgspec"]),
        ("from agentic.loop import Runner", ["asyncio", "agentic.history._jsonl"]),
        (
            "from agentic import session",
            ["asyncio", "difflib", "agentic.context.digest", "agentic.loop._run"],
        ),
        ("from agentic import testing", ["hypothesis", "pytest"]),
        (
            "from agentic.providers import anthropic, bedrock, cohere, gemini",
            ["anthropic", "boto3", "botocore", "cohere", "google", "httpx"],
        ),
        (
            "from agentic.providers import ollama, openai_chat, openai_responses",
            ["httpx", "openai"],
        ),
        (
            "from agentic.app import replay",
            ["agentic.app.cli", "agentic.app.config", "click", "rich", "yaml"],
        ),
    ],
)
def test_entering_loads_only_rooms_further_left(
    statement: str, absent: list[str], run_python: Callable[[str], str]
) -> None:
    """Somebody who uses one room pays for no other, and for no extra."""
    program = f"import sys; {statement}; print([m for m in {absent!r} if m in sys.modules])"

    assert run_python(program) == "[]"


def test_every_module_has_a_first_sentence() -> None:
    """The docstring of a module begins with a sentence of its own, on one line."""
    for path in ROOT.rglob("*.py"):
        first = (ast.get_docstring(ast.parse(path.read_text())) or "").partition("\n")[0]

        assert first.endswith((".", ":")), path
        assert not first.startswith("This module"), path


_WITHOUT_START = ("agentic.compat", "agentic.bridges", "agentic.durable.dbos")


@pytest.mark.parametrize("name", ["agentic", *ROOMS])
def test_every_room_says_where_to_start(name: str) -> None:
    """Its docstring begins with the few names that a newcomer needs."""
    room = importlib.import_module(name)
    inner = {i.name for i in pkgutil.iter_modules(getattr(room, "__path__", []))} & _PUBLIC
    if len({*room.__all__, *inner}) < 2 or name.startswith(_WITHOUT_START):
        return  # it has nothing to choose from, or nothing for newcomers
    paragraphs = (room.__doc__ or "").split("\n\n")

    named = re.findall(r"`(\w+)`", paragraphs[1])
    assert paragraphs[1].startswith("Start with "), name
    assert 2 <= len(named) <= 5
    assert set(named) <= {*room.__all__, *inner}


_BY_ADAPTER = {"Decider", "IncrementalDecoder", "StreamedResponse"}
"""Every adapter has each: `providers.anthropic.Decider`, `providers.gemini.Decider`."""
_KEPT = {"Result"}
"""Of the source system: what `truncate.tail` returns, and what `Runner.run` returns."""


_BY_FRAMEWORK = {"TruncateToolOutputs"}
"""A bridge's form of a strategy, under the strategy's name: `bridges.langchain` has one."""


def test_public_class_names_are_unique() -> None:
    """One name means one thing, whatever room it is imported from."""
    classes: dict[str, set[object]] = {}
    for room in map(importlib.import_module, ROOMS):
        for name in room.__all__:
            if isinstance(getattr(room, name), type):
                classes.setdefault(name, set()).add(getattr(room, name))

    shared = {name for name, meanings in classes.items() if len(meanings) > 1}
    assert shared == _BY_ADAPTER | _KEPT | _BY_FRAMEWORK


_IRREGULAR = """
given found known told said made shown kept sent held gone done taken written left lost seen heard
chosen broken brought bought caught drawn driven fallen felt forgotten frozen hidden laid led meant
paid spent spoken struck taught thought thrown understood won worn begun built bound born grown
sought shut slept torn wound woven undone redone rewritten
"""
_NOUNS_IN_ED = {"need", "seed", "feed", "speed", "hundred", "embed", "exceed"}


def _bound_names(tree: ast.AST) -> list[str]:
    """Return the name of each binding of a local or a parameter, with attributes of classes."""
    nodes = [n for n in ast.walk(tree) if isinstance(n, ast.FunctionDef | ast.AsyncFunctionDef)]
    parts = {id(part): part for node in nodes for part in ast.walk(node)}.values()
    names = [p.id for p in parts if isinstance(p, ast.Name) and isinstance(p.ctx, ast.Store)]
    return [*names, *(part.arg for part in parts if isinstance(part, ast.arg))]


def test_names_say_what_they_hold() -> None:
    """Not what happened to it: at most 1 % are participles, such as `found` and `given`.

    A participle says that something was done, and leaves out to what: design/layout.md.
    """
    trees = [ast.parse(path.read_text(encoding="utf-8")) for path in sorted(ROOT.rglob("*.py"))]
    names = [name.strip("_") for tree in trees for name in _bound_names(tree)]

    participles = [
        name
        for name in names
        if name in _IRREGULAR.split()
        or (re.fullmatch("[a-z]+ed", name) and name not in _NOUNS_IN_ED)
    ]
    assert len(participles) <= 0.01 * len(names), sorted(set(participles))
