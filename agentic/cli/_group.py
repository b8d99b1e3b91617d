"""The commands by name, each imported when it is run.

`agentic --help` imports none of them: the sentence that it shows of each stands here.
"""

import difflib
import importlib
from collections.abc import Mapping

import click

import agentic

__all__ = ["COMMANDS", "Lazy", "group"]

COMMANDS: Mapping[str, tuple[str, str]] = {
    "chat": ("agentic.cli._chat:chat_command", "Talk with an agent in the terminal."),
    "sessions": ("agentic.cli._sessions:sessions_command", "List, rename or delete sessions."),
    "context": ("agentic.cli._stored:context_command", "Show how full a session's context is."),
    "compact": ("agentic.cli._stored:compact_command", "Summarize the older part of a session."),
    "diff": ("agentic.cli._stored:diff_command", "Show what the latest compaction dropped."),
    "restore": ("agentic.cli._stored:restore_command", "Take the latest compaction back."),
    "redact": ("agentic.cli._redact:redact_command", "Remove a message's content for good."),
    "export": ("agentic.cli._exchange:export_command", "Write a session as JSON lines."),
    "import": ("agentic.cli._exchange:import_command", "Read a session from JSON lines."),
    "replay": (
        "agentic.cli.replay._command:replay_command",
        "Run transcripts under a policy and compare.",
    ),
    "truncate": ("agentic.cli._truncate:truncate_command", "Cut a text, as head(1) and tail(1)."),
    "count": ("agentic.cli._count:count_command", "Count the tokens of texts."),
}
"""Every command, with the place of its code and what it does."""


class Lazy(click.Group):
    """A group that imports a command when it is asked for."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Give the names, as they are to be read."""
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Import one command."""
        if cmd_name not in COMMANDS:
            return None
        module, _, name = COMMANDS[cmd_name][0].partition(":")
        command: click.Command = getattr(importlib.import_module(module), name)
        return command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Find the command that is asked for; of a misspelt one tell the nearest."""
        near = difflib.get_close_matches(args[0], COMMANDS, 1)
        if near and args[0] not in COMMANDS:
            ctx.fail(f"No such command {args[0]!r}, but {near[0]!r}")
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """List the commands without importing them."""
        with formatter.section("Commands"):
            formatter.write_dl([(name, told) for name, (_, told) in COMMANDS.items()])


@click.group(
    cls=Lazy,
    invoke_without_command=True,
    subcommand_metavar="COMMAND [ARGS]...",
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 80},
    epilog="Exit status: 0 all went well, 1 a problem, told on stderr, 2 a mistaken command line, "
    "130 Ctrl-C, 141 the reader of the output left.",
)
@click.version_option(agentic.__version__, package_name="agentic", message="agentic %(version)s")
@click.pass_context
def group(ctx: click.Context) -> None:
    """Keep an agent's context small, valid and useful.

    Example: seq 100000 | agentic truncate --tail --lines 20
    """
    if ctx.invoked_subcommand is None:
        click.echo(ctx.get_help(), err=True)
        ctx.exit(2)
