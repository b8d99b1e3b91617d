"""Decisions: the user's rules and answers, and what the assistant gave as reason and cause."""

import re
from collections.abc import Iterator

from benchmarks.retention.facts.transcript import content_of
from benchmarks.retention.probes.probe import (
    SHORTEST_WORDS,
    Cut,
    Probe,
    newest,
    sentences_of,
    spaced,
)
from benchmarks.retention.probes.recall import names_in, values_in

__all__ = ["decision_probes"]

_RULE = re.compile(
    r"\b(?:must|never|always|don'?t|do not|should(?:n't)?|only|make sure|instead of|no longer"
    r"|from now|prefer|needs? to|has to|avoid|without|not allowed|please keep)\b"
    r"|^(?:no|use|keep|leave|remove|rename)\b",
    re.IGNORECASE,
)
_REASON = re.compile(
    r"\b(?:because|since|instead of|rather than|so that|therefore|decided|chose|better to"
    r"|in favou?r|to avoid|to keep|the reason|which means)\b",
    re.IGNORECASE,
)
_CAUSE = re.compile(
    r"\b(?:root cause|(?:the|real|actual|main) (?:issue|problem|bug|error|cause|reason) (?:is|was)"
    r"|caused by|due to|turns out|turned out|is missing|was missing|doesn'?t exist"
    r"|found (?:that|the)|fails? (?:because|when|with)|is (?:broken|wrong|cached)|the fix is)\b",
    re.IGNORECASE,
)
_ASKING = re.compile(r"ask|question|confirm|approv|clarif", re.IGNORECASE)
_REFUSED = re.compile(
    r"(?:the user|user|you) (?:doesn't want|rejected|denied|refused|declined)", re.IGNORECASE
)
_WHY = re.compile(r"(?:reason|user said|feedback)[^:\n]*:\s*(\S[^\n]*)", re.IGNORECASE)
_SHORT = 200
"""The longest reply to a question that is an answer rather than a new request, in characters."""


def decision_probes(cut: Cut) -> Iterator[Probe]:
    """Yield what asks for rules, reasons, causes, and the user's answers."""
    # Of a long description only the user's own instructions are rules, which are short.
    rules = (each for text in cut.requests for each in sentences_of(text) if _RULE.search(each))
    for rule in newest(filter(_is_statement, rules)):
        yield Probe.saying("rule", rule)
    used = {*names_in(cut.needs), *values_in(cut.needs)}
    told = [each for reply in cut.replies for each in sentences_of(reply) if _is_statement(each)]
    about = [each for each in told if used.intersection([*names_in(each), *values_in(each)])]
    causes = [each for each in about if _CAUSE.search(each)]
    for kind, sentences in (
        ("choice", [each for each in about if _REASON.search(each) and each not in causes]),
        ("finding", causes),
    ):
        for sentence in newest(sentences):
            yield Probe.saying(kind, sentence)
    for verdict in newest([*_answers(cut), *_replies_to_questions(cut)]):
        yield Probe.saying("verdict", verdict)


def _is_statement(sentence: str) -> bool:
    return len(sentence.split()) >= SHORTEST_WORDS and sentence[-1] not in "?:"


def _answers(cut: Cut) -> Iterator[str]:
    """Yield what the user said in the results of tools: answers, and reasons for a refusal."""
    for call in cut.past_calls:
        output = call.output or ""
        if _REFUSED.search(output[:300]):
            yield from _WHY.findall(output)[:1]
        elif _ASKING.search(call.tool) and not call.failed and output.strip():
            quoted = re.findall(r"=\s*\"([^\"\n]+)\"", output)
            yield from map(spaced, quoted or output.split("\n")[:1])


def _replies_to_questions(cut: Cut) -> Iterator[str]:
    """Yield short messages of the user that follow a question of the assistant."""
    if cut.in_text:
        return
    question = False
    for message in cut.past:
        if message.get("role") == "assistant":
            question = content_of(message).rstrip(" *_\n").endswith("?")
        elif message.get("role") == "user":
            text = spaced(content_of(message))
            if question and text and len(text) <= _SHORT and not text.startswith(("/", "<")):
                yield text
            question = False
