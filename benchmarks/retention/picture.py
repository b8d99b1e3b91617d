"""Draws retention.svg: evidence against budget, one curve a strategy.

    python -m benchmarks.retention --picture benchmarks/retention/retention.svg

Every figure in it comes from the run that draws it.
"""

import math
from collections.abc import Sequence

from benchmarks.retention.measure import BUDGETS, Row

__all__ = ["draw"]

WIDTH, HEIGHT = 880, 400
LEFT, RIGHT, TOP, BOTTOM = 64, 610, 48, 340
LOWEST = 0.3
BELOW = "tokens kept; evidence recall of the identifiers that the next 40 messages use"
COLOURS = (
    ("#6e7781", "#9198a1"),
    ("#9a6700", "#d29922"),
    ("#8250df", "#a371f7"),
    ("#1a7f37", "#3fb950"),
    ("#bf3989", "#f778ba"),
    ("#54aeff", "#cae8ff"),
    ("#0969da", "#79c0ff"),
    ("#0a3069", "#388bfd"),
    ("#cf222e", "#f85149"),
    ("#bc4c00", "#f0883e"),
)
"""Of the curves, in a light picture and in a dark one."""
STYLE = """
  svg { background: #ffffff; }
  text { font: 13px system-ui, sans-serif; fill: #57606a; }
  .title { font-size: 15px; font-weight: 600; fill: #1f2328; }
  .rule { stroke: #d0d7de; }
  .curve { fill: none; stroke-width: 2; stroke-linejoin: round; }
  .way-0 { stroke-width: 5; }
  @media (prefers-color-scheme: dark) {
    svg { background: #0d1117; }
    text { fill: #9198a1; }
    .title { fill: #f0f6fc; }
    .rule { stroke: #3d444d; }
  }
"""


def draw(rows: Sequence[Row], sessions: int) -> str:
    """Write the picture."""
    ways = list(dict.fromkeys(row.way for row in rows))
    curves = [[row for row in rows if row.way == way] for way in ways]
    title = f"What a cut keeps of what the agent needs next, {sessions} recorded sessions"
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" role="img">',
        f"<style>{STYLE}{_palettes()}</style>",
        f'<text class="title" x="20" y="26">{title}</text>',
        *(_level(percent) for percent in range(30, 101, 10)),
        *(_tick(budget) for budget in BUDGETS),
        f'<text x="64" y="384">{BELOW}</text>',
    ]
    parts += [
        _curve(curve, f"way-{at % len(COLOURS)}", TOP + 16 + 24 * at)
        for at, curve in enumerate(curves)
    ]
    return "\n".join([*parts, "</svg>", ""])


def _palettes() -> str:
    light, dark = (
        [f".way-{at} {{ stroke: {pair[side]}; }}" for at, pair in enumerate(COLOURS)]
        for side in (0, 1)
    )
    return "\n  ".join(
        ["  " + light[0], *light[1:], "@media (prefers-color-scheme: dark) {", *dark, "}", ""]
    )


def _x(budget: int) -> float:
    share = math.log(budget / BUDGETS[0]) / math.log(BUDGETS[-1] / BUDGETS[0])
    return round(LEFT + (RIGHT - LEFT) * share, 1)


def _y(evidence: float) -> float:
    return round(BOTTOM - (BOTTOM - TOP) * (max(evidence, LOWEST) - LOWEST) / (1 - LOWEST), 1)


def _level(percent: int) -> str:
    y = _y(percent / 100)
    rule = f'<line class="rule" x1="{LEFT}" x2="{RIGHT}" y1="{y}" y2="{y}"/>'
    return f'{rule}<text x="{LEFT - 10}" y="{y + 4}" text-anchor="end">{percent} %</text>'


def _tick(budget: int) -> str:
    name = f"{budget // 1000}k"
    return f'<text x="{_x(budget)}" y="{BOTTOM + 20}" text-anchor="middle">{name}</text>'


def _curve(rows: list[Row], way: str, y: int) -> str:
    points = " ".join(f"{_x(row.budget)},{_y(row.evidence)}" for row in rows)
    told = ", ".join(f"{row.budget // 1000}k {row.evidence:.1%}" for row in rows)
    x = RIGHT + 24
    return (
        f'<polyline class="curve {way}" points="{points}">'
        f"<title>{rows[0].way}: {told}</title></polyline>\n"
        f'<line class="curve {way}" x1="{x}" x2="{x + 18}" y1="{y}" y2="{y}"/>'
        f'<text x="{x + 26}" y="{y + 4}">{rows[0].way}</text>'
    )
