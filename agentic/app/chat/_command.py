"""The command line of `agentic chat`.

What it does is in `_chat`, which loads most of the package: a help text needs none of it.
"""

import click


@click.command("chat")
@click.argument("name", metavar="[AGENT]", default="")
@click.option("-s", "--session", "session_id", metavar="ID", help="Begin or resume that session.")
@click.option("-r", "--resume", is_flag=True, help="Resume the session that changed last.")
@click.option("-m", "--model", metavar="PROVIDER:NAME", help="Instead of the model in the file.")
@click.option("--plain", is_flag=True, help="Print text only: for screen readers and slow lines.")
def chat_command(
    *, name: str, session_id: str | None, resume: bool, model: str | None, plain: bool
) -> int:
    """Talk with AGENT, by its YAML file or by its name.

    Without AGENT, choose one of the folder agents/, a model whose key is set, one of a local
    server, or the offline agent. The session is kept after every message and can be resumed.
    Without --session and --resume it is a new one. /help lists what can be asked for besides;
    Ctrl-C stops a reply and Ctrl-D leaves.

    In a pipe each line is a request; stdout gets the replies and what commands such as /context
    answer, stderr all else, and the exit status is 1 if a request got no reply.

    Example: agentic chat agent.yaml --session monday
    """
    from agentic.app.chat._chat import run_chat  # noqa: PLC0415  not for a help text

    return run_chat(name=name, session_id=session_id, resume=resume, model=model, plain=plain)
