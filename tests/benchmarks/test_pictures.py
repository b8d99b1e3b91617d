"""The pictures of the docs: each script of `make picture` still draws what the pages say."""

import runpy
from pathlib import Path

from agentic.context.budget import Policy

PICTURES = Path(__file__).resolve().parents[2] / "docs/pictures"


def test_epochs_are_fewer_and_cheaper_than_changes_at_each_request() -> None:
    """And no request of either conversation is refused."""
    script = runpy.run_path(str(PICTURES / "epochs.py"))
    both = [script["Run"](Policy(16_000, epochs=epochs)) for epochs in (True, False)]
    for run in both:
        run.talk()

    picture = script["draw"](both)

    grown, changed = (run.server.report for run in both)
    assert not grown.refused
    assert not changed.refused
    assert grown.reasoning_lost == changed.reasoning_lost == 0
    assert grown.changes < changed.changes
    assert grown.dollars < changed.dollars
    assert picture.count('class="epoch"') == grown.changes + changed.changes


def test_each_picture_is_shown_on_a_page() -> None:
    """One that is not was forgotten, and its script no longer ran."""
    pages = [*PICTURES.parent.rglob("*.md"), PICTURES.parents[1] / "README.md"]
    text = "".join(page.read_text(encoding="utf-8") for page in pages)
    names = {each.name for each in PICTURES.glob("*.[ps][nv]g")}
    shown = {name for name in names if f"pictures/{name}" in text}
    assert names - shown == {"epochs.template.svg"}
