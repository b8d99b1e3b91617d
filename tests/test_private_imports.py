"""Which private modules the tests import, and why what they test cannot be seen from outside.

A test of private code keeps that code from being changed: prefer a public name. `CONTRIBUTING.md`
says so, too.
"""

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

TESTS = Path(__file__).parent
PARSERS = "a parser of text that models wrote: each of its cases by a digest would be a page long"
DATA = "a table with a source for each row: all rows are checked, not those that a call returns"
FAULTS = "a fault between two steps (a full disk, another process) that no caller can bring about"
COST = "a bound on what is kept or read, which a result does not show"
SECONDS = "a stream of heartbeats that lasts for seconds, which nobody should wait for"
FLOORS = "the part that uses a package at its oldest release, which needs no terminal or command"
FAST = "the shorter way beside the one that it stands for: no result shows which was taken"
BARE = "a record or a step of a replay that takes a minute from outside"
RECEIVED = "records that a caller receives and never names, which a test of types does"
SHARED = "what several rooms share: each of its cases by one of them would be a page long"
PRIVATE = {
    "agentic.app.cli._local_servers": "servers that answer with nonsense, at addresses of a test",
    "agentic.context.digest._section": "how a line is split, which a page shows only in parts",
    "agentic.messages._plain": FAST,
    "agentic.messages._shared_texts": FAST,
    "agentic.messages._usual": FAST,
    "agentic._base._addresses": "every form of an address, of which most end in the same error",
    "agentic._base._clock": "the time of a message, which a model of the store must know",
    "agentic._base._waiting": "calls are counted in the thread that a test has",
    "agentic._base": "the import machinery of the house",
    "agentic.durable.dbos._feed": FAULTS,
    "agentic.durable.dbos._log": FAULTS,
    "agentic.durable.dbos._run": FAULTS,
    "agentic.durable.dbos._steps": FAULTS,
    "agentic.durable.dbos._stores": FAULTS,
    "agentic.durable.dbos._tables": FAULTS,
    "agentic.durable.dbos._worker": "how DBOS stores values, which its own client must know; and a "
    "claim that is taken back, which only the log says",
    "agentic.bridges.dicts._items": "what a list is read as, before a View decides about it",
    "agentic.bridges.dicts._write": "words of ours that come back, beside another framework's form",
    "agentic.bridges.kit._runs": "the order of a list that grows and is rewound, by itself",
    "agentic.bridges.langchain._conversation": COST,
    "agentic.bridges.mcp._connection": "a connection whose server a test takes away",
    "agentic.bridges.mcp._results": "every kind of content, of which servers send few",
    "agentic.app.proxy._body": "JSON of any form, which takes no request each",
    "agentic.app.proxy._pool": COST,
    "agentic.app.proxy._replies": SECONDS,
    "agentic.app.proxy._upstream": SECONDS,
    "agentic.app.cli._access": "headers of any form, which take no server each",
    "agentic.app.chat._screen": "a terminal of any width, which takes no process each",
    "agentic.app.chat._terminal": FLOORS,
    "agentic.app.serve._login": "cookies of a page whose server is made in the process of the test",
    "agentic.app.serve._runs_api": FLOORS,
    "agentic.app.config._strategies": "all strategies, whichever there are",
    "agentic.bridges.pydantic_ai._form": "what the framework merges, before a View decides",
    "agentic.context.digest._calls": PARSERS,
    "agentic.context.digest._overturned": PARSERS,
    "agentic.context.digest._shell": PARSERS,
    "agentic.context.digest._text": PARSERS,
    "agentic.context.digest._tools": PARSERS,
    "agentic.context.digest._turns": PARSERS,
    "agentic.context.view._lineage": COST,
    "agentic.durable._records": "the form of a record, which outlives the version that wrote it",
    "agentic.history._log": FAULTS,
    "agentic.history._replace": "the comparison that a naive store makes, too",
    "agentic.history._secrets": "spellings of a secret, whose places a redaction does not return",
    "agentic.history._session_file": COST,
    "agentic.history.postgres._database": "the schema of former versions",
    "agentic.history.postgres._rows": FAULTS,
    "agentic.history.sqlite._database": FAULTS,
    "agentic.history.sqlite._rows": COST,
    "agentic.limits._catalog": DATA,
    "agentic.limits._catalog._servers": DATA,
    "agentic.limits._catalog._source": DATA,
    "agentic.loop._calls": FAULTS,
    "agentic.loop._conversation": FAULTS,
    "agentic.loop._records": FAULTS,
    "agentic.messages._decoding": "what an adapter asks of messages is asked of all five at once",
    "agentic.providers._model": "errors of no SDK in particular",
    "agentic.providers._offline": "each of its orders, of which a chat shows one after the other",
    "agentic.providers._registry": "what a test registers is not there for the next one",
    "agentic.providers.openai_chat._decider": DATA,
    "agentic.providers.overflow._error_text": DATA,
    "agentic.providers.overflow._wordings": DATA,
    "agentic.app.replay._archives": "an archive from elsewhere that is not what it says",
    "agentic.app.replay._judge": BARE,
    "agentic.app.replay._reading": "what a reader notes, beside the messages that it returns",
    "agentic.app.replay._report": BARE,
    "agentic.app.replay._validity": BARE,
    "agentic.app.replay._steps": BARE,
    "agentic.session._grep": "a search that is stopped in the middle",
    "agentic.session._search": "places that a tool's answer names in words only",
    "agentic.tokens._count": COST,
    "agentic.tokens._estimate": "the features that the estimate was fitted on",
    "agentic.tokens._exact": COST,
    "agentic.tokens._thinking": "sizes that only add up over a conversation",
    "agentic.truncate._buffers": COST,
    "agentic.app.config._load": "which agents a folder has, which only a prompt shows",
    "agentic.app.config._problems": RECEIVED,
    "agentic.app.config._records": "the schema, which only `python -m agentic.app.config` writes",
    "agentic.app.replay._page": BARE,
    "agentic.app.replay._policies": BARE,
    "agentic.app.replay._records": BARE,
    "agentic.app.replay._replay": BARE,
    "agentic.app.replay._transcripts": "which files are sessions, which a command only counts",
    "agentic.bridges.kit._mirror": "which item is the same, before a View decides about it",
    "agentic.bridges.otel._instrument": RECEIVED,
    "agentic.context.budget._compaction": RECEIVED,
    "agentic.context.compactors._restoration": RECEIVED,
    "agentic.context.digest._explained": "where a line of a digest comes from",
    "agentic.context.strategies._strategy": RECEIVED,
    "agentic.context.view._picture": RECEIVED,
    "agentic.events._sending": "receivers that raise or wait, which no part of an agent is",
    "agentic.history._abilities": RECEIVED,
    "agentic.limits._lookup": DATA,
    "agentic.limits._model_limits": SHARED,
    "agentic.limits._names": SHARED,
    "agentic.loop._runner": RECEIVED,
    "agentic.messages._coverage": RECEIVED,
    "agentic.messages._landmarks": SHARED,
    "agentic.messages._message": RECEIVED,
    "agentic.messages._provider_compaction": SHARED,
    "agentic.messages._restoration": RECEIVED,
    "agentic.messages._rounds": SHARED,
    "agentic.messages._timeline": SHARED,
    "agentic.providers._connect": RECEIVED,
    "agentic.providers.anthropic._decider": SHARED,
    "agentic.providers.bedrock._decoding": "the form that boto3 has, which no recorded reply has",
    "agentic.providers.kit._json": SHARED,
    "agentic.providers.kit._messages": RECEIVED,
    "agentic.providers.kit._record": SHARED,
    "agentic.providers.openai_responses._decider": DATA,
    "agentic.providers.overflow._detection": SHARED,
    "agentic.testing._model_server": RECEIVED,
    "agentic.tokens._media": SHARED,
    "agentic.tokens._models": RECEIVED,
    "agentic.tools._executors": RECEIVED,
    "agentic.tools._function": RECEIVED,
    "agentic.usage._stop": RECEIVED,
    "agentic.usage._usage": SHARED,
}


def _private_modules(path: Path) -> Iterator[str]:
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        if not isinstance(node, ast.ImportFrom) or not (node.module or "").startswith("agentic"):
            continue
        for name in node.names:
            module = str(node.module)
            parts = module.split(".")
            if any(part.startswith("_") for part in parts):
                yield module
            elif name.name.startswith("_"):
                yield f"{module}.{name.name}"


@pytest.mark.slow
def test_tests_import_only_these_private_modules() -> None:
    """One that is no longer imported leaves the list, so that it cannot come back unnoticed."""
    found = {name for path in TESTS.rglob("*.py") for name in _private_modules(path)}

    assert sorted(found) == sorted(PRIVATE)
