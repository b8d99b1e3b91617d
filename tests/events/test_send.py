import asyncio
import gc
from typing import Any

import attrs
import pytest
from blinker import Signal

from agentic.events import Event, MessageUpdate, message_update
from agentic.events._sending import send, send_sync


@attrs.frozen(kw_only=True)
class _Built(Event):
    """Tells how often it was built."""

    built: list[str]

    def __attrs_post_init__(self) -> None:
        self.built.append(self.run_id)


@attrs.define
class _Recorder:
    """A receiver that keeps what it heard."""

    heard: list[Any] = attrs.field(factory=list)

    def __call__(self, sender: object, *, event: Event) -> None:
        self.heard.append((sender, event))


def _send(signal: Signal, sender: object = "sender") -> list[str]:
    """Send once, and tell for which runs a record was built."""
    built: list[str] = []
    asyncio.run(send(signal, sender, _Built, run_id="r1", built=built))
    return built


def test_receiver_gets_sender_and_record() -> None:
    """One keyword, `event`."""
    recorder = _Recorder()

    with message_update.connected_to(recorder):
        asyncio.run(send(message_update, "runner", MessageUpdate, run_id="r1", delta="so"))

    assert recorder.heard == [("runner", MessageUpdate(run_id="r1", delta="so"))]


def test_an_async_receiver_is_awaited() -> None:
    """The sender goes on when it is through, not before."""
    heard: list[str] = []

    async def listen(_: object, *, event: Event) -> None:
        await asyncio.sleep(0)
        heard.append(event.run_id)

    signal = Signal()
    signal.connect(listen)
    _send(signal)

    assert heard == ["r1"]


def test_one_record_is_built_for_all() -> None:
    """Every receiver gets the same object."""
    signal, recorders = Signal(), [_Recorder(), _Recorder()]
    for recorder in recorders:
        signal.connect(recorder, weak=False)

    assert _send(signal) == ["r1"]
    assert recorders[0].heard[0][1] is recorders[1].heard[0][1]


def test_without_listeners_no_record_is_built() -> None:
    """A signal without receivers costs a look."""
    assert _send(Signal()) == []


def test_other_senders_listeners_build_no_record() -> None:
    """A receiver of one Runner hears nothing of the others."""
    signal, recorder = Signal(), _Recorder()
    signal.connect(recorder, sender="mine", weak=False)

    assert _send(signal, "theirs") == []
    assert _send(signal, "mine") == ["r1"]
    assert [sender for sender, _ in recorder.heard] == ["mine"]


def test_no_record_after_last_receiver_left() -> None:
    """Not even for a sender that somebody listened to once."""
    signal, recorder, other = Signal(), _Recorder(), _Recorder()
    signal.connect(other, sender="theirs", weak=False)
    signal.connect(recorder, sender="mine", weak=False)

    signal.disconnect(recorder, sender="mine")

    assert _send(signal, "mine") == []


def test_a_receiver_is_held_weakly() -> None:
    """It stops listening when its owner is gone."""

    def listen(_: object, *, event: Event) -> None:
        raise AssertionError(event)

    signal = Signal()
    signal.connect(listen)
    del listen
    gc.collect()

    assert _send(signal) == []


def test_a_muted_signal_is_silent() -> None:
    """The way of keeping quiet that blinker has works here too."""
    signal, recorder = Signal(), _Recorder()
    signal.connect(recorder, weak=False)

    with signal.muted():
        assert _send(signal) == []

    assert _send(signal) == ["r1"]
    assert len(recorder.heard) == 1


def test_receiver_disconnected_meanwhile_hears_nothing() -> None:
    """What was disconnected is not called any more, whatever the order."""
    signal, heard = Signal(), []

    async def first(_: object, *, event: Event) -> None:
        signal.disconnect(second)
        heard.append(event.run_id)

    async def second(_: object, *, event: Event) -> None:
        signal.disconnect(first)
        heard.append(event.run_id)

    signal.connect(first)
    signal.connect(second)
    _send(signal)

    assert heard == ["r1"]


@pytest.mark.parametrize("error", [ValueError("broken"), AssertionError("broken")])
def test_raising_receiver_is_logged_and_harmless(
    error: Exception, caplog: pytest.LogCaptureFixture
) -> None:
    """Plain or async, before the others or after them."""

    def fail(_: object, **_event: Event) -> None:
        raise error

    async def fail_later(_: object, **_event: Event) -> None:
        await asyncio.sleep(0)
        raise error

    signal, recorders = Signal(), [_Recorder(), _Recorder()]
    for receiver in (recorders[0], fail, fail_later, recorders[1]):
        signal.connect(receiver, weak=False)
    _send(signal)

    assert [len(recorder.heard) for recorder in recorders] == [1, 1]
    assert [record.message for record in caplog.records] == [
        "a receiver of _Built raised; the run goes on"
    ] * 2
    assert all(record.exc_info and record.exc_info[1] is error for record in caplog.records)


def test_misshapen_receiver_is_logged_and_harmless(
    caplog: pytest.LogCaptureFixture,
) -> None:
    """A callable that does not take `event` is a broken receiver like any other."""

    def listen(_: object) -> None:
        pass

    signal = Signal()
    signal.connect(listen)
    _send(signal)

    assert "unexpected keyword argument 'event'" in caplog.text


def test_a_cancellation_passes() -> None:
    """A run that is cancelled while a receiver works is cancelled."""

    async def listen(_: object, **_event: Event) -> None:
        await asyncio.sleep(60)

    async def cancel() -> None:
        signal = Signal()
        signal.connect(listen)
        sending = asyncio.create_task(send(signal, "sender", Event, run_id="r1"))
        await asyncio.sleep(0)
        sending.cancel()
        await sending

    with pytest.raises(asyncio.CancelledError):
        asyncio.run(cancel())


def test_a_cancellation_silences_no_other_receiver() -> None:
    """Whoever heard that a run began hears that it ended; the order of receivers is undefined."""
    recorders = [_Recorder() for _ in range(30)]

    async def wait(_: object, **_event: Event) -> None:
        await asyncio.sleep(60)

    async def cancel() -> None:
        signal = Signal()
        for receiver in (*recorders[:15], wait, *recorders[15:]):
            signal.connect(receiver, weak=False)
        sending = asyncio.create_task(send(signal, "sender", Event, run_id="r1"))
        await asyncio.sleep(0)
        sending.cancel()
        await sending

    with pytest.raises(asyncio.CancelledError):
        asyncio.run(cancel())

    assert [len(recorder.heard) for recorder in recorders] == [1] * 30


@pytest.mark.parametrize("error", [KeyboardInterrupt, SystemExit])
def test_the_end_of_the_process_passes(error: type[BaseException]) -> None:
    """What is no error of the receiver is not swallowed."""

    def listen(_: object, **_event: Event) -> None:
        raise error

    sending = send(signal := Signal(), "sender", Event, run_id="r1")
    signal.connect(listen)

    with pytest.raises(error):
        sending.send(None)


def test_receiver_cancelled_from_within_harms_nobody(
    caplog: pytest.LogCaptureFixture,
) -> None:
    """Only a cancellation of the sender itself passes."""
    signal, recorder = Signal(), _Recorder()

    async def fall(_: object, *, event: Event) -> None:
        raise asyncio.CancelledError(event.run_id)

    signal.connect(fall)
    signal.connect(recorder)
    _send(signal)

    assert len(recorder.heard) == 1
    assert "raised; the run goes on" in caplog.text


def _fall(_: object, *, event: Event) -> None:
    raise asyncio.CancelledError(event.run_id)


async def _fall_later(_: object, *, event: Event) -> None:
    await asyncio.sleep(0)
    raise asyncio.CancelledError(event.run_id)


def test_sync_sender_survives_a_cancelled_receiver(caplog: pytest.LogCaptureFixture) -> None:
    """As `send` does, with and without a running loop."""
    heard: list[str] = []

    async def listen(_: object, *, event: Event) -> None:
        await asyncio.sleep(0)
        heard.append(event.run_id)

    async def in_a_loop() -> None:
        send_sync(signal, "sender", Event, run_id="r2")
        await asyncio.gather(*asyncio.all_tasks() - {asyncio.current_task()})

    signal = Signal()
    for receiver in (_fall, _fall_later, listen):
        signal.connect(receiver, weak=False)

    send_sync(signal, "sender", Event, run_id="r1")
    asyncio.run(in_a_loop())

    assert heard == ["r1", "r2"]
    assert caplog.text.count("a receiver of Event raised; the run goes on") == 4


def test_sync_senders_work_can_be_cancelled() -> None:
    """The end of the loop stops a receiver that waits, and the others finish."""
    heard: list[str] = []

    async def wait(_: object, *, event: Event) -> None:
        try:
            await asyncio.sleep(60)
        finally:
            heard.append(f"{event.run_id} stopped")

    async def listen(_: object, *, event: Event) -> None:
        heard.append(event.run_id)

    async def begin() -> None:
        send_sync(signal, "sender", Event, run_id="r1")
        await asyncio.sleep(0)

    signal = Signal()
    signal.connect(wait)
    signal.connect(listen)

    asyncio.run(begin())

    assert sorted(heard) == ["r1", "r1 stopped"]
