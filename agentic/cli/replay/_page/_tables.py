"""The tables of the report: policies with their figures, and compactions one by one."""

from collections.abc import Sequence

from agentic.cli.replay._page._html import Markup, tag
from agentic.cli.replay._records import Cut
from agentic.cli.replay._summary import COLUMNS, Column, Row, best_of

__all__ = ["cuts_table", "figures_table", "how_to_read"]

_SHOWN = 25


def figures_table(rows: Sequence[Row], caption: str) -> Markup:
    """Show every figure of every policy, the best of each column marked."""
    best = {column.key: best_of(rows, column) for column in COLUMNS}
    head = [
        tag("th", tag("span", column.title, title=column.told), scope="col") for column in COLUMNS
    ]
    body = [
        tag(
            "tr",
            tag("th", tag("i", class_=f"chip p{at % 8}"), row.policy, scope="row"),
            *(_figure(row, column, best[column.key]) for column in COLUMNS),
            data_policy=at,
        )
        for at, row in enumerate(rows)
    ]
    table = tag(
        "table",
        tag("caption", caption),
        tag("thead", tag("tr", tag("th", "policy", scope="col"), *head)),
        tag("tbody", *body),
        class_="figures",
    )
    return tag("div", table, class_="wide", tabindex=0, role="region", aria_label=caption)


def _figure(row: Row, column: Column, best: set[str]) -> Markup:
    value = getattr(row, column.key)
    if value is None:
        return tag("td", "-", class_="none", data_title=column.title)
    if row.policy in best:
        shown = tag("b", column.show(value), tag("span", " best", class_="unseen"))
        return tag("td", shown, class_="best", data_title=column.title)
    bad = column.key in {"over", "invalid"} and value > 0
    marked = "bad" if bad else None
    return tag("td", column.show(value), class_=marked, data_title=column.title)


def cuts_table(cuts: Sequence[Cut]) -> Markup:
    """List compactions in words, for those who do not point at marks, and for paper."""
    if not cuts:
        return tag("p", "No compaction.", class_="quiet")
    rows = [
        tag(
            "tr",
            tag("td", f"{cut.turn:,}"),
            tag("td", f"{cut.before:,}"),
            tag("td", f"{cut.after:,}"),
            tag("td", ", ".join(cut.what) or "-", class_="words"),
        )
        for cut in cuts[:_SHOWN]
    ]
    head = (tag("th", title, scope="col") for title in ("turn", "before", "after", "what is gone"))
    table = tag("table", tag("thead", tag("tr", *head)), tag("tbody", *rows), class_="cuts")
    more = len(cuts) - _SHOWN
    rest = tag("p", f"and {more:,} more", class_="quiet") if more > 0 else ""
    noun = "compaction" if len(cuts) == 1 else "compactions"
    summary = tag("summary", f"{len(cuts):,} {noun}, one by one")
    return tag("details", summary, tag("div", table, class_="wide"), rest)


def how_to_read() -> Markup:
    """Explain every column."""
    terms = [part for c in COLUMNS for part in (tag("dt", c.title), tag("dd", c.told))]
    marked = "Bold with a dot: the best figure of a policy whose requests could all be sent."
    return tag(
        "details",
        tag("summary", "What the figures mean"),
        tag("dl", *terms),
        tag("p", marked, class_="quiet"),
        class_="legend",
    )
