"""The command line: its commands by name, and how an invocation becomes an exit status.

Every problem is one sentence on stderr.
"""

import contextlib
import difflib
import os
import sys
from collections.abc import Mapping, Sequence

import click

import agentic
from agentic._base import _imports
from agentic.app.cli._output import (
    DEBUG,
    describe_failure,
    describe_problem,
    end_sentence,
    print_warnings,
    say,
)
from agentic.app.cli._stdio import whole_streams

_INTERRUPTED = 130
"""128 plus the number of SIGINT, as a shell reports a command that Ctrl-C ended."""
_READER_GONE = 141
"""128 plus the number of SIGPIPE, as a shell reports a command whose reader left."""
# The sentences are here, and not in the commands, because `agentic --help` imports none of those.
COMMANDS: Mapping[str, tuple[str, str]] = {
    "chat": ("agentic.app.chat._command:chat_command", "Chat with an agent in the terminal."),
    "sessions": ("agentic.app.cli._sessions:sessions_command", "List, rename or delete sessions."),
    "context": (
        "agentic.app.cli._compaction:context_command",
        "Show how full a session's context is.",
    ),
    "compact": (
        "agentic.app.cli._compaction:compact_command",
        "Summarize the older part of a session.",
    ),
    "diff": (
        "agentic.app.cli._compaction:diff_command",
        "Show what the latest compaction dropped.",
    ),
    "restore": ("agentic.app.cli._compaction:restore_command", "Undo the latest compaction."),
    "redact": (
        "agentic.app.cli._sessions:redact_command",
        "Permanently remove the content of a message.",
    ),
    "export": ("agentic.app.cli._sessions:export_command", "Export a session as JSON lines."),
    "import": ("agentic.app.cli._sessions:import_command", "Import a session from JSON lines."),
    "replay": (
        "agentic.app.cli._replay_command:replay_command",
        "Run transcripts under a policy and compare.",
    ),
    "digest": (
        "agentic.app.cli._digest:digest_command",
        "Write a hand-over note of a transcript.",
    ),
    "truncate": (
        "agentic.app.cli._filters:truncate_command",
        "Truncate a text, like head(1) and tail(1).",
    ),
    "count": ("agentic.app.cli._filters:count_command", "Count the tokens in texts."),
    "proxy": (
        "agentic.app.cli._proxy:proxy_command",
        "Keep any agent within the window, by its base URL.",
    ),
    "serve": (
        "agentic.app.serve._commands:serve_command",
        "Serve an agent over HTTP; its runs survive a crash.",
    ),
    "work": ("agentic.app.serve._commands:work_command", "Work on the runs of a served agent."),
    "runs": (
        "agentic.app.serve._commands:runs_command",
        "List runs that are active or have failed.",
    ),
}
"""Every command: the location of its code, and what it does."""


def run(arguments: Sequence[str] | None) -> int:
    """Run a command line and return its exit status."""
    with whole_streams():
        try:
            status = _invoke(arguments)
            sys.stdout.flush()
        except BrokenPipeError:
            return _READER_GONE
        except OSError as problem:  # from the flush: the disk is full, for example
            return _tell(describe_problem(problem))
        return status


class _LazyGroup(click.Group):
    """A group that imports a command only when it is used, and lists them without importing any."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        # Not sorted, as click does by default: what is used daily comes first.
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in COMMANDS:
            return None
        module, _, name = COMMANDS[cmd_name][0].partition(":")
        # Import only the requested command: all of them together would load the whole package.
        command: click.Command = getattr(_imports.load(module), name)
        return command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        # click would say only that there is no such command.
        near = difflib.get_close_matches(args[0], COMMANDS, 1)
        if near and args[0] not in COMMANDS:
            ctx.fail(f"No such command {args[0]!r}: did you mean {near[0]!r}?")
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl([(name, sentence) for name, (_, sentence) in COMMANDS.items()])


@click.group(
    cls=_LazyGroup,
    invoke_without_command=True,
    subcommand_metavar="COMMAND [ARGS]...",
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 80},
    epilog="Exit status: 0 for success, 1 for an error (reported on stderr), 2 for an invalid "
    "command line, 130 after Ctrl-C, 141 if the reader of the output stopped reading.",
)
@click.option("--debug", is_flag=True, help=f"Print the traceback of an error, as {DEBUG}=1 does.")
@click.version_option(agentic.__version__, package_name="agentic", message="agentic %(version)s")
@click.pass_context
def group(ctx: click.Context, *, debug: bool) -> None:
    """Keep an agent's context small, valid and useful.

    Example: seq 100000 | agentic truncate --tail --lines 20
    """
    if debug:
        os.environ[DEBUG] = "1"
    # On stderr, and with the status of a mistake: a script that lost its arguments must notice.
    if ctx.invoked_subcommand is None:
        click.echo(ctx.get_help(), err=True)
        ctx.exit(2)


def _invoke(arguments: Sequence[str] | None) -> int:
    try:
        # Not group.main(), which prints errors in its own form, and exits by itself.
        words = list(sys.argv[1:] if arguments is None else arguments)
        with print_warnings(say), group.make_context("agentic", words) as top:
            result = group.invoke(top)
    except click.exceptions.Exit as exit_:
        return exit_.exit_code
    except click.UsageError as mistake:
        return _tell(_usage(mistake), mistake.exit_code)
    except (click.Abort, KeyboardInterrupt, EOFError):
        return _INTERRUPTED
    # An OSError with a status of its own, which `run` knows.
    except BrokenPipeError:
        raise
    except Exception as problem:
        # A defect of the program, of which the traceback says more than a sentence.
        if not (sentence := describe_failure(problem)):
            raise
        return _tell(sentence)
    return result if isinstance(result, int) else 0


def _usage(mistake: click.UsageError) -> str:
    """Return what is wrong with the command line, and where to find the correct form."""
    path = mistake.ctx.command_path if mistake.ctx else "agentic"
    return f"{end_sentence(mistake.format_message())} See '{path} --help'."


def _tell(sentence: str, status: int = 1) -> int:
    # If stderr is gone as well, the exit status remains.
    with contextlib.suppress(OSError):
        say(sentence)
    return status
