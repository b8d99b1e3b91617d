"""`agentic proxy`: a budget for any agent, by the base URL of its provider.

The server is imported by the command, because it is an extra of its own.
"""

import gc
import socket
from pathlib import Path

import click

from agentic._base import _imports
from agentic.app.cli._access import (
    Guard,
    behind_proxy_option,
    check_exposure,
    proxy_token_option,
    read_token,
)
from agentic.app.cli._options import WindowOrModel, format_address, host_option, listen, port_option
from agentic.app.cli._output import say
from agentic.errors import ConfigError


@click.command("proxy")
@click.option("--to", required=True, metavar="URL", help="The base URL of the provider.")
@click.option(
    "-w",
    "--window",
    type=WindowOrModel(),
    required=True,
    help="The model's window: in tokens, such as 128k, or the name of the model.",
)
@port_option(8765)
@host_option
@click.option(
    "--store",
    type=click.Path(file_okay=False, path_type=Path),
    help="A folder that keeps the summaries, so that a restart costs no new ones.",
)
@proxy_token_option
@behind_proxy_option
def proxy_command(
    *,
    to: str,
    window: int | str,
    port: int,
    host: str,
    store: Path | None,
    token_file: str | None,
    behind_proxy: bool,
) -> None:
    """Keep the conversations of any agent within the window, between it and its provider.

    The agent's base URL becomes the address that is printed. OpenAI's chat completions and
    responses, Anthropic's messages and Gemini's generateContent are fitted; everything else passes
    through, and so do the keys. Nothing is stored unless --store names a folder. Ctrl-C ends it.

    Example: agentic proxy --to https://api.openai.com/v1 --window 128k
    """
    # Both need an extra, and the second names it if it is missing.
    from agentic.app.proxy import Proxy  # noqa: PLC0415

    try:
        proxy = Proxy(to, window, store=store)
    except ConfigError as mistake:
        raise click.UsageError(str(mistake)) from mistake
    token = read_token(token_file)
    with listen(host, port) as listening:
        # Of the socket, because the host may be a name, and the port 0.
        address, number = listening.getsockname()[:2]
        loopback = check_exposure(address, token=token, behind_proxy=behind_proxy)
        say(f"listening on {format_address(address, number)}, forwarding to {to}")
        _run(Guard(proxy, loopback, token, is_proxy=True), listening)


def _run(proxy: object, listening: socket.socket) -> None:
    with _imports.quietly():
        import uvicorn  # noqa: PLC0415

    # Neither a log of requests, whose queries may hold a key, nor headers of its own.
    config = uvicorn.Config(
        proxy,  # type: ignore[arg-type]
        interface="asgi3",
        log_config=None,
        access_log=False,
        server_header=False,
        date_header=False,
        timeout_graceful_shutdown=3,
    )
    # A full collection of garbage stops every request, and long conversations cause it. What has
    # been loaded until here is kept to the end, so it need not be looked through each time.
    gc.collect()
    gc.freeze()
    uvicorn.Server(config).run(sockets=[listening])
