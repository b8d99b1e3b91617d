#!/usr/bin/env bash
# LangChain 1.5.2 with LangGraph 1.2.24: a field of a middleware's state that is annotated with
# `PrivateStateAttr` is left out of what `invoke` returns, and stands in the streams of the same
# agent: `values`, `updates`, `tasks` and `debug`. It is private to the result, and to no stream.
#
# Output seen on 2026-11-28:
# 1.5.2 1.2.24 {'invoke': False, 'values': True, 'updates': True, 'tasks': True, 'debug': True}
set -euo pipefail
place=$(mktemp -d)
trap 'rm -rf "$place"' EXIT
python3 -m venv "$place/env"
"$place/env/bin/pip" -q install langchain==1.5.2 langgraph==1.2.24
cat > "$place/run.py" <<'PYTHON'
import importlib.metadata
from typing import Annotated, NotRequired

from langchain.agents import create_agent
from langchain.agents.middleware import AgentMiddleware, AgentState
from langchain.agents.middleware.types import PrivateStateAttr
from langchain_core.language_models import GenericFakeChatModel
from langchain_core.messages import AIMessage


class Notes(AgentState):
    notes: NotRequired[Annotated[str, PrivateStateAttr]]


class KeepNotes(AgentMiddleware):
    state_schema = Notes

    def before_model(self, state, runtime):
        return {"notes": "only for me"}


def agent():
    model = GenericFakeChatModel(messages=iter([AIMessage("Done.")]))
    return create_agent(model, middleware=[KeepNotes()])


REQUEST = {"messages": [{"role": "user", "content": "Go on."}]}
shown = {"invoke": "notes" in agent().invoke(REQUEST)}
for mode in ("values", "updates", "tasks", "debug"):
    shown[mode] = any("only for me" in str(chunk) for chunk in agent().stream(REQUEST, stream_mode=mode))
print(importlib.metadata.version("langchain"), importlib.metadata.version("langgraph"), shown)
assert shown == {"invoke": False, "values": True, "updates": True, "tasks": True, "debug": True}
PYTHON
"$place/env/bin/python" "$place/run.py"
