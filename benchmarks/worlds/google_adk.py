"""Google's ADK, with its own `EventsCompactionConfig` and with the plugin of our page."""

import asyncio
import contextlib
import time
import types
from collections.abc import Iterator
from functools import partial
from typing import Any

from google.adk.agents import LlmAgent
from google.adk.apps import App
from google.adk.apps.app import EventsCompactionConfig
from google.adk.models import LlmRequest
from google.adk.models.lite_llm import LiteLlm
from google.adk.runners import Runner
from google.adk.sessions import InMemorySessionService
from google.genai.types import Content, GenerateContentConfig, Part, UserContent

from benchmarks.worlds._run import MODEL, SYSTEM, WINDOW, Agent, output_of, page, texts

__all__ = ["overhead", "ways"]


def read(path: str) -> str:
    """Read a file."""
    return output_of(path)


def ways() -> dict[str, Agent]:
    """Return an agent for each way."""
    return {"own": partial(_talk, _own), "ours": partial(_talk, _ours)}


def _own() -> dict[str, Any]:
    config = EventsCompactionConfig(token_threshold=int(0.8 * WINDOW), event_retention_size=20)
    return {"events_compaction_config": config}


def _ours() -> dict[str, Any]:
    return {"plugins": [page("google-adk")["BudgetPlugin"](WINDOW)]}


async def _talk(options: Any, url: str, requests: Iterator[str]) -> None:
    model = LiteLlm(f"openai/{MODEL}", api_base=f"{url}/v1", api_key="none", num_retries=0)
    agent = LlmAgent(name="reader", model=model, instruction=SYSTEM, tools=[read])
    app, sessions = App(name="bench", root_agent=agent, **options()), InMemorySessionService()
    runner = Runner(app=app, session_service=sessions)
    session = await sessions.create_session(app_name="bench", user_id="ann")
    for text in requests:
        with contextlib.suppress(Exception):
            async for _ in runner.run_async(
                user_id="ann", session_id=session.id, new_message=UserContent(text)
            ):
                pass


def overhead() -> float:
    """Return the milliseconds of a request on top of 2,000 messages, which fit."""
    return asyncio.run(_overhead())


async def _overhead() -> float:
    plugin = page("google-adk")["BudgetPlugin"](100_000_000)
    session = types.SimpleNamespace(id="1")
    context: Any = types.SimpleNamespace(session=session, agent_name="reader", state={})
    items: list[Content] = []
    spent = 0.0
    for number, (text, path, output, reply) in enumerate(texts(520)):
        call = Part.from_function_call(name="read", args={"path": path})
        result = Part.from_function_response(name="read", response={"result": output})
        items += [_content("user", Part(text=text)), _content("model", call)]
        items.append(_content("user", result))
        if number >= 499:
            fresh = [_copy(each) for each in items]
            request = LlmRequest(model=MODEL, contents=fresh, config=GenerateContentConfig())
            started = time.process_time()
            await plugin.before_model_callback(callback_context=context, llm_request=request)
            spent += time.process_time() - started if number > 499 else 0.0
        items.append(_content("model", Part(text=reply)))
    return spent * 1_000 / 20


def _content(role: str, part: Part) -> Content:
    return Content(role=role, parts=[part])


def _copy(content: Content) -> Content:
    """Return a copy as ADK 2.13 makes one of every content for every request."""
    parts = [each.model_copy() for each in content.parts or ()]
    return content.model_copy(update={"parts": parts})
