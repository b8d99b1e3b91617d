"""The command line of `agentic replay`.

What it does is in `_replay`, which loads most of the package: a help text needs none of it.
"""

from pathlib import Path
from typing import Any

import click

from agentic.app.cli._options import TokenSize, WindowOrModel
from agentic.providers._registry import adapter_names

POLICY_NAMES = (
    "none",
    "keep_last",
    "trim_rounds",
    "fit_window",
    "clear_tool_outputs",
    "truncate_tool_outputs",
    "importance",
    "digest",
    "tiers",
    "continuation",
    "native",
    "claude-code",
    "codex",
    "gemini-cli",
    "as_recorded",
)
"""Those of `agentic.app.replay.POLICIES`, which a help text must not load; a test compares them."""
_CHECKED = adapter_names()[:2]  # those that most programs speak come first


@click.command("replay")
@click.argument("transcripts", nargs=-1, metavar="[TRANSCRIPT]...")
@click.option(
    "-w",
    "--window",
    type=WindowOrModel(),
    help="The window, such as 16k or 1m, or a model whose window to use.",
)
@click.option(
    "-r",
    "--reserve",
    type=TokenSize(),
    help="Tokens of the window to keep free for the reply.",
)
@click.option(
    "-m",
    "--model",
    help="The model whose tokens are counted and priced, and whose window applies without "
    "--window. By default the one that a session names.",
)
@click.option(
    "-p",
    "--policy",
    "specs",
    multiple=True,
    help="A policy to compare, with options as name:option=value,... or an agent's YAML file. "
    f"Repeat the option for several. There are: {', '.join(POLICY_NAMES)}.",
)
@click.option(
    "--provider",
    "providers",
    multiple=True,
    default=_CHECKED,
    type=click.Choice(adapter_names()),
    metavar="NAME",
    help="A provider whose rules every request must follow; repeat the option for several. "
    f"There are: {', '.join(adapter_names())}.",
)
@click.option(
    "--html",
    type=click.Path(dir_okay=False, path_type=Path),
    help="Write the report to this HTML file, in which every session can be stepped through.",
)
@click.option(
    "--step",
    metavar="POLICY",
    help="Show what the model would have seen under this policy, request by request, instead of "
    "comparing policies.",
)
@click.option(
    "--compare",
    "other",
    metavar="POLICY",
    help="Show, session by session, what POLICY (an agent's YAML file, or a policy) would send "
    "differently from the first --policy, by default from what was actually sent.",
)
@click.option("--force", is_flag=True, help="Overwrite the HTML file if it exists.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
def replay_command(**options: Any) -> int:
    """Replay each TRANSCRIPT under several policies, and compare what is sent and lost.

    A transcript is a session of agentic, Claude Code, Codex, Copilot CLI, Gemini CLI, OpenCode, pi
    or one of 20 other programs, or messages in the form of an API; a folder is all of its files and
    folders, and - is stdin. Without any, the sessions on this machine are listed. No model is
    asked.

    Example: agentic replay session.jsonl --window 32k -p none -p digest --html report.html
    """
    from agentic.app.cli._replay import (  # noqa: PLC0415  not for a help text
        ReplayOptions,
        run_replay,
    )

    return run_replay(ReplayOptions(**options))
