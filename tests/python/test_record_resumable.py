"""Generators and coroutines with ``@kymo.profile``: a resumption that runs no line is no scope."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import kymograph as kymo
import pytest
from support import sites_of


@pytest.fixture
def run(tmp_path: Path) -> kymo.Recording:
    return kymo.capture(tmp_path / "run.kymo")


@kymo.profile(name="count")
def count_to(limit: int) -> Iterator[int]:
    yield from range(limit)


@kymo.profile(name="wait")
async def wait() -> int:
    await asyncio.sleep(0)
    return 1


@kymo.profile(name="numbers")
async def numbers() -> AsyncIterator[int]:
    yield 1


def test_a_generator_that_has_ended_or_not_begun_runs_nothing(run: kymo.Recording) -> None:
    numbers = count_to(2)
    assert list(numbers) == [0, 1]
    assert next(numbers, None) is None
    assert list(numbers) == []
    numbers.close()
    count_to(2).close()
    with pytest.raises(KeyError):
        count_to(2).throw(KeyError)
    run.stop()
    assert sites_of(run.path) == {"count": 3}


def test_a_misused_generator_is_recorded_all_the_same(run: kymo.Recording) -> None:
    @kymo.profile(name="misused")
    def next_of_itself() -> Iterator[object]:
        with pytest.raises(ValueError, match="already executing"):
            next(generator)
        yield 1
        yield 2

    generator = next_of_itself()
    with pytest.raises(TypeError, match="just-started"):
        generator.send(3)
    assert list(generator) == [1, 2]
    run.stop()
    assert sites_of(run.path) == {"misused": 3}


def test_a_coroutine_that_is_cancelled_before_it_begins_is_no_call(run: kymo.Recording) -> None:
    async def plain() -> None:
        pass

    async def main() -> None:
        for coroutine in (wait(), plain()):
            task = asyncio.create_task(coroutine)
            task.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await task
        once = wait()
        assert await once == 1
        for again in (once, asyncio.create_task(once)):
            with pytest.raises(RuntimeError, match="cannot reuse"):
                await again
        task = asyncio.create_task(wait())
        await asyncio.sleep(0)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    asyncio.run(main())
    wait().close()
    run.stop()
    sites = sites_of(run.path)
    assert sites["wait"] == 2
    assert not [name for name in sites if name.endswith(".plain")]


def test_an_async_generator_may_begin_and_end_by_any_method(run: kymo.Recording) -> None:
    async def main() -> None:
        assert [number async for number in numbers()] == [1]
        begun = numbers()
        assert await begun.asend(None) == 1
        with pytest.raises(KeyError):
            await begun.athrow(KeyError)
        closed = numbers()
        assert await anext(closed) == 1
        await closed.aclose()

    asyncio.run(main())
    run.stop()
    assert sites_of(run.path)["numbers"] == 6
