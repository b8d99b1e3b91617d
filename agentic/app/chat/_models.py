"""Which models a chat can use: those whose key is set, those of this machine, and none at all.

Without a model, the offline agent shows what a chat does, and works on files by simple orders.
"""

import asyncio
import importlib.util
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import attrs

from agentic import limits
from agentic._base import _imports
from agentic._base._addresses import hide_credentials, show_address
from agentic.app import config
from agentic.app.cli._local_servers import find_servers
from agentic.app.cli._output import describe_problem, end_sentence
from agentic.providers._offline import OFFLINE
from agentic.providers._registry import adapter_names, find_adapter
from agentic.providers.kit import Adapter, ModelOffer, Sdk
from agentic.tools import tool

_LOCAL = "agentic.app.cli._local_servers:connect"
_OFFLINE_TOOLS: Any = tuple(
    f"{__name__}:{name}" for name in ("list_files", "read_file", "write_file")
)
_NAME = "chat"
"""The name of an agent without a file, under which its sessions are kept."""
_PATIENCE_SECONDS = 5
"""How long a server may take to list its models."""


@attrs.frozen
class Choice:
    """A model that a chat can use without an agent's file."""

    model: str
    """As --model takes it."""
    told: str


def find_choices() -> list[Choice]:
    """Return what is available, the best first; the offline agent always is."""
    choices = [
        Choice(f"{adapter.name}:{offer.model}", f"{variable} is set")
        for adapter, offer, sdk in _offers()
        if (variable := _key_variable(sdk))
    ]
    for server in find_servers():
        choices += [Choice(model, f"on this machine, {server.address}") for model in server.models]
    return [*choices, Choice(OFFLINE, "no model: it follows simple orders, and shows the chat")]


def new_agent(model: str) -> config.AgentConfig:
    """Return an agent without a file, whose sessions are kept below the current folder."""
    # Its tools are its own: a real model gets none without a file that names them.
    if model == OFFLINE:
        return choose_model(config.AgentConfig(name=_NAME, tools=_OFFLINE_TOOLS), model)
    return choose_model(config.AgentConfig(name=_NAME), model)


def choose_model(agent: config.AgentConfig, name: str) -> config.AgentConfig:
    """Return the agent with another model: PROVIDER:NAME, llamacpp:NAME, lmstudio:NAME or offline.

    >>> choose_model(config.AgentConfig(), "lmstudio:qwen3").model_options
    {'server': 'lmstudio', 'name': 'qwen3'}
    """
    if name == OFFLINE:
        return attrs.evolve(agent, model=OFFLINE, model_options={})
    server, _, model = name.partition(":")
    # Ollama is not among them: it has a provider of its own.
    if server in {"llamacpp", "lmstudio"} and model:
        options = {"server": server, "name": model}
        return attrs.evolve(agent, model=_LOCAL, model_options=options)
    return attrs.evolve(agent, model=name)


def model_name(agent: config.AgentConfig) -> str:
    """Return the name of an agent's model, as `choose_model` takes it.

    >>> model_name(choose_model(config.AgentConfig(), "llamacpp:qwen3"))
    'llamacpp:qwen3'
    """
    model, options = agent.model or "no model", agent.model_options
    if model == _LOCAL:
        return f"{options['server']}:{options['name']}"
    return model


async def list_models(agent: config.AgentConfig) -> str:
    """Return the current model and those that could take its place, as a text."""
    # In a thread, since requests to servers block, and Ctrl-C must reach the loop.
    servers = await asyncio.to_thread(find_servers)
    lines = [f"Now: {model_name(agent)}"]
    for server in servers:
        lines += ["", f"On this machine ({server.address}):", *_indented(server.models)]
    missing: list[str] = []
    for adapter, offer, sdk in _offers():
        if not (variable := _key_variable(sdk)):
            missing.append(f"  {adapter.name}: {_what_is_missing(sdk)}")
        elif address := os.environ.get(sdk.address_variable):
            # Another server than the provider's has other models.
            lines += ["", f"By {sdk.address_variable}, {show_address(address)}:"]
            lines += _indented(await _ask(adapter.name, sdk))
        else:
            names = [
                f"{adapter.name}:{name}"
                for name in limits.CONTEXT_LIMITS
                if name.startswith(offer.starts) and not name.startswith(offer.without)
            ]
            lines += ["", f"By {variable}:", *_indented(names)]
    if missing:
        lines += ["", "Not set up:", *missing]
    lines += ["", f"/model NAME switches to any of them; {OFFLINE} needs nothing."]
    return "\n".join(lines)


async def _ask(provider: str, sdk: Sdk) -> list[str]:
    """Return the models of the server that the environment names."""
    try:
        async with asyncio.timeout(_PATIENCE_SECONDS):
            async with sdk.make(_imports.load(sdk.module)) as client:
                return [f"{provider}:{each.id}" async for each in client.models.list()]
    # Each SDK has exceptions of its own, and the server may answer anything.
    except Exception as problem:  # noqa: BLE001
        reason = describe_problem(problem) or str(problem) or type(problem).__name__
        return [f"(it did not list its models: {end_sentence(hide_credentials(reason))})"]


def _indented(names: list[str]) -> list[str]:
    return [f"  {name}" for name in names]


def _offers() -> Iterator[tuple[Adapter, ModelOffer, Sdk]]:
    """Yield the providers that need only a key, and whose models the catalog has."""
    for adapter in map(find_adapter, adapter_names()):
        if adapter.offer is not None and adapter.sdk is not None:
            yield adapter, adapter.offer, adapter.sdk


def _key_variable(sdk: Sdk) -> str:
    """Return the variable that has the key; empty if there is none, or no SDK for it."""
    name = next((name for name in sdk.key_variables if os.environ.get(name)), "")
    return name if _is_installed(sdk) else ""


def _is_installed(sdk: Sdk) -> bool:
    try:
        return importlib.util.find_spec(sdk.module) is not None
    # Of google.genai, `google` is imported, and may be missing itself.
    except ModuleNotFoundError:
        return False


def _what_is_missing(sdk: Sdk) -> str:
    steps = [] if _is_installed(sdk) else [_imports.pip_install(sdk.install)]
    if not any(os.environ.get(name) for name in sdk.key_variables):
        steps.append(f"set {' or '.join(sdk.key_variables)}")
    return ", ".join(steps)


@tool(annotations={"readOnlyHint": True})
def list_files(folder: str) -> str:
    """List the files and folders of a folder."""
    paths = sorted(Path(folder).iterdir())
    return "\n".join(f"{each.name}/" if each.is_dir() else each.name for each in paths)


@tool(annotations={"readOnlyHint": True})
def read_file(path: str) -> str:
    """Return the text of a file."""
    return Path(path).read_text(encoding="utf-8", errors="replace")


# Not annotated as read-only: a chat asks before it runs, and so shows how that is.
def write_file(path: str, text: str) -> str:
    """Replace the content of a file, which is created if necessary."""
    Path(path).write_text(text + "\n", encoding="utf-8")
    return f"{path} now has {len(text) + 1:,} characters"
