"""What the first cut of a long list of dicts costs, and what memory its conversation takes.

    PYTHONPATH=CHECKOUT python benchmarks/first_fit.py [--messages 2000 8000 16000] [--rounds 7]

The list is one of OpenAI's, of turns of four messages, which nobody has seen before and which does
not fit its window. Seconds are those of the processor, the least of the rounds; in each round the
same list is decoded, and then fitted.

Memory is what a conversation of 200 turns has allocated at the end, beside its owner's list, by
the bytes of that list: when it was fitted at each turn, with and without cuts. What a proxy keeps
of such a conversation, the parsed request included, is compared with the JSON of the request.

It imports nothing from the benchmarks, so that it measures any checkout.
"""

import argparse
import asyncio
import gc
import importlib.util
import json
import time
import tracemalloc
from collections.abc import Callable
from functools import partial
from typing import Any

from agentic.bridges.dicts import Conversation
from agentic.providers import openai_chat

WINDOW, WIDE = 32_000, 1_000_000
TURNS = 200
_OUTPUT = "def function(text: str) -> str:\n    return text\n" * 6


def make_messages(count: int) -> list[dict[str, Any]]:
    """Return a conversation of turns of four messages, and one request more."""
    messages: list[dict[str, Any]] = []
    for turn in range(count // 4):
        function = {"name": "read", "arguments": f'{{"path": "module_{turn}.py"}}'}
        call = {"id": f"call_{turn}", "type": "function", "function": function}
        messages += [
            {"role": "user", "content": f"Now look at module {turn}. " * 4},
            {"role": "assistant", "content": None, "tool_calls": [call]},
            {"role": "tool", "tool_call_id": call["id"], "content": f"{turn}\n{_OUTPUT}"},
            {"role": "assistant", "content": f"Module {turn} is fine, as far as I see. " * 4},
        ]
    return [*messages, {"role": "user", "content": "Go on."}]


def seconds(work: Callable[[Any], object], messages: Any) -> float:
    """Return the processor time of a call, without the garbage of the last one."""
    gc.collect()
    start = time.process_time()
    work(messages)
    return time.process_time() - start


def print_times(counts: list[int], rounds: int) -> None:
    """Print a line for each length."""
    print(f"{'messages':>10}{'decode, ms':>12}{'fit, ms':>10}{'ratio':>8}")
    for count in counts:
        text = json.dumps(make_messages(count))
        decoded, fitted = [], []
        for _ in range(rounds):
            decoded.append(seconds(openai_chat.decode, json.loads(text)))
            fitted.append(seconds(Conversation(openai_chat, WINDOW).fit, json.loads(text)))
        decode, fit = 1000 * min(decoded), 1000 * min(fitted)
        print(f"{count:10,}{decode:12.1f}{fit:10.1f}{fit / decode:8.1f}", flush=True)


def bytes_of(make: Callable[[], object]) -> int:
    """Return how much is allocated for what is made, once it was made before."""
    make()
    gc.collect()
    tracemalloc.start()
    result = make()
    gc.collect()
    size, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    del result
    return size


def print_memory() -> None:
    """Print the ratios of bytes."""
    text = json.dumps(make_messages(4 * TURNS))

    def fit_each_turn(window: int) -> object:
        messages, conversation = json.loads(text), Conversation(openai_chat, window)
        for end in range(1, len(messages) + 1, 4):
            conversation.fit(messages[:end])
        return messages, conversation

    alone = bytes_of(lambda: json.loads(text))
    for name, window in (("all of it", WIDE), ("cut", WINDOW)):
        beside = bytes_of(partial(fit_each_turn, window)) - alone
        print(f"{f'{TURNS} turns, {name}':26}{beside / alone:6.2f} of its list")
    try:
        each = asyncio.run(_bytes_in_a_proxy())
    except ImportError as error:
        print(f"no proxy: {error}")
    else:
        print(f"{f'{TURNS} turns in a proxy':26}{each / len(text):6.2f} of its JSON")


async def _bytes_in_a_proxy(count: int = 4) -> float:
    import httpx  # noqa: PLC0415  not every checkout has a proxy
    from starlette.applications import Starlette  # noqa: PLC0415  the same
    from starlette.requests import Request  # noqa: PLC0415  the same
    from starlette.responses import JSONResponse  # noqa: PLC0415  the same
    from starlette.routing import Route  # noqa: PLC0415  the same

    async def provide(_: Request) -> JSONResponse:
        message = {"role": "assistant", "content": "Fine."}
        choice = {"index": 0, "message": message, "finish_reason": "stop"}
        usage = {"prompt_tokens": 100, "completion_tokens": 10, "total_tokens": 110}
        return JSONResponse({"id": "r1", "choices": [choice], "usage": usage})

    # An earlier checkout has it among the bridges.
    room = "app" if importlib.util.find_spec("agentic.app") else "bridges"
    proxy: Any = importlib.import_module(f"agentic.{room}.proxy").Proxy("http://provider/v1", WIDE)
    provider = Starlette(routes=[Route("/{path:path}", provide, methods=["POST"])])
    proxy._upstream._client = httpx.AsyncClient(  # noqa: SLF001
        transport=httpx.ASGITransport(provider)
    )
    transport = httpx.ASGITransport(proxy)
    async with httpx.AsyncClient(transport=transport, base_url="http://proxy") as client:

        async def ask(name: str) -> None:
            messages = make_messages(4 * TURNS)
            messages[0]["content"] = f"{name} {messages[0]['content']}"
            body = json.dumps({"model": "bench", "messages": messages}).encode()
            headers = {"Content-Type": "application/json", "Authorization": "Bearer bench"}
            reply = await client.post("/v1/chat/completions", content=body, headers=headers)
            reply.raise_for_status()

        await ask("first")
        gc.collect()
        tracemalloc.start()
        for number in range(count):
            await ask(f"number {number}")
        gc.collect()
        size, _ = tracemalloc.get_traced_memory()
        tracemalloc.stop()
    return size / count


def main() -> None:
    """Print the times, and the memory."""
    parser = argparse.ArgumentParser(prog="python benchmarks/first_fit.py")
    parser.add_argument("--messages", type=int, nargs="+", default=[2_000, 8_000, 16_000])
    parser.add_argument("--rounds", type=int, default=7)
    options = parser.parse_args()
    print_times(options.messages, options.rounds)
    print_memory()


if __name__ == "__main__":
    main()
