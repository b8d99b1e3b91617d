"""`agentic digest`: the hand-over note of a transcript, with the origin of each line on request."""

from collections.abc import Iterator
from itertools import groupby

import click

from agentic import tokens
from agentic.app.cli._options import TokenSize
from agentic.app.cli._output import json_line, printable
from agentic.app.cli._stdio import open_input
from agentic.app.replay import read_transcripts
from agentic.context.compactors import Digest
from agentic.context.digest._explained import NoteLine, explain_note

_BY_DEFAULT = "2000"
_GUTTER = 12
"""The columns before a line, which hold the numbers of its messages."""


@click.command("digest")
@click.argument("transcript", metavar="TRANSCRIPT")
@click.option(
    "-t",
    "--max-tokens",
    type=TokenSize(),
    default=_BY_DEFAULT,
    show_default=True,
    help="The largest size of the note, such as 2000 or 8k.",
)
@click.option("-m", "--model", help="The model whose tokens are counted.")
@click.option(
    "--explain",
    is_flag=True,
    help="Show beside each line the messages that it comes from, and why it is there.",
)
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object per transcript.")
def digest_command(
    *, transcript: str, max_tokens: int, model: str | None, explain: bool, as_json: bool
) -> int:
    """Write what a successor needs of a TRANSCRIPT, without asking a model.

    A transcript is a session of agentic or of another agent, as for `agentic replay`; - is stdin.
    Messages are numbered from 1.

    Example: agentic digest session.jsonl --max-tokens 8k --explain
    """
    if not max_tokens:
        raise click.UsageError("The note would have 0 tokens: pass --max-tokens 2000")
    digest = Digest(max_tokens=max_tokens, counter=tokens.for_model(model or "default"))
    with open_input(transcript) as source:
        transcripts = read_transcripts(transcript, file=source)
    for number, each in enumerate(transcripts):
        messages = list(each.messages)
        note = digest.write(messages)
        lines = explain_note(note, messages)
        if as_json:
            click.echo(json_line(_to_plain(each.name, note, lines)))
            continue
        if len(transcripts) > 1:
            click.echo(f"{chr(10) if number else ''}{printable(each.name)}")
        text = "\n".join(_explained(lines)) if explain else note
        click.echo(printable(text) if text else "(there is nothing to hand over)")
    return 0


def _explained(lines: list[NoteLine]) -> Iterator[str]:
    """Yield the lines of a note below their headings, with the numbers of their messages."""
    for at, (section, group) in enumerate(groupby(lines, lambda line: line.section)):
        members = list(group)
        yield f"{chr(10) if at else ''}{'':{_GUTTER}}## {section} ({members[0].reason})"
        for line in members:
            yield f"{_numbers(line.positions):>{_GUTTER - 1}} {line.text}"


def _numbers(positions: tuple[int, ...]) -> str:
    """Return the numbers of messages, the first and the newest if there are many.

    >>> _numbers((0,)), _numbers((3, 8)), _numbers((3, 8, 9)), _numbers(())
    ('m1', 'm4,m9', 'm4-m10', '')
    """
    if len(positions) > 2:  # noqa: PLR2004  more do not fit into the gutter
        return f"m{positions[0] + 1}-m{positions[-1] + 1}"
    return ",".join(f"m{at + 1}" for at in positions)


def _to_plain(name: str, note: str, lines: list[NoteLine]) -> dict[str, object]:
    return {
        "transcript": name,
        "note": note,
        "lines": [
            {
                "text": line.text,
                "section": line.section,
                "reason": line.reason,
                "messages": [at + 1 for at in line.positions],
            }
            for line in lines
        ],
    }
