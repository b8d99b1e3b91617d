"""Figures about the style of the code, and a picture of the subpackages and their files.

    python benchmarks/house.py [folder] [--svg picture.svg]

The folder is a checkout, by default this one. In the picture, each row is a level of imports, with
the errors at the bottom. Each bar is a file of a subpackage, and its width is the file's length.
"""

import argparse
import ast
import statistics
import tokenize
from collections.abc import Iterator
from html import escape
from pathlib import Path

import attrs

LEVELS = [
    ["cli"],
    ["config"],
    ["bridges", "compat", "replay"],
    ["providers"],
    ["session", "testing"],
    ["loop"],
    ["context"],
    ["history", "tools"],
    ["tokens", "events", "messages"],
    ["limits", "usage", "truncate", "errors"],
]
LINES_PER_PIXEL = 10
ROW_HEIGHT, LABEL_HEIGHT, GAP = 92, 18, 14
NARROWEST_WITH_NAME = 10
_DIRECTIVES = ("# type:", "# pragma", "# noqa", "#!")
WIDTH = 1320


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
        """The subpackage of the file; a file at the top level is counted with the errors."""
        return self.path.parts[0] if len(self.path.parts) > 1 else "errors"


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
    """Return the names that these modules import as themselves, and so export without listing."""
    nodes = [node for module in _public(modules) for node in ast.walk(module.tree)]
    aliases = [each for n in nodes if isinstance(n, ast.ImportFrom) for each in n.names]
    return [each.name for each in aliases if each.asname == each.name]


def _public(modules: list[Module]) -> Iterator[Module]:
    for module in modules:
        parts = [part for part in module.path.with_suffix("").parts if part != "__init__"]
        private = any(part.startswith("_") for part in parts)
        if not private and parts[:1] not in (["bridges"], ["durable"]):
            yield module


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
    return [
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
        ("exported without being listed", f"{len(handed_on(modules))}"),
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
        name = module.path.stem if module.path.stem != "__init__" else module.path.parent.name
        at = f"{x + width / 2 + 3:.1f} {y + ROW_HEIGHT - 4}"
        yield f'<text class="file" transform="translate({at}) rotate(-90)">{escape(name)}</text>'


def main() -> None:
    """Print the table, and draw the picture if requested."""
    parser = argparse.ArgumentParser(description="Figures of the code's style.")
    here = Path(__file__).resolve().parents[1]
    parser.add_argument("checkout", nargs="?", type=Path, default=here)
    parser.add_argument("--svg", type=Path)
    given = parser.parse_args()
    for name, figure in figures(given.checkout):
        print(f"{name:55}{figure:>16}")
    if given.svg:
        given.svg.write_text(draw(read_modules(given.checkout / "agentic")))


if __name__ == "__main__":
    main()
