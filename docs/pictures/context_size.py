"""Draws context-size.svg: the size of the context in a real session of examples/mono-like.

The offline decider reads this repository's own files in a window of 16,000 tokens; every figure in
the picture comes from the events of that run and from its archive. Draw it anew by `make picture`.
"""

import asyncio
import runpy
from pathlib import Path
from string import Template

import attrs

from agentic import events, history, tokens

ROOT = Path(__file__).resolve().parents[2]
PICTURE = Path(__file__).with_name("context-size.svg")
TEMPLATE = Template(PICTURE.with_suffix(".template.svg").read_text())
WINDOW = 16_000
HIGHEST = 1.6 * WINDOW
LEFT, RIGHT, TOP, BOTTOM = 64, 836, 56, 316


@attrs.define
class Session:
    """What was seen of a run. Sizes in tokens."""

    store: history.MemoryStore
    sent: list[int] = attrs.field(factory=list)
    """The context of each turn."""
    said: list[int] = attrs.field(factory=list)
    """Everything said up to that turn."""
    compacted: dict[int, int] = attrs.field(factory=dict)
    """The turns before which the context was compacted, and its size until then."""

    async def see(self, _: object, event: events.Event) -> None:
        """Take in an event."""
        match event:
            case events.TurnStart(context_tokens=int(size)):
                self.sent.append(size)
                self.said.append(tokens.count_tokens(await self.store.full()))
            case events.ContextCompactionEnd(error=None, tokens_before=size):
                self.compacted[len(self.sent)] = size

    def place(self, turn: int, size: float) -> tuple[float, float]:
        """Return the point of the picture where a size belongs."""
        x = LEFT + (RIGHT - LEFT) * turn / (len(self.sent) - 1)
        return round(x, 1), round(BOTTOM - (BOTTOM - TOP) * size / HIGHEST, 1)


def run() -> Session:
    """Let mono-like work through the repository."""
    mono_like = runpy.run_path(str(ROOT / "examples/mono-like/__main__.py"))
    session = Session(history.MemoryStore())
    agent = mono_like["make_agent"](mono_like["Offline"](), session.store, WINDOW)
    steps = [f"read {path}" for path in sorted(ROOT.glob("agentic/[cmt]*/**/*.py"))[:44]]
    steps[10::11] = [
        f"find {word} in {ROOT}/agentic" for word in ("tokens", "notice", "view", "id")
    ]
    for signal in events.signals.values():
        signal.connect(session.see)
    asyncio.run(agent.run(" then ".join(steps)))
    return session


def draw(session: Session) -> str:
    """Write the picture."""
    line = []
    for turn, size in enumerate(session.sent):
        if turn in session.compacted:
            line.append(session.place(turn, session.compacted[turn]))
        line.append(session.place(turn, size))
    last = len(session.sent) - 1
    said = [session.place(t, size) for t, size in enumerate(session.said) if size <= HIGHEST]
    return TEMPLATE.substitute(
        title=f"{last + 1} turns in a window of {WINDOW:,} tokens: {session.said[-1]:,} tokens "
        f"were said, {max(session.sent):,} at most were sent",
        line=points(line),
        area=points([session.place(0, 0), *line, session.place(last, 0)]),
        said=points(said),
        rules="\n".join(
            rule(session.place(0, size)[1], f"{name} {size:,}")
            for name, size in (("window", WINDOW), ("less reserve", WINDOW * 3 // 4))
        ),
        marks="\n".join(mark(session, turn) for turn in session.compacted),
        ticks="\n".join(
            f'<text class="tick" x="{session.place(turn, 0)[0]}" y="334">{turn + 1}</text>'
            for turn in range(9, last + 1, 10)
        ),
        compactions=len(session.compacted),
    )


def points(places: list[tuple[float, float]]) -> str:
    """Write the points of a line."""
    return " ".join(f"{x},{y}" for x, y in places)


def rule(y: float, label: str) -> str:
    """Draw a level, and name it."""
    line = f'<line class="rule" x1="{LEFT}" x2="{RIGHT}" y1="{y}" y2="{y}"/>'
    return f'{line}<text x="{LEFT + 6}" y="{y - 6}">{label}</text>'


def mark(session: Session, turn: int) -> str:
    """Draw a compaction: from which size to which."""
    before, after = session.compacted[turn], session.sent[turn]
    (x, high), (_, low) = session.place(turn, before), session.place(turn, after)
    told = f"<title>{before:,} to {after:,} tokens</title>"
    line = f'<line class="drop" x1="{x}" y1="{high}" x2="{x}" y2="{low}"/>'
    return f'{line}<circle class="mark" cx="{x}" cy="{high}" r="5">{told}</circle>'


if __name__ == "__main__":
    PICTURE.write_text(draw(run()))
