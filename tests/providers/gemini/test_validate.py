from typing import Any

import pytest

from agentic.providers import gemini

ASK = {"role": "user", "parts": [{"text": "Go."}]}
SAY = {"role": "model", "parts": [{"text": "Done."}]}
CALL = {"functionCall": {"name": "run", "args": {}}}
ANSWER = {"functionResponse": {"name": "run", "response": {"output": "ok"}}}
SIGNED = {**CALL, "thoughtSignature": "AAE="}


def _model(*parts: Any) -> dict[str, Any]:
    return {"role": "model", "parts": list(parts)}


def _user(*parts: Any) -> dict[str, Any]:
    return {"role": "user", "parts": list(parts)}


# Each breaks one rule and no other.
BROKEN: list[tuple[str, int | None, Any]] = [
    ("first_message", None, {"contents": []}),
    ("empty_content", 0, {"contents": [{"role": "user"}]}),
    ("empty_content", 0, {"contents": [_user({})]}),
    ("part", 0, {"contents": [_user({"text": "a", "inlineData": {"data": "iQ=="}})]}),
    ("role", 1, {"contents": [ASK, {"role": "assistant", "parts": [{"text": "a"}]}]}),
    ("first_message", 0, {"contents": [SAY]}),
    ("first_message", 0, {"contents": [_model(CALL), _user(ANSWER)]}),
    ("order", 2, {"contents": [ASK, SAY, _model(CALL), _user(ANSWER)]}),
    ("unanswered_call", 1, {"contents": [ASK, _model(CALL), ASK]}),
    ("unanswered_call", 1, {"contents": [ASK, _model(CALL, CALL), _user(ANSWER)]}),
    ("orphaned_result", 0, {"contents": [_user(ANSWER)]}),
    ("orphaned_result", 2, {"contents": [ASK, _model(CALL), _user(ANSWER, ANSWER)]}),
    (
        "arguments",
        1,
        {"contents": [ASK, _model({"functionCall": {"name": "f", "args": "x"}}), _user(ANSWER)]},
    ),
    (
        "arguments",
        2,
        {
            "contents": [
                ASK,
                _model(CALL),
                _user({"functionResponse": {"name": "f", "response": "x"}}),
            ]
        },
    ),
    ("name", 1, {"contents": [ASK, _model({"functionCall": {"args": {}}}), _user(ANSWER)]}),
    ("name", None, {"contents": [ASK], "tools": [{"functionDeclarations": [{"name": "2 f"}]}]}),
    (
        "thinking",
        1,
        {"model": "models/gemini-3-pro", "contents": [ASK, _model(CALL), _user(ANSWER)]},
    ),
    ("prefill", 1, {"model": "gemini-3.6-flash", "contents": [ASK, SAY]}),
]


@pytest.mark.parametrize(("rule", "position", "request_"), BROKEN)
def test_each_rule_is_found_alone(rule: str, position: int | None, request_: Any) -> None:
    """With the address where Google says so."""
    found = gemini.validate(request_)

    assert [(each.rule, each.position) for each in found] == [(rule, position)]
    assert found[0].source.startswith("https://")


SOUND: list[Any] = [
    {"contents": "Go."},
    {"contents": [{"parts": [{"text": "Go."}]}]},
    {"contents": [ASK, ASK, SAY, SAY]},
    {"contents": [SAY, ASK]},
    {"contents": [ASK, _model(CALL, CALL), _user(ANSWER), _user(ANSWER), ASK]},
    {"contents": [ASK, _model(CALL), {"role": "function", "parts": [ANSWER]}]},
    {"contents": [ASK, _model(CALL), _user(ANSWER, {"text": "And?"})]},
    {"model": "gemini-3-pro", "contents": [ASK, _model(SIGNED, CALL), _user(ANSWER, ANSWER)]},
    {"model": "gemini-3-pro", "contents": [ASK, _model(CALL), _user(ANSWER), SAY, ASK]},
    {"model": "gemini-2.5-pro", "contents": [ASK, _model(CALL), _user(ANSWER), SAY]},
    {"model": "gemini-3-pro-image-preview", "contents": [ASK, _model(CALL), _user(ANSWER)]},
]


@pytest.mark.parametrize("request_", SOUND)
def test_what_google_accepts_is_no_violation(request_: Any) -> None:
    """Roles need not alternate, and what only some models refuse needs a model's name."""
    assert gemini.validate(request_) == []
