"""What command lines draw with lines and blocks: tables, rules, trees, bars. All made."""

import random
from collections.abc import Sequence

STYLES = "─│┌┬┐├┼┤└┴┘", "─│╭┬╮├┼┤╰┴╯", "━┃┏┳┓┣╋┫┗┻┛", "═║╔╦╗╠╬╣╚╩╝"
"""Line, side, and the corners from the upper left to the lower right."""
BARS = "█░", "█ ", "━╺"
"""What is done and what is not."""
WORDS = """
active build cache client config core count deploy docs error events file index job latest list
main memory name node package path project queue report result retry server session size state
status store stream table task test time token total user utils value version worker
""".split()  # noqa: SIM905  one word a line would be longer than all the rest


def drawings(seed: int) -> str:
    """Make drawings, other ones for each seed."""
    draw = random.Random(seed)
    made = []
    for _ in range(150):
        style = draw.choice(STYLES)
        made.append(table(draw, style))
        made.append(style[0] * draw.choice((20, 40, 60, 72, 78, 80, 100, 120)))
        made.append(tree(draw))
        made.append(bar(draw))
    return "\n".join(made)


def table(draw: random.Random, style: str) -> str:
    """Draw a table, a rule below its first row; with one column it is a panel."""
    line, side = style[0], style[1]
    widths = [draw.randrange(4, 30) for _ in range(draw.randrange(1, 6))]

    def rule(corners: Sequence[str]) -> str:
        return corners[0] + corners[1].join(line * (size + 2) for size in widths) + corners[2]

    def row() -> str:
        cells = (name(draw)[:size].ljust(size) for size in widths)
        return f"{side} {f' {side} '.join(cells)} {side}"

    rows = [row() for _ in range(draw.randrange(1, 8))]
    return "\n".join([rule(style[2:5]), row(), rule(style[5:8]), *rows, rule(style[8:])])


def tree(draw: random.Random, indent: str = "") -> str:
    """Draw a folder, four levels deep at most."""
    entries = draw.randrange(2, 7)
    lines = []
    for left in reversed(range(entries)):
        suffix = draw.choice(("py", "md", "json", "txt"))
        lines.append(f"{indent}{'├' if left else '└'}── {name(draw)}.{suffix}")
        if len(indent) < 12 and draw.random() < 0.3:
            lines.append(tree(draw, indent + ("│   " if left else "    ")))
    return "\n".join(lines)


def bar(draw: random.Random) -> str:
    """Draw how far something is."""
    done, style = draw.randrange(41), draw.choice(BARS)
    return f"{name(draw)} {style[0] * done}{style[1] * (40 - done)} {done * 5 // 2}%"


def name(draw: random.Random) -> str:
    """Make a name of one to three words."""
    return draw.choice("_.- ").join(draw.choices(WORDS, k=draw.randrange(1, 4)))
