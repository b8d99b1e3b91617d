"""Runs over HTTP, through `agentic serve` as a process of its own."""

import json
import time
from typing import Any

import pytest

from agentic.app.cli import main

pytestmark = pytest.mark.slow


def test_run_is_watched_steered_and_cancelled(
    place: Any, capfd: pytest.CaptureFixture[str]
) -> None:
    """One server: events of a run, a message that steers another, a cancellation, the list."""
    gate = place.folder / "gate"
    server = place.serve()
    done = server.submit("write notes: 1", key="once")
    events = server.watch(done)
    gate.touch()
    steered = server.submit("write notes: 0", session="tuesday")
    cancelled = server.submit("write notes: 0", session="wednesday")
    for run_id in (steered, cancelled):
        server.until(run_id, lambda known: known["state"] == "running")

    half = "Hurry. \ud83d"  # half of an emoji, as models cut off write
    body = json.dumps({"message": half})
    place.http.post(f"{server.url}/runs/{steered}/steer", content=body).raise_for_status()
    # Messages are delivered in the order in which they were sent: that one has arrived before this.
    place.http.post(f"{server.url}/runs/{cancelled}/cancel").raise_for_status()
    told = server.watch(cancelled)
    main(["runs", str(place.folder / "agent.yaml"), "--json"])
    listed = [json.loads(line) for line in capfd.readouterr().out.splitlines()]
    gate.unlink()
    server.watch(steered)

    latest = json.loads(events.rstrip().rpartition("data: ")[2])
    assert (latest["type"], latest["reply"]) == ("run_end", "Done.")
    assert "event: tool_execution_start" in events
    assert server.submit("write notes: 1", key="once") == done
    for part in ("cancel", "steer", "approvals/call_1"):
        body = {"message": "Hurry.", "allowed": True}
        late = place.http.post(f"{server.url}/runs/{done}/{part}", json=body)
        assert (late.status_code, f"run {done} is over: " in late.text) == (400, True)
    assert '"state": "cancelled"' in told
    assert [(run["session_id"], run["state"]) for run in listed] == [("tuesday", "running")]
    assert server.get(f"/runs/{steered}")["outcome"]["reply"] == f"Done. {half}"
    assert server.stop().count("\n") == 1
    assert server.process.returncode == 0


@pytest.mark.long
def test_approval_waits_through_restart(place: Any) -> None:
    """With `approve: ask` a call waits, SIGTERM hands the run over, and an answer lets it go on."""
    place.write("approve: ask")
    first = place.serve()
    run_id = first.submit("write notes: 1")
    asked = first.until(run_id, lambda known: known["state"] == "waiting")["questions"]
    rest = first.stop()
    second = place.serve()
    address = f"{second.url}/runs/{run_id}/approvals"

    unknown = place.http.post(f"{address}/nothing", json={"allowed": True})
    place.http.post(f"{address}/{asked[0]['call_id']}", json={"allowed": True}).raise_for_status()
    second.watch(run_id)

    assert (first.process.returncode, rest.count("\n")) == (0, 1)
    assert asked[0]["name"] == "note"
    assert (unknown.status_code, "waits for approval" in unknown.text) == (400, True)
    assert (place.folder / "notes.txt").read_text() == "note 1\n"


def test_finished_drain_ends_the_process(place: Any) -> None:
    """Even if the agent is in a thread of its own, which nobody can stop."""
    model = (place.folder / "model.py").read_text()
    model = model.replace("await asyncio.sleep(0.05)", "await asyncio.to_thread(time.sleep, 600)")
    (place.folder / "model.py").write_text(f"import time\n{model}")
    (place.folder / "gate").touch()
    server = place.serve("--drain", "0")
    run_id = server.submit("write notes: 0")
    server.watch_until(run_id, "turn_start")

    begun = time.monotonic()
    server.stop()

    assert time.monotonic() - begun < 60
    assert server.process.returncode == 0


def test_only_the_owner_reads_runs(place: Any) -> None:
    """Also those of an agent whose name would begin the options of an address."""
    place.write("name: what?", "approve: never")
    server = place.serve()
    server.watch(server.submit("write notes: 0"))
    server.stop()

    kept = place.folder / ".agentic" / "runs"
    assert [path.name for path in kept.iterdir() if path.suffix == ".db"] == ["what_.db"]
    assert {path.stat().st_mode & 0o077 for path in (kept, *kept.iterdir())} == {0}


def test_bad_requests_get_one_sentence(place: Any) -> None:
    """What cannot be done has a status and a reason; a page of another site may do nothing."""
    server = place.serve()
    runs = f"{server.url}/sessions/monday/runs"
    good = {"message": "write notes: 0"}

    replies = [
        place.http.post(runs, json={"message": " "}),
        place.http.post(runs, json={}),
        place.http.post(runs, content=b"{"),
        place.http.post(runs, content=b"[" * 100_000),
        place.http.get(f"{server.url}/runs/none/events?after={'9' * 5_000}"),
        place.http.get(f"{server.url}/runs/none/events"),
        place.http.get(f"{server.url}/nowhere"),
        place.http.get(runs),
        place.http.post(runs, json=good, headers={"origin": "https://elsewhere.example"}),
        place.http.post(runs, json=good, headers={"host": "elsewhere.example"}),
        place.http.post(runs, json=good, headers={"host": "["}),
        place.http.post(runs, json=good, headers={"origin": "http://["}),
    ]

    assert [each.status_code for each in replies] == [400] * 5 + [404, 404, 405] + [403] * 4
    assert all(set(each.json()) == {"error"} for each in replies)
    assert server.get("/runs") == []


def test_token_opens_an_address(place: Any) -> None:
    """On an address of loopback other than the usual one, too."""
    (place.folder / "token").write_text("f00d\n")
    server = place.serve("--host", "127.0.0.2", "--token-file", "token")
    runs = f"{server.url}/runs"

    refused = place.http.get(runs)
    allowed = place.http.get(runs, headers={"authorization": "Bearer f00d"})

    assert (refused.status_code, refused.headers["www-authenticate"]) == (401, "Bearer")
    assert (allowed.status_code, allowed.json()) == (200, [])


def test_redaction_reaches_the_runs(place: Any, capfd: pytest.CaptureFixture[str]) -> None:
    """While the server goes on, which tells nobody the secret from then on."""
    place.write("approve: never", "store: {kind: sqlite}")
    (place.folder / "key.txt").write_text("sk-live/4f9c+1a77\n")
    server = place.serve()
    run_id = server.submit("the key is sk-live/4f9c+1a77 0")
    before = server.watch(run_id)

    file = ["--secret-file", str(place.folder / "key.txt")]
    status = main(["redact", str(place.folder / "agent.yaml"), "0", "[gone]", *file, "--yes"])

    assert (status, "sk-live" in before) == (0, True)
    assert "the secret was found and removed" in capfd.readouterr().out
    assert "sk-live" not in server.watch(run_id)
    server.stop()
    files = [path for path in place.folder.rglob("*.db*") if path.is_file()]
    assert len(files) >= 2
    assert not [path for path in files if b"sk-live" in path.read_bytes()]
