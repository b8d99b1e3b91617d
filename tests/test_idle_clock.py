"""The clock of `idle_clock` is that of its test, not of whatever else runs in the process."""

import asyncio
import threading

import pytest


async def _sleep_until(stopped: threading.Event, turned: threading.Event) -> None:
    while not stopped.is_set():
        await asyncio.sleep(0.005)
        turned.set()


def test_loop_of_another_thread_keeps_its_time(request: pytest.FixtureRequest) -> None:
    """A server that runs for the whole session would sleep until a frozen clock goes on."""
    stopped, turned = threading.Event(), threading.Event()
    thread = threading.Thread(
        target=asyncio.run, args=(_sleep_until(stopped, turned),), daemon=True
    )
    thread.start()
    assert turned.wait(60)
    request.getfixturevalue("idle_clock")

    turns = []
    for _ in range(3):
        turned.clear()
        turns.append(turned.wait(60))
    stopped.set()
    thread.join(60)

    assert turns == [True] * 3
    assert not thread.is_alive()


@pytest.mark.usefixtures("idle_clock")
def test_a_day_passes_at_once_in_a_loop_of_the_test() -> None:
    """Time passes while the loop waits."""

    async def sleep() -> float:
        loop = asyncio.get_running_loop()
        began = loop.time()
        await asyncio.sleep(86_400)
        return loop.time() - began

    assert asyncio.run(sleep()) == pytest.approx(86_400, abs=1)
