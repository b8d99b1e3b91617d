"""The context of a stored session: show it, compact it, show what that dropped, and undo it."""

import asyncio
from collections.abc import Callable, Coroutine, Iterable
from typing import Any, TypeVar

import attrs
import click

from agentic.app.cli._output import clip, count_of, end_sentence, json_line, printable
from agentic.app.cli._place import SessionPlace, place_argument, session_option
from agentic.context.budget import Compaction
from agentic.errors import CompactionRefused
from agentic.history._replace import Diff
from agentic.messages import Message, to_plain
from agentic.session import Session, render_context

_T = TypeVar("_T")
_json_option = click.option("--json", "as_json", is_flag=True, help="Print JSON.")


@click.command("context")
@place_argument
@session_option
@_json_option
def context_command(*, name: str, session_id: str | None, as_json: bool) -> None:
    """Show how full the context of a session is, and what will trigger a summary.

    PLACE is an agent (its file or its name), a folder of sessions, a session file, sqlite:FILE, or
    postgresql://SERVER/DATABASE.

    Example: agentic context agent.yaml --session 2026-11-22-4f9c1a
    """
    session_name, status = _with_session(name, session_id, Session.status)
    if not as_json:
        click.echo(printable(render_context(status)))
        return
    plain = attrs.asdict(status, recurse=False)
    for key in ("summary", "ignored_summary"):
        plain[key] = None if plain[key] is None else plain[key].to_dict()
    plain["messages_percent"] = status.messages_percent
    plain["tokens_percent"] = status.tokens_percent
    click.echo(json_line({"session": session_name, **plain}))


@click.command("compact")
@place_argument
@session_option
@click.option("--focus", metavar="TEXT", help="What the summary should focus on.")
@click.option("--allow-growth", is_flag=True, help="Accept a summary larger than what it replaces.")
@_json_option
def compact_command(
    *, name: str, session_id: str | None, focus: str | None, allow_growth: bool, as_json: bool
) -> int:
    """Summarize all of a session but its newest messages, now.

    Nothing is lost: agentic diff shows what went, agentic restore takes it back. An agent's own
    summarizer is asked; other places are summarized by a digest, without any model.

    Example: agentic compact agent.yaml --focus "what is still open"
    """
    session_name, compaction = _with_session(
        name, session_id, lambda session: session.summarize(focus, allow_growth=allow_growth)
    )
    if as_json:
        click.echo(json_line({"session": session_name, **_plain_compaction(compaction)}))
    else:
        # The id as well: by default it is whichever session changed last.
        sentence = printable(f"{session_name}: {describe_compaction(compaction)}")
        click.echo(sentence, err=compaction.error is not None)
    return 0 if compaction.error is None else 1


@click.command("diff")
@place_argument
@session_option
@click.option("--full", is_flag=True, help="Print every message in full.")
@_json_option
def diff_command(*, name: str, session_id: str | None, full: bool, as_json: bool) -> None:
    """Show what the latest compaction of a session dropped (-) and brought in (+).

    Example: agentic diff agent.yaml --full
    """
    session_name, diff = _with_session(name, session_id, lambda session: session.store.diff())
    if as_json:
        plain = {
            "session": session_name,
            "dropped": [to_plain(message) for message in diff.dropped],
            "added": [to_plain(message) for message in diff.added],
        }
        click.echo(json_line(plain))
        return
    for sign, messages in (("-", diff.dropped), ("+", diff.added)):
        for message in messages:
            # What came in is a summary: by its text one judges what was dropped.
            click.echo(_diff_lines(sign, message, full=full or sign == "+"))


@click.command("restore")
@place_argument
@session_option
@_json_option
def restore_command(*, name: str, session_id: str | None, as_json: bool) -> None:
    """Take the latest compaction of a session back; once more takes back the one before.

    An exchange that /undo took back in a chat counts as one: it returns.

    Example: agentic restore agent.yaml --session 2026-11-22-4f9c1a
    """
    session_name, diff = _with_session(name, session_id, Session.undo)
    if as_json:
        counts = {"restored": len(diff.dropped), "removed": len(diff.added)}
        click.echo(json_line({"session": session_name, **counts}))
        return
    click.echo(f"{session_name}: {describe_undo(diff)}")


def describe_compaction(compaction: Compaction) -> str:
    """Return the outcome of a compaction as a sentence.

    >>> describe_compaction(Compaction(messages=[], tokens_before=40))
    'There is nothing to summarize yet: 40 tokens, as before.'
    """
    size = f"{compaction.tokens_before:,} tokens, as before."
    if compaction.error is not None:
        why = str(compaction.error) or type(compaction.error).__name__
        # Its text would say once more that nothing was summarized.
        if isinstance(compaction.error, CompactionRefused):
            why = compaction.error.problem
        return f"{end_sentence(f'Nothing was summarized: {why}')} {size}"
    if not compaction.changed:
        return f"There is nothing to summarize yet: {size}"
    sizes = f"{compaction.tokens_before:,} → {compaction.tokens_after:,} tokens"
    return f"{_count(compaction.dropped)} summarized, {sizes}."


def describe_undo(diff: Diff) -> str:
    """Return what an undo restored, as a sentence.

    >>> describe_undo(Diff((Message("user"),), ()))
    'Back in the context: 1 message.'
    """
    before = " and the summary before" if any(each.summary for each in diff.dropped) else ""
    return f"Back in the context: {_count(diff.dropped)}{before}."


def describe_message(message: Message, width: int = 72) -> str:
    """Return a message in one line.

    >>> describe_message(Message("user", "Why is the build red?"))
    'user       Why is the build red?'
    """
    return f"{message.role:<10} {clip(' · '.join(_texts(message)), max(1, width - 11))}"


def _texts(message: Message) -> list[str]:
    texts = [message.content] if message.content.strip() else []
    texts += [f"{call.name} {call.arguments}" for call in message.tool_calls]
    texts += [f"{result.name}: {result.text}" for result in message.tool_results]
    return [*texts, *(part.media_type for part in message.all_media)]


def _with_session(
    name: str, session_id: str | None, do: Callable[[Session], Coroutine[Any, Any, _T]]
) -> tuple[str, _T]:
    """Return the id of the session that is meant, and what a function returns for it."""
    place = SessionPlace.at(name)

    async def run() -> tuple[str, _T]:
        session_name = await place.find(session_id)
        # Opened as its agent would open it, so that the same budget and summarizer apply.
        async with place.agent.session(session_name) as session:
            return session_name, await do(session)

    return asyncio.run(run())


def _plain_compaction(compaction: Compaction) -> dict[str, Any]:
    return {
        "changed": compaction.changed,
        "dropped": len(compaction.dropped),
        "tokens_before": compaction.tokens_before,
        "tokens_after": compaction.tokens_after,
        "summary": compaction.summary.to_dict() if compaction.summary else None,
        "error": None if compaction.error is None else str(compaction.error),
    }


def _diff_lines(sign: str, message: Message, *, full: bool) -> str:
    if not full:
        return f"{sign} {describe_message(message)}"
    lines = printable("\n".join(_texts(message))).split("\n")
    return "\n".join([f"{sign} {message.role}", *(f"{sign}   {line}".rstrip() for line in lines)])


def _count(messages: Iterable[Message]) -> str:
    # A summary of before is replaced, and not a message that anybody sent.
    return count_of(sum(message.summary is None for message in messages), "message")
