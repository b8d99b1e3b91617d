import json
import runpy
from pathlib import Path
from typing import Any

import attrs
import jsonschema
import pytest
import yaml

from agentic.app import config
from agentic.app.config._records import schema

SHIPPED = Path(config.__file__).parent / "agent.schema.json"
VALID = [
    "model: anthropic:claude-sonnet-4-5",
    "model: my.package:Decider",
    "model: gpt-4.1",
    "model: offline",
    "context_window: 16k",
    "name: rédacteur\nsystem_prompt: |\n  Long\n  text.",
    "model: ${MODEL}",
    "context: {max_messages_before_summary: null, summary_model: digest}",
    "context:\ntruncation:\nstore:\ntools:\nstrategies:\nmodel_options:",
    "truncation: false",
    "truncation: {mode: head, max_lines: 3, max_bytes: 1MB}",
    "truncation: {max_bytes: 100}",
    "strategies: [keep_last, importance, {keep_last: null}, {trim_rounds: {max_rounds: 3}}]",
    "strategies: [{clear_tool_outputs: {max_tokens: 9, low_watermark: 1, keep_tools: [a]}}]",
    "store: {kind: memory}",
    "store: {kind: postgres, dsn: x}",
    "store: {kind: sqlite, path: x.db}",
    "store: {path: folder}",
    "truncation: {max_bytes: 00000000000000050KB}",
    "tools: [recall, 'json:dumps', 'package.module:Class.method']",
    "tool_timeout_seconds: 0.5\nmax_turns: 1\nturn_output_bytes: null",
]
INVALID = [
    "modle: x:y",
    "model: qwen3",
    "model: gpt-oss-20b",
    "context: {summary_model: offline}",
    "context_window: 16q",
    "name: a b",
    "name: ''",
    "context: {max_messages: 3}",
    "context: {max_messages_before_summary: 1}",
    "context: {min_recent_messages: true}",
    "context: {min_recent_messages: null}",
    "context: {summary_model: cheap}",
    "context: 3",
    "truncation: true",
    "truncation: {max_bytes: 0}",
    "truncation: {max_bytes: 0KB}",
    "truncation: {max_bytes: 5XB}",
    "truncation: {mode: end}",
    "strategies: keep_last",
    "strategies: [fit_window]",
    "strategies: [{keep_last: {keep_recent: -1}}]",
    "strategies: [{keep_last: {}, importance: {}}]",
    "strategies: [{importance: {tool_use_score: 1.5}}]",
    "strategies: [{trim_rounds: {max_rounds: 0}}]",
    "strategies: [{clear_tool_outputs: {max_tokens: 9, keep_tools: read}}]",
    "strategies: [{clear_tool_outputs: {max_tokens: 9, counter: x}}]",
    "store: {kind: mysql}",
    "store: {kind: postgres}",
    "store: {kind: memory, path: x}",
    "store: {dsn: x}",
    "store: {kind: sqlite, dsn: x}",
    "store: {path: ''}",
    "tools: [read]",
    "tools: [3]",
    "tool_timeout_seconds: 0",
    "max_turns: 1.5",
    "description: [a]",
]


def _accepted_by_schema(text: str) -> bool:
    validator = jsonschema.Draft7Validator(schema())
    return bool(validator.is_valid(yaml.safe_load(text)))


def _accepted_by_load(text: str) -> bool:
    try:
        config.loads(text, environ={"MODEL": "anthropic:claude-sonnet-4-5"})
    except config.ConfigProblems:
        return False
    return True


def test_the_shipped_file_is_current(capsys: pytest.CaptureFixture[str]) -> None:
    """If not: python -m agentic.app.config > agentic/app/config/agent.schema.json."""
    runpy.run_module("agentic.app.config", run_name="__main__")

    assert SHIPPED.read_text() == capsys.readouterr().out
    assert json.loads(SHIPPED.read_text()) == schema()


def test_the_schema_is_one() -> None:
    """By its own schema."""
    jsonschema.Draft7Validator.check_schema(schema())


@pytest.mark.parametrize("text", VALID)
def test_both_accept_what_is_valid(text: str) -> None:
    """By the schema and by load."""
    assert (_accepted_by_schema(text), _accepted_by_load(text)) == (True, True)


@pytest.mark.parametrize("text", INVALID)
def test_both_refuse_what_is_invalid(text: str) -> None:
    """An editor underlines what load refuses."""
    assert (_accepted_by_schema(text), _accepted_by_load(text)) == (False, False)


def test_every_key_is_described_with_default() -> None:
    """An editor shows them beside the key; they are the records' own."""
    properties = schema()["properties"]

    def described(section: dict[str, Any]) -> bool:
        return all(key["description"] for key in section["properties"].values())

    assert all(key["description"] for key in properties.values())
    assert described(properties["context"])
    assert described(properties["store"])
    assert properties["context"]["properties"]["response_reserve"]["default"] == 4096
    assert set(properties) == {
        field.name for field in attrs.fields(config.AgentConfig) if field.name[0] != "_"
    }
