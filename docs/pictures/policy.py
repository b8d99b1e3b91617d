"""Draws policy.svg: what a policy keeps of a window of 128,000 tokens, to scale.

Every size is a field of `budget.Policy`. Draw it anew by `make picture`.
"""

from pathlib import Path

import attrs

from agentic.context.budget import Policy

PICTURE = Path(__file__).with_name("policy.svg")
SYSTEM_TOKENS = 6_000
"""An example of what is sent in addition to the messages: the system prompt and the tools."""
LEFT, WIDTH = 20, 820
_STYLE = """
  svg { background: #ffffff; }
  text { font: 13px system-ui, sans-serif; fill: #57606a; }
  .title { font-size: 15px; font-weight: 600; fill: #1f2328; }
  .inside { fill: #1f2328; text-anchor: middle; }
  .system { fill: #d8dee4; } .older { fill: #ffd8a8; } .summary { fill: #ffc078; }
  .recent { fill: #a5d8ff; } .free { fill: none; } .reserve { fill: #e9ecef; }
  rect { stroke: #8c959f; }
  .limit { stroke: #cf222e; stroke-width: 2; stroke-dasharray: 5 4; }
  @media (prefers-color-scheme: dark) {
    svg { background: #0d1117; } text { fill: #9198a1; } .title { fill: #f0f6fc; }
    .inside { fill: #f0f6fc; }
    .system { fill: #3d444d; } .older { fill: #7a4a12; } .summary { fill: #9a5b13; }
    .recent { fill: #1f4e79; } .reserve { fill: #21262d; } .limit { stroke: #f85149; }
  }
"""


@attrs.frozen
class Part:
    """A part of a bar: what it holds, and its size in tokens."""

    kind: str
    label: str
    tokens: int


def bar(parts: list[Part], top: int, window: int) -> str:
    """Return one bar whose parts fill the window."""
    shapes, left = [], float(LEFT)
    for part in parts:
        width = WIDTH * part.tokens / window
        shapes.append(
            f'<rect class="{part.kind}" x="{left:.1f}" y="{top}" width="{width:.1f}" height="46"/>'
        )
        middle = left + width / 2
        for line, text in enumerate(part.label.split("\n")):
            y = top + 20 + 17 * line
            shapes.append(f'<text class="inside" x="{middle:.1f}" y="{y}">{text}</text>')
        left += width
    return "\n".join(shapes)


def draw(policy: Policy) -> str:
    """Return the picture of a policy."""
    window, recent = policy.context_window, policy.keep_recent_tokens
    system = Part("system", "", SYSTEM_TOKENS)
    newest = Part("recent", f"newest rounds\n{recent:,}", recent)
    reserve = Part("reserve", f"reserve\n{policy.reserve_tokens:,}", policy.reserve_tokens)
    older = policy.available_tokens - SYSTEM_TOKENS - recent
    summary = int(policy.summary_share * (policy.available_tokens - SYSTEM_TOKENS))
    before = [system, Part("older", f"older rounds\n{older:,}", older), newest, reserve]
    after = [
        system,
        Part("summary", f"summary, at most\n{summary:,}", summary),
        newest,
        Part("free", f"free\n{older - summary:,}", older - summary),
        reserve,
    ]
    limit = LEFT + WIDTH * policy.available_tokens / window
    return f"""<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 860 250" role="img" \
aria-label="What a policy keeps of a window of {window:,} tokens">
<style>{_STYLE}</style>
<text class="title" x="20" y="26">{window:,} tokens, before and after a compaction</text>
<text x="20" y="58">before: the context has reached {policy.available_tokens:,} tokens</text>
{bar(before, 68, window)}
<text x="20" y="150">after: what the next request holds</text>
{bar(after, 160, window)}
<line class="limit" x1="{limit:.1f}" y1="44" x2="{limit:.1f}" y2="216"/>
<text x="20" y="236">First part: system prompt and tools, here {SYSTEM_TOKENS:,}. Dashed: what \
triggers. Pinned messages and the latest request stay as well.</text>
</svg>
"""


if __name__ == "__main__":
    PICTURE.write_text(draw(Policy(128_000)), encoding="utf-8")
    print(f"{PICTURE.name} is drawn")
