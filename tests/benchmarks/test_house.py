"""The figures of the house: what counts as an arrow, as a circle, and as naming a provider."""

import importlib
import sys
from pathlib import Path
from typing import Any

import pytest

from benchmarks import house

ROOT = Path(house.__file__).parents[1]


@pytest.fixture
def read(tmp_path: Path) -> Any:
    """Return what reads a package that is written from texts by path."""

    def write(files: dict[str, str]) -> list[house.Module]:
        for name, text in files.items():
            path = tmp_path / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
        return house.read_modules(tmp_path)

    return write


def test_function_that_only_an_import_calls_is_no_entry(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Even if a function imports the module while the program runs."""
    (tmp_path / "rows_of_test_house.py").write_text("def row():\n    return 1\nROW = row()\n")
    program = "def use():\n    import rows_of_test_house\n    again()\ndef again():\n    pass\n"
    (tmp_path / "user_of_test_house.py").write_text(program)
    monkeypatch.syspath_prepend(tmp_path)
    user = importlib.import_module("user_of_test_house")
    entries = house.Entries(tmp_path)

    sys.setprofile(entries)
    user.use()
    sys.setprofile(None)

    assert entries.functions == {"user_of_test_house.py": {"use", "again"}}


def test_arrows_and_circles_are_counted_anywhere_in_code(read: Any) -> None:
    """At the top, in a function and for types; a name of a module is not the module."""
    modules = read(
        {
            "tools/__init__.py": "from agentic.tools._a import f\n",
            "tools/_a.py": "def f():\n    from agentic.tools import _b\n",
            "tools/_b.py": "from agentic.tools._a import f\nimport agentic.errors\n",
            "errors.py": "if TYPE_CHECKING:\n    from agentic import limits\n",
            "limits.py": "",
        }
    )

    imports = house.imports_of(modules)

    assert house.arrows(imports) == {("tools", "errors"), ("errors", "limits")}
    assert house.circles(imports) == [["tools._a", "tools._b"]]


@pytest.mark.parametrize(
    ("text", "names", "mentions"),
    [
        ("from agentic.providers import acme", True, True),
        ("from agentic.providers.acme._decider import Decider", True, True),
        ("providers.acme.decode([])", True, True),
        ("def read_acme(): ...", True, True),
        ("wire = 'acme'", True, True),
        ("model = 'acme:large'", True, True),
        ("header = 'acme-beta'", False, True),
        ("model = 'acme-3'", False, False),
        ("# acme", False, False),
        ("def f():\n    'As acme does.'", False, False),
        ("source = 'https://acme.example/docs'", False, False),
        ("placement = 'placemen'", False, False),
    ],
)
def test_naming_is_told_from_mentioning(read: Any, text: str, names: bool, mentions: bool) -> None:
    """An identifier, an import, a name as a string; then any string; prose never counts."""
    modules = read({"providers/acme/_decider.py": "NAME = 'acme'", "app.py": text})

    assert house.naming(modules) == {"acme": ["app"] * names}
    assert house.naming(modules, mentions=True) == {"acme": ["app"] * mentions}


@pytest.mark.slow
def test_few_modules_name_a_provider() -> None:
    """Beside the model server, and what reads or repeats other programs: design/adapters.md."""
    others = house.without_readers(house.naming(house.read_modules(ROOT / "agentic")))

    assert len(others) == 7
    assert {provider: names for provider, names in others.items() if len(names) > 5} == {}
