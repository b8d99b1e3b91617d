"""`agentic serve`, `work` and `runs`: their command lines.

What they do is in `_serving`, which loads most of the package: a help text needs none of it.
"""

import re

import click

from agentic.app.cli._access import behind_proxy_option, token_option
from agentic.app.cli._options import host_option, port_option

_UNITS = {"s": 1, "m": 60, "h": 3_600, "d": 86_400}

_database_option = click.option(
    "--database",
    metavar="URL",
    help="Where the runs are kept: sqlite:///PATH, or postgresql://HOST/NAME, which keeps the "
    "sessions, too. By default, SQLite in the folder .agentic next to the agent's file.",
)
_drain_option = click.option(
    "--drain",
    "drain_seconds",
    type=click.FloatRange(0),
    default=15.0,
    show_default=True,
    metavar="SECONDS",
    help="How long a stopped worker may take to finish what it has begun.",
)


def _read_age(_: click.Context, __: click.Parameter, value: str | None) -> float | None:
    # A callback, because not every version of click lets its ParamType be typed.
    if value is None:
        return None
    match = re.fullmatch(r"(\d{1,6})([smhd])", value)
    if match is None:
        raise click.BadParameter(f"{value!r} is not an age, such as 90s, 45m, 12h or 30d")
    return float(match[1]) * _UNITS[match[2]]


@click.command("serve")
@click.argument("name", metavar="AGENT")
@_database_option
@port_option(8080)
@host_option
@token_option
@behind_proxy_option
@_drain_option
def serve_command(
    *,
    name: str,
    database: str | None,
    port: int,
    host: str,
    token_file: str | None,
    behind_proxy: bool,
    drain_seconds: float,
) -> None:
    """Serve an agent over HTTP, with a page at /, and a worker in the same process.

    Runs survive the process: after a crash, the next start continues them. Ctrl-C or SIGTERM
    finishes or hands over what is running. A tool that needs approval waits for it.

    Example: agentic serve agent.yaml
    """
    from agentic.app.serve._serving import serve  # noqa: PLC0415  not for a help text

    serve(
        name,
        database,
        address=(host, port),
        token_file=token_file,
        behind_proxy=behind_proxy,
        drain_seconds=drain_seconds,
    )


@click.command("work")
@click.argument("name", metavar="AGENT")
@_database_option
@_drain_option
def work_command(*, name: str, database: str | None, drain_seconds: float) -> None:
    """Work on what is submitted to an agent's database: any number of workers, on any machines.

    Several workers need PostgreSQL. Ctrl-C or SIGTERM finishes or hands over what is running.

    Example: agentic work agent.yaml --database postgresql://db/agents
    """
    from agentic.app.serve._serving import work  # noqa: PLC0415  not for a help text

    work(name, database, drain_seconds)


@click.command("runs")
@click.argument("name", metavar="[AGENT]", required=False)
@_database_option
@click.option(
    "--limit",
    type=click.IntRange(1),
    default=1000,
    show_default=True,
    help="How many of the latest runs to look at.",
)
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object for each run.")
@click.option(
    "--prune",
    "prune_seconds",
    metavar="AGE",
    callback=_read_age,
    help="Remove runs that ended longer ago than this, and list none: 90s, 45m, 12h, or 30d. "
    "Sessions stay, and so do runs that are not over.",
)
def runs_command(
    *,
    name: str | None,
    database: str | None,
    limit: int,
    as_json: bool,
    prune_seconds: float | None,
) -> None:
    """List the runs that are queued, running, waiting for approval, or failed, newest first.

    Example: agentic runs agent.yaml
    """
    from agentic.app.serve._serving import print_runs  # noqa: PLC0415  not for a help text

    print_runs(name, database, limit=limit, as_json=as_json, prune_seconds=prune_seconds)
