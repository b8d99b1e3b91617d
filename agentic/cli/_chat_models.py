"""Which models a chat can use: those whose key is set, those of this machine, and none at all.

Without a model, the offline agent shows what a chat does, and works on files by simple orders.
"""

import asyncio
import difflib
import importlib.util
import json
import os
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import attrs

from agentic import config, limits
from agentic.cli._local_servers import find_servers
from agentic.limits import ModelLimits
from agentic.loop import Decision, Input
from agentic.messages import ToolCall
from agentic.tools import tool

OFFLINE = "offline"
"""The name that stands for no model."""
_LOCAL = "agentic.cli._local_servers:connect"
_OFFLINE_TOOLS: Any = tuple(
    f"{__name__}:{name}" for name in ("list_files", "read_file", "write_file")
)
_NAME = "chat"
"""The name of an agent without a file, under which its sessions are kept."""
_WINDOW = 32_000
_ORDERS = {
    "list": "`list [FOLDER]` lists files",
    "read": "`read FILE` shows a file",
    "write": "`write FILE TEXT` replaces what is in a file; you are asked first",
    "say": "`say TEXT` repeats a text",
}
_HELP = "\n".join(
    [
        "I am the offline agent: no model, so I only follow orders.",
        "",
        *(f"- {told}" for told in _ORDERS.values()),
        "",
        "`/model` lists the models that could take my place, `/help` what the chat itself can do.",
    ]
)


@attrs.frozen
class _Key:
    """How one knows that a provider can be used."""

    provider: str
    variables: tuple[str, ...]
    """One of these has the key."""
    module: str
    """The SDK."""
    extra: str
    starts: tuple[str, ...]
    """How the names of its models begin in the catalog."""
    model: str
    """The model that is offered if none is named."""

    @property
    def variable(self) -> str | None:
        """Return the variable that has the key; None if there is none, or no SDK for it."""
        found = next((name for name in self.variables if os.environ.get(name)), None)
        return found if self.is_installed else None

    @property
    def is_installed(self) -> bool:
        """Whether the SDK can be imported."""
        try:
            return importlib.util.find_spec(self.module) is not None
        # Of google.genai, `google` is imported, and may be missing itself.
        except ModuleNotFoundError:
            return False


_KEYS = (
    _Key(
        "anthropic", ("ANTHROPIC_API_KEY",), "anthropic", "anthropic", ("claude-",),
        "anthropic:claude-sonnet-4-5",
    ),
    _Key(
        "openai_chat", ("OPENAI_API_KEY",), "openai", "openai", ("gpt-", "o1", "o3", "o4"),
        "openai_chat:gpt-5",
    ),
    _Key(
        "gemini", ("GEMINI_API_KEY", "GOOGLE_API_KEY"), "google.genai", "gemini", ("gemini-",),
        "gemini:gemini-2.5-pro",
    ),
)  # fmt: skip
"""The providers that need only a key, and whose models the catalog has. The variables are those
that their SDKs read."""

_NOT_BY = ("gpt-oss", "gpt-35", "gpt-4o-realtime")
"""Models of the catalog that OpenAI's chat completions do not serve: open weights
(https://help.openai.com/en/articles/11870455-openai-open-weight-models-gpt-oss, 2026-11), Azure's
spelling of gpt-3.5, and one of another API."""


@attrs.frozen
class Choice:
    """A model that a chat can use without an agent's file."""

    model: str
    """As --model takes it."""
    told: str


def find_choices() -> list[Choice]:
    """Return what is available, the best first; the offline agent always is."""
    found = [Choice(key.model, f"{key.variable} is set") for key in _KEYS if key.variable]
    for server in find_servers():
        found += [Choice(model, f"on this machine, {server.address}") for model in server.models]
    return [*found, Choice(OFFLINE, "no model: it follows simple orders, and shows the chat")]


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
        return attrs.evolve(agent, model=f"{__name__}:OfflineModel", model_options={})
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
    return OFFLINE if model.startswith(f"{__name__}:") else model


async def list_models(agent: config.AgentConfig) -> str:
    """Return the current model and those that could take its place, as a text."""
    # In a thread, since requests to servers block, and Ctrl-C must reach the loop.
    servers = await asyncio.to_thread(find_servers)
    lines = [f"Now: {model_name(agent)}"]
    for server in servers:
        lines += ["", f"On this machine ({server.address}):", *_indented(server.models)]
    missing: list[str] = []
    for key in _KEYS:
        if key.variable:
            names = [
                f"{key.provider}:{name}"
                for name in limits.CONTEXT_LIMITS
                if name.startswith(key.starts) and not name.startswith(_NOT_BY)
            ]
            lines += ["", f"By {key.variable}:", *_indented(names)]
        else:
            missing.append(f"  {key.provider}: {_what_is_missing(key)}")
    if missing:
        lines += ["", "Not set up:", *missing]
    lines += ["", f"/model NAME switches to any of them; {OFFLINE} needs nothing."]
    return "\n".join(lines)


def _indented(names: list[str]) -> list[str]:
    return [f"  {name}" for name in names]


def _what_is_missing(key: _Key) -> str:
    told = [] if key.is_installed else [f"pip install 'agentic-weave[{key.extra}]'"]
    if not any(os.environ.get(name) for name in key.variables):
        told.append(f"set {' or '.join(key.variables)}")
    return ", ".join(told)


@attrs.frozen
class OfflineModel:
    """Decides by the first word of a request."""

    name: str = "offline:agent"

    def limits(self) -> ModelLimits:
        """Return a window that a long conversation can fill."""
        return ModelLimits(_WINDOW, 0)

    async def stream(self, request: Input, /) -> AsyncIterator[str | Decision]:
        """Yield the reply line by line, and then the decision."""
        # In pieces, so that the chat shows what it does while a reply grows.
        decision = await self.decide(request)
        for line in decision.reply.splitlines(keepends=True):
            yield line
        yield decision

    async def decide(self, request: Input, /) -> Decision:
        """Follow an order, or explain which there are."""
        if request.tool_results:
            result = request.tool_results[-1]
            return Decision(result.text if result.error else f"```text\n{result.text}\n```")
        order, _, rest = request.user_message.strip().partition(" ")
        match order.lower(), rest.strip():
            case "list", folder:
                return _call("list_files", folder=folder or ".")
            case "read", path if path:
                return _call("read_file", path=path)
            case "write", both if " " in both:
                path, _, text = both.partition(" ")
                return _call("write_file", path=path, text=text)
            case "say", text if text:
                return Decision(text)
        near = difflib.get_close_matches(order.lower(), _ORDERS, 1)
        hint = f"Did you mean `{near[0]}`?\n\n" if near and order not in _ORDERS else ""
        return Decision(hint + _HELP)


def _call(name: str, **arguments: str) -> Decision:
    # The Runner generates an id where there is none.
    return Decision(tool_calls=[ToolCall("", name, json.dumps(arguments))])


@tool(annotations={"readOnlyHint": True})
def list_files(folder: str) -> str:
    """List the files and folders of a folder."""
    found = sorted(Path(folder).iterdir())
    return "\n".join(f"{each.name}/" if each.is_dir() else each.name for each in found)


@tool(annotations={"readOnlyHint": True})
def read_file(path: str) -> str:
    """Return the text of a file."""
    return Path(path).read_text(encoding="utf-8", errors="replace")


# Not annotated as read-only: a chat asks before it runs, and so shows how that is.
def write_file(path: str, text: str) -> str:
    """Replace the content of a file, which is created if necessary."""
    Path(path).write_text(text + "\n", encoding="utf-8")
    return f"{path} now has {len(text) + 1:,} characters"
