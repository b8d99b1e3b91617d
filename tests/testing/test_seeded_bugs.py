"""Bugs that real adapters had, seeded into a good one: the contract finds each of them.

A seed is a change of the example's source: the text that is replaced, and what takes its place.
"""

import sys
from pathlib import Path
from types import ModuleType

import pytest

from agentic import testing
from agentic.usage import StopReason, Usage

EXAMPLE = Path(__file__).parents[2] / "examples" / "acme-adapter"
sys.path.insert(0, str(EXAMPLE))

import test_acme as wire  # noqa: E402

pytestmark = pytest.mark.slow

SOURCE = (EXAMPLE / "acme.py").read_text()
CALLED = {**wire.CALLING, "ended": "finished"}
RESPONSES = [
    (wire.CALLING, Usage(110, 37, cache_read=90, cache_write=8, reasoning=6), StopReason.TOOL),
    (CALLED, Usage(110, 37, cache_read=90, cache_write=8, reasoning=6), StopReason.TOOL),
    (wire.SPEAKING, Usage(140, 5), StopReason.STOP),
    (wire.CUT_OFF, Usage(9, 2), StopReason.MAX_TOKENS),
    (wire.WITHHELD, Usage(), StopReason.CONTENT_FILTER),
]

READ = "+ Usage(input=cached, cache_read=cached)"
WRITTEN = "+ Usage(input=stored, cache_write=stored)"
THOUGHT = "+ Usage(output=thought, reasoning=thought)"
FIRST = 'Usage(input=at(spent, "fresh"), output=at(spent, "said"))'
RULES = "*(message.content for message in sound[:start])"
WORD = 'stop_word=text_at(data, "ended"),'
SOUND = "sound = number_ids(close_open_rounds(list(messages)))"
ITEMS = "or _write(message) for message in messages"
ARGUMENTS = "arguments_as_object(call.arguments)"
TEXT = "[result.text, "
MOVED = """rules += [m.content for m in sound[start:] if m.role == "system"]
    talk = encode([m for m in sound[start:] if m.role != "system"])"""
CALLS = 'tool_calls=[_read_call(part) for part in parts if _is(part, "use")],'
NATIVE = "native_payload(message, NAME, _read_payload)"
SEEDS: dict[str, tuple[str, str]] = {
    # stop reasons
    "a reply that was cut off is whole": ("StopReason.MAX_TOKENS", "StopReason.STOP"),
    "a reply that was withheld is whole": ("StopReason.CONTENT_FILTER", "StopReason.STOP"),
    "a reply that ended is of another kind": (
        '"finished": StopReason.STOP',
        '"finished": StopReason.OTHER',
    ),
    "a word is not in the table": ('        "out_of_room": StopReason.MAX_TOKENS,\n', ""),
    "calls are overlooked": ("has_tool_calls=calls", "has_tool_calls=False"),
    "any call asks for tools": (
        "return STOP_WORDS.reason(",
        "return StopReason.TOOL if calls else STOP_WORDS.reason(",
    ),
    "the stop word is lost": (WORD, ""),
    "the stop word is ours": (WORD, "stop_word=stop_reason(data).value,"),
    "the stop word is in capitals": (WORD, 'stop_word=text_at(data, "ended").upper(),'),
    # usage
    "what the cache read is forgotten": (READ, ""),
    "what the cache read is not in the input": (READ, "+ Usage(cache_read=cached)"),
    "what the cache read is input alone": (READ, "+ Usage(input=cached)"),
    "what the cache read counts twice": (READ, f"{READ} {READ}"),
    "what the cache read is in the input twice": (READ, f"{READ} + Usage(input=cached)"),
    "what the cache read is doubled": (READ, f"{READ} + Usage(cache_read=cached)"),
    "what the cache wrote is forgotten": (WRITTEN, ""),
    "what the cache wrote counts twice": (WRITTEN, f"{WRITTEN} {WRITTEN}"),
    "what the cache wrote was read": (WRITTEN, "+ Usage(input=stored, cache_read=stored)"),
    "reading and writing are confused": (
        '("cached", "stored", "thought")',
        '("stored", "cached", "thought")',
    ),
    "thinking is forgotten": (THOUGHT, ""),
    "thinking is not in the output": (THOUGHT, "+ Usage(reasoning=thought)"),
    "thinking counts twice": (THOUGHT, f"{THOUGHT} + Usage(output=thought)"),
    "output is forgotten": (FIRST, 'Usage(input=at(spent, "fresh"))'),
    "input and output are confused": (
        FIRST,
        'Usage(output=at(spent, "fresh"), input=at(spent, "said"))',
    ),
    # what is lost on the way out
    "leading system messages are dropped": (RULES, ""),
    "the summary is dropped": (RULES, "*(m.content for m in sound[:start] if not m.summary)"),
    "only the first leading system message is sent": (
        RULES,
        "*(m.content for m in sound[:min(start, 1)])",
    ),
    "the system prompt is dropped": ("rules = [system_prompt, ", "rules = ["),
    "later system messages are dropped": (
        ITEMS,
        f'{ITEMS} if message.role != "system"',
    ),
    "later system messages move to the rules": ("talk = encode(sound[start:])", MOVED),
    "pinned messages come first": (
        "talk = encode(sound[start:])",
        "talk = encode(sorted(sound[start:], key=lambda m: not m.pinned))",
    ),
    "pinned messages are dropped": (
        "talk = encode(sound[start:])",
        "talk = encode([m for m in sound[start:] if not m.pinned])",
    ),
    "the task is dropped": ("talk = encode(sound[start:])", "talk = encode(sound[start + 1:])"),
    "the newest message is dropped": (
        "talk = encode(sound[start:])",
        "talk = encode(sound[start:-1])",
    ),
    "notices are dropped": (
        TEXT,
        '[result.output or (result.error.message if result.error else ""), ',
    ),
    "errors are dropped": (TEXT, "[result.output, result.notice, "),
    "outputs are dropped when there is a notice": (TEXT, "[result.notice or result.text, "),
    "media are dropped": ("for media in message.media]", "for media in ()]"),
    "media of results are dropped": (", *map(_note, result.media)", ""),
    "words beside calls are dropped": ("* bool(message.content)\n", "* (not message.tool_calls)\n"),
    "arguments are dropped": (ARGUMENTS, "{}"),
    "arguments that are no JSON are dropped": (
        ARGUMENTS,
        f'{{k: v for k, v in {ARGUMENTS}.items() if k != "unparsed_arguments"}}',
    ),
    "what a tool is for is dropped": ('"about": tool.description, ', ""),
    "what a tool takes is dropped": (', "takes": dict(tool.parameters)', ""),
    # pairing and identity
    "open calls are left open": (SOUND, "sound = number_ids(list(messages))"),
    "ids that repeat are sent": (SOUND, "sound = close_open_rounds(list(messages))"),
    "an assistant begins": ('if not talk or talk[0].get("by") != "human":', "if not talk:"),
    "items are sent whatever the message says": (
        NATIVE,
        "(message.native and message.native.provider == NAME and message.native.payload)",
    ),
    "everybody's items are sent": (NATIVE, "(message.native and message.native.payload)"),
    "a reply is written anew": (CALLS + "\n        native=ProviderPayload(NAME, item),", CALLS),
    "a request is written anew": (
        '[Message("user", _join(said, "text"), native=ProviderPayload(NAME, item))]',
        '[Message("user", _join(said, "text"))]',
    ),
    "results are written anew": (
        "map(_read_result, results), native=of_tools)",
        "map(_read_result, results))",
    ),
    "joined items lose their fields": (
        '{**last, **item, "parts": ',
        '{"by": item["by"], "parts": ',
    ),
    "thoughts of others are said": (
        'parts += [{"text": message.content}] * bool(message.content)',
        'parts += [{"text": message.content + message.reasoning}] * bool(message.content)',
    ),
    "half an emoji is sent": ("= replace_surrogates(body)", "= body"),
    # streams and errors
    "a stream loses thoughts": ('("text", "thought", "seal", "with")', '("text", "seal", "with")'),
    "a stream loses seals": ('("text", "thought", "seal", "with")', '("text", "thought", "with")'),
    "a stream loses its usage": ('"spent": at(self._last, "spent")', '"spent": {}'),
    "a stream loses its last word": ('"ended": self._last["end"]', '"ended": "finished"'),
    "a stream mixes its parts up": ("sorted(self._parts)", "sorted(self._parts, reverse=True)"),
    "a stream that broke off is whole": (
        "if self._last is None:\n            raise IncompleteReply(self.text)",
        'if self._last is None:\n            self._last = {"end": "finished"}',
    ),
    "what had come is forgotten": (
        "raise IncompleteReply(self.text)\n        parts",
        'raise IncompleteReply("")\n        parts',
    ),
    "pieces of text are lost": ("        return said\n", "        return said.strip()\n"),
    "no overflow is recognized": ('== "talk_too_long"', '== "too_long"'),
    "every error is an overflow": ('== "talk_too_long"', '!= ""'),
}


def _check(adapter: ModuleType) -> None:
    testing.check_adapter(
        adapter,
        requests=[wire.REQUEST],
        responses=RESPONSES,
        streams=[(wire.STREAM, RESPONSES[0]), (wire.SPOKEN, RESPONSES[2])],
        overflows=[wire.TOO_LONG],
        other_errors=[wire.SLOW_DOWN],
    )


def _adapter(source: str) -> ModuleType:
    module = ModuleType("acme")
    exec(compile(source, "acme.py", "exec"), module.__dict__)  # noqa: S102  the example's own text
    return module


def test_the_example_has_none_of_them() -> None:
    """With no seed in it, the contract is silent."""
    _check(_adapter(SOURCE))


@pytest.mark.parametrize("name", SEEDS)
def test_a_seeded_bug_is_found(name: str) -> None:
    """Each in words that name a promise."""
    old, new = SEEDS[name]
    assert SOURCE.count(old) == 1, "the seed fits the example"

    with pytest.raises(AssertionError, match="A promise of Adapter is broken on"):
        _check(_adapter(SOURCE.replace(old, new)))


def test_lost_stop_word_is_found_unaided() -> None:
    """Where no reply has a word at all, and the replies hold words that the table knows."""
    old, new = SEEDS["the stop word is lost"]

    with pytest.raises(AssertionError, match="stop_word is the provider's own word"):
        testing.check_adapter(_adapter(SOURCE.replace(old, new)), responses=[wire.SPEAKING])
