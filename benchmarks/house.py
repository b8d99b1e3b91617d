"""Figures about the style of the code, and a picture of the subpackages and their files.

    python benchmarks/house.py [folder] [--svg picture.svg] [--providers] [--circles] [--turn]

The folder is a checkout, by default this one. In the picture, each row is a level of imports, with
the errors at the bottom. Each bar is a file of a subpackage, and its width is the file's length.

- **Rooms** are the modules and subpackages directly in the package. An **arrow** is a pair of
  rooms of which one imports the other: at its top, in a function or for types only. It goes
  **back** if the import contract in pyproject.toml does not have the imported room further down.
  A **circle** is a largest group of modules of which each imports all others, directly or not.
- A module **names a provider** if an identifier or an imported module in its code has the name of
  the provider's folder as a whole word, in any case, or if a string is that name, alone or before
  the name of a model (`gemini:gemini-2.5-pro`). It **mentions** the provider if any string has the
  name as a whole word: an extra field or a header, the id of a model, an example in an error.
  Comments, docstrings, addresses of web pages and names of models alone (`gemini-3`) do not count.
  `--providers` lists both, and how many are in `limits`, which holds facts about models, and in
  `testing`, whose server shares no code with what it judges. One figure leaves out that server and
  `app.replay`, which knows what other programs write and do, such as the command of a provider.
- `--turn` runs one turn of a Runner without a store or a budget, a decision, a call of a tool and
  the reply, and lists the files whose functions run. What only runs on import does not count.
"""

import argparse
import ast
import asyncio
import re
import statistics
import sys
import tokenize
import tomllib
from collections.abc import Iterator, Mapping
from html import escape
from pathlib import Path
from types import FrameType
from typing import Any

import attrs

LEVELS = [
    ["app"],
    ["bridges", "durable"],
    ["providers"],
    ["compat", "session", "testing"],
    ["loop"],
    ["context"],
    ["history", "tools"],
    ["tokens", "events", "protocols", "messages"],
    ["limits", "usage", "truncate"],
    ["_base", "errors"],
]
LINES_PER_PIXEL = 10
ROW_HEIGHT, LABEL_HEIGHT, GAP = 120, 18, 14
NARROWEST_WITH_NAME = 10
_DIRECTIVES = ("# type:", "# pragma", "# noqa", "#!")
WIDTH = 1320
_NEWLOCALS = 2
"""`inspect.CO_NEWLOCALS`."""


@attrs.frozen
class Module:
    """One file of the package."""

    path: Path
    lines: int
    tree: ast.Module
    comments: int
    """The number of lines with a comment, alone or after code, without directives for tools."""

    @property
    def room(self) -> str:
        """The subpackage of the file, or its name at the top level, except for `__init__`."""
        is_alone = len(self.path.parts) == 1 and self.path.stem.startswith("__")
        return "errors" if is_alone else self.path.parts[0].removesuffix(".py")


def read_modules(package: Path) -> list[Module]:
    """Read every file of a package."""
    modules = []
    for path in sorted(package.rglob("*.py")):
        text = path.read_text()
        with path.open("rb") as file:
            found = [t for t in tokenize.tokenize(file.readline) if t.type == tokenize.COMMENT]
        told = [t for t in found if not t.string.startswith(_DIRECTIVES)]
        lines = text.count("\n")
        modules.append(Module(path.relative_to(package), lines, ast.parse(text), len(told)))
    return modules


def functions(tree: ast.Module) -> Iterator[int]:
    """Yield the length of each function, in lines."""
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            yield (node.end_lineno or node.lineno) - node.lineno + 1


def import_lines(tree: ast.Module) -> int:
    """Count the lines of imports and of `__all__`."""
    kinds = ast.Import | ast.ImportFrom
    lists = [n for n in tree.body if isinstance(n, ast.Assign) and _targets(n) == ["__all__"]]
    found = [n for n in ast.walk(tree) if isinstance(n, kinds)] + lists
    return sum((node.end_lineno or node.lineno) - node.lineno + 1 for node in found)


def _targets(node: ast.Assign) -> list[str]:
    return [target.id for target in node.targets if isinstance(target, ast.Name)]


def listed(modules: list[Module]) -> list[str]:
    """Return the entries of `__all__` in all public modules except the bridges."""
    nodes = [node for module in _public(modules) for node in module.tree.body]
    lists = [n for n in nodes if isinstance(n, ast.Assign) and _targets(n) == ["__all__"]]
    return [name for node in lists for name in ast.literal_eval(node.value)]


def handed_on(modules: list[Module]) -> list[str]:
    """Return the names that these modules import as themselves: `import name as name`."""
    nodes = [node for module in _public(modules) for node in ast.walk(module.tree)]
    aliases = [each for n in nodes if isinstance(n, ast.ImportFrom) for each in n.names]
    return [each.name for each in aliases if each.asname == each.name]


def _public(modules: list[Module]) -> Iterator[Module]:
    for module in modules:
        parts = [part for part in module.path.with_suffix("").parts if part != "__init__"]
        private = any(part.startswith("_") for part in parts)
        if not private and parts[:1] not in (["bridges"], ["durable"]):
            yield module


def imports_of(modules: list[Module]) -> dict[str, set[str]]:
    """Return which modules each module imports, by name (`loop._runner`), anywhere in its code."""
    paths = {_dotted(module): module for module in modules}
    return {
        name: {_nearest(each, paths) for each in _imported(module)} - {"", name}
        for name, module in paths.items()
    }


def _dotted(module: Module) -> str:
    parts = module.path.with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" and len(parts) > 1 else parts)


def _imported(module: Module) -> Iterator[str]:
    for node in ast.walk(module.tree):
        if isinstance(node, ast.ImportFrom) and f"{node.module}.".startswith("agentic."):
            # Either a module in it, or a name of it.
            yield from (f"{node.module}.{each.name}".partition(".")[2] for each in node.names)
        elif isinstance(node, ast.Import):
            names = [each.name for each in node.names]
            yield from (n.partition(".")[2] for n in names if n.startswith("agentic."))


def _nearest(name: str, paths: Mapping[str, Module]) -> str:
    while name and name not in paths:
        name = name.rpartition(".")[0]
    return name


def arrows(imports: dict[str, set[str]]) -> set[tuple[str, str]]:
    """Return the pairs of rooms of which the first imports the second."""
    pairs = {
        (name.partition(".")[0], each.partition(".")[0])
        for name, targets in imports.items()
        for each in targets
    }
    return {pair for pair in pairs if pair[0] != pair[1]}


def arrows_back(pairs: set[tuple[str, str]], checkout: Path) -> list[tuple[str, str]]:
    """Return the arrows that do not go down the levels of the import contract."""
    settings = tomllib.loads((checkout / "pyproject.toml").read_text())
    contract = settings["tool"]["importlinter"]["contracts"][0]
    level = {
        room.strip("() "): number
        for number, rooms in enumerate(contract["layers"])
        for room in re.split("[|:]", rooms)
    }
    return sorted(p for p in pairs if level.get(p[1], len(level)) <= level.get(p[0], -1))


def circles(imports: dict[str, set[str]]) -> list[list[str]]:
    """Return the groups of modules that import each other, directly or not."""
    reached = {name: _reach(name, imports) for name in imports}
    groups = {
        frozenset(each for each in reached[name] if name in reached[each]) for name in reached
    }
    return sorted(sorted(group) for group in groups if len(group) > 1)


def _reach(name: str, imports: dict[str, set[str]]) -> set[str]:
    reached: set[str] = set()
    waiting = [name]
    while waiting:
        for each in imports[waiting.pop()] - reached:
            reached.add(each)
            waiting.append(each)
    return reached


def naming(modules: list[Module], *, mentions: bool = False) -> dict[str, list[str]]:
    """Return, for each provider, the modules outside its folder that name or mention it."""
    providers = sorted(
        module.path.parts[1]
        for module in modules
        if module.path.parts[0] == "providers"
        and module.path.name == "_decider.py"
        and len(module.path.parts) == len(("providers", "a name", "_decider.py"))
    )
    words = {_dotted(module): set(_words(module.tree)) for module in modules}
    patterns = {each: _mention(each) if mentions else _name(each) for each in providers}
    return {
        provider: [
            name
            for name, texts in words.items()
            if not f"{name}.".startswith(f"providers.{provider}.")
            and any(map(pattern.search, texts))
        ]
        for provider, pattern in patterns.items()
    }


def without_readers(named_by: Mapping[str, list[str]]) -> dict[str, list[str]]:
    """Return the same without the model server and what reads or repeats other programs."""
    left_out = ("testing.", "app.replay.")
    return {
        provider: [name for name in names if not name.startswith(left_out)]
        for provider, names in named_by.items()
    }


def _mention(provider: str) -> re.Pattern[str]:
    # Not the name of a model, such as `gemini-3`.
    return re.compile(rf"(?<![a-z]){provider}(?![a-z]|-\d)", re.IGNORECASE)


def _name(provider: str) -> re.Pattern[str]:
    # Strings come with a quote before them, see `_words`.
    return re.compile(
        rf"^'{provider}$|^'{provider}:|^[^'].*(?<![a-z]){provider}(?![a-z])|^{provider}(?![a-z])",
        re.IGNORECASE,
    )


def _words(tree: ast.Module) -> Iterator[str]:
    """Yield the identifiers, the imported modules and the strings of code, without addresses.

    A string has a quote before it.
    """
    bodies = [b for n in ast.walk(tree) if isinstance(b := getattr(n, "body", None), list)]
    # Also what documents an attribute: any string that is a statement.
    documents = {id(s.value) for body in bodies for s in body if isinstance(s, ast.Expr)}
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            if id(node) not in documents:
                yield "'" + re.sub(r"https?://\S+", "", node.value)
            continue
        for field in ("id", "attr", "name", "arg", "module", "asname"):
            if isinstance(word := getattr(node, field, None), str):
                yield word


class _Model:
    """Calls a tool once, then replies."""

    async def decide(self, request: Any, /) -> Any:
        from agentic.loop import Decision  # noqa: PLC0415  not before the checkout is known
        from agentic.messages import ToolCall  # noqa: PLC0415

        return Decision("Done.") if request.tool_results else Decision("", [ToolCall("c1", "read")])


class _Tools:
    """Has one tool, which answers at once."""

    async def list_tools(self) -> Any:
        from agentic.tools import ToolDefinition  # noqa: PLC0415

        return [ToolDefinition("read")]

    async def execute(self, call: Any, /) -> Any:
        from agentic.messages import ToolResult  # noqa: PLC0415

        return ToolResult(call.id, call.name, "x = 1")


@attrs.define
class Entries:
    """The functions of a package that a program enters, by file: set it as the profiler."""

    package: Path
    functions: dict[str, set[str]] = attrs.field(factory=dict)
    _imports: int = 0
    """How many modules of the package are being imported."""

    def __call__(self, frame: FrameType, event: str, _: Any) -> None:
        """Note a function when it is called, unless an import calls it."""
        code = frame.f_code
        path = Path(code.co_filename)
        # Not what attrs writes, which belongs to no file.
        if event not in {"call", "return"} or not path.is_relative_to(self.package):
            return
        if code.co_name == "<module>":
            self._imports += 1 if event == "call" else -1
        # The body of a class runs on import, too: it has no locals of its own.
        elif event == "call" and not self._imports and code.co_flags & _NEWLOCALS:
            name = str(path.relative_to(self.package))
            self.functions.setdefault(name, set()).add(code.co_qualname)


def turn(package: Path) -> dict[str, set[str]]:
    """Run one turn, and return the functions that it enters, by file."""
    from agentic.loop import Runner  # noqa: PLC0415  not before the checkout is known

    entries = Entries(package)
    runner = Runner(_Model(), _Tools())

    async def run() -> None:
        # Not around the event loop, which writes the result into an error that nobody sees.
        sys.setprofile(entries)
        try:
            await runner.run("What is x?")
        finally:
            sys.setprofile(None)

    asyncio.run(run())
    return entries.functions


def tests(folder: Path) -> list[ast.FunctionDef]:
    """Return the tests of a checkout."""
    trees = [ast.parse(path.read_text()) for path in sorted(folder.rglob("test_*.py"))]
    nodes = [node for tree in trees for node in ast.walk(tree)]
    return [n for n in nodes if isinstance(n, ast.FunctionDef) and n.name.startswith("test_")]


def figures(checkout: Path) -> list[tuple[str, str]]:
    """Return the rows of the table."""
    modules = read_modules(checkout / "agentic")
    lengths = sorted(m.lines for m in modules)
    sizes = sorted(size for m in modules for size in functions(m.tree))
    total = sum(lengths)
    named = tests(checkout / "tests")
    words = statistics.median(len(n.name.removeprefix("test_").split("_")) for n in named)
    told = sum(ast.get_docstring(n) is not None for n in named)
    p90 = sizes[int(0.9 * len(sizes))]
    imports = imports_of(modules)
    pairs = arrows(imports)
    rooms = {name.partition(".")[0] for name in imports}
    back = arrows_back(pairs, checkout)
    names = naming(modules)
    named_by, outside = names.values(), without_readers(names).values()
    house = (len(rooms), len(pairs), len(back), len(circles(imports)))
    return [
        ("rooms / arrows / arrows back / circles", " / ".join(map(str, house))),
        (
            "modules outside a provider's folder that name it: most / least",
            f"{max(map(len, named_by))} / {min(map(len, named_by))}",
        ),
        (
            "without testing and app.replay",
            f"{max(map(len, outside))} / {min(map(len, outside))}",
        ),
        ("files", f"{len(modules)}"),
        ("lines", f"{total:,}"),
        ("module, lines: median", f"{statistics.median(lengths):.0f}"),
        ("modules of 60 lines or fewer", f"{sum(n <= 60 for n in lengths)}"),
        ("modules over 450 lines", f"{sum(n > 450 for n in lengths)}"),
        (
            "function, lines: median / 90th percentile / longest",
            f"{statistics.median(sizes):.0f} / {p90} / {sizes[-1]}",
        ),
        (
            "imports and __all__, % of lines",
            f"{100 * sum(import_lines(m.tree) for m in modules) / total:.0f}",
        ),
        ("comments, % of lines", f"{100 * sum(m.comments for m in modules) / total:.1f}"),
        ("entries of __all__, bridges excepted", f"{len(listed(modules))}"),
        ("different ones", f"{len(set(listed(modules)))}"),
        ("handed on, and listed in another room", f"{len(handed_on(modules))}"),
        ("words in a test's name, median", f"{words:.0f}"),
        ("tests with a docstring, %", f"{100 * told / len(named):.0f}"),
    ]


def draw(modules: list[Module]) -> str:
    """Return the rooms as SVG."""
    shapes: list[str] = []
    top = GAP
    for level in LEVELS:
        left = GAP
        for room in level:
            files = sorted((m for m in modules if m.room == room), key=lambda m: -m.lines)
            if not files:
                continue
            total = sum(m.lines for m in files)
            label = f"{room}: {len(files)} files, {total:,} lines"
            shapes.append(f'<text class="room" x="{left}" y="{top + 12}">{escape(label)}</text>')
            x = float(left)
            for module in files:
                width = module.lines / LINES_PER_PIXEL
                if x + width > WIDTH:  # a long room goes on in another line
                    x, top = float(GAP), top + ROW_HEIGHT + 2
                shapes += _bar(module, x, top + LABEL_HEIGHT, width)
                x += width
            left = int(max(x, left + 7 * len(label))) + GAP
        top += ROW_HEIGHT + LABEL_HEIGHT + GAP
    style = (
        "text{font-family:sans-serif;fill:#222}.room{font-size:12px;font-weight:bold}"
        ".file{font-size:8px}rect{fill:#dbe7f3;stroke:#fff;stroke-width:0.7}"
        "@media(prefers-color-scheme:dark){text{fill:#ddd}rect{fill:#2c4358;stroke:#0d1117}}"
    )
    size = f'width="{WIDTH}" height="{top}" viewBox="0 0 {WIDTH} {top}"'
    head = f'<svg xmlns="http://www.w3.org/2000/svg" {size}><style>{style}</style>'
    return "\n".join([head, *shapes, "</svg>\n"])


def _bar(module: Module, x: float, y: int, width: float) -> Iterator[str]:
    yield f'<rect x="{x:.1f}" y="{y}" width="{width:.1f}" height="{ROW_HEIGHT}"/>'
    if width >= NARROWEST_WITH_NAME:
        parts = module.path.with_suffix("").parts
        parts = parts[:-1] if parts[-1] == "__init__" else parts
        name = "/".join(part.lstrip("_") for part in (parts[1:] or parts)[-2:])
        at = f"{x + width / 2 + 3:.1f} {y + ROW_HEIGHT - 4}"
        yield f'<text class="file" transform="translate({at}) rotate(-90)">{escape(name)}</text>'


def main() -> None:
    """Print the table, and draw the picture if requested."""
    parser = argparse.ArgumentParser(description="Figures of the code's style.")
    here = Path(__file__).resolve().parents[1]
    parser.add_argument("checkout", nargs="?", type=Path, default=here)
    parser.add_argument("--svg", type=Path)
    parser.add_argument("--providers", action="store_true", help="list who names which provider")
    parser.add_argument("--circles", action="store_true", help="list arrows back, and circles")
    parser.add_argument("--turn", action="store_true", help="list the files that a turn enters")
    given = parser.parse_args()
    package = given.checkout.resolve() / "agentic"
    for name, figure in figures(given.checkout):
        print(f"{name:65}{figure:>20}")
    if given.providers:
        modules = read_modules(package)
        show_naming(naming(modules), naming(modules, mentions=True))
    if given.circles:
        imports = imports_of(read_modules(package))
        for room, target in arrows_back(arrows(imports), given.checkout):
            print(f"back: {room} -> {target}")
        for group in circles(imports):
            print(f"circle: {', '.join(group)}")
    if given.turn:
        sys.path.insert(0, str(package.parent))
        entered = turn(package)
        print(f"a turn enters {sum(map(len, entered.values()))} functions in {len(entered)} files:")
        for path, names in sorted(entered.items()):
            print(f"  {path:40}{len(names):>4}")
    if given.svg:
        given.svg.write_text(draw(read_modules(package)))


def show_naming(named_by: dict[str, list[str]], mentioned_by: dict[str, list[str]]) -> None:
    """Print who names which provider, and who mentions it otherwise."""
    for provider, names in named_by.items():
        apart = [sum(n.startswith(f"{room}.") for n in names) for room in ("limits", "testing")]
        print(f"{provider}: {len(names)}, of them {apart[0]} in limits, {apart[1]} in testing")
        for name in names:
            print(f"  {name}")
        others = [name for name in mentioned_by[provider] if name not in names]
        print(f"  mentioned by {len(others)} more: {', '.join(others)}")


if __name__ == "__main__":
    main()
