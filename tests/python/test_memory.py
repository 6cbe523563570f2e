"""Memory of a scope: against pages and objects whose number is known."""

from __future__ import annotations

import asyncio
import functools
from collections.abc import AsyncIterator, Callable, Iterator
from pathlib import Path
from typing import Any

import kymograph as kymo
import pytest
from conftest import Run

MIB = 1 << 20
#: What the interpreter and the kernel's own counting may add.
SLACK = 6 * MIB

TOUCHED = """
    import mmap, resource, sys
    import kymograph as kymo

    MIB = 1 << 20

    def touch(size):
        pages = mmap.mmap(-1, size, mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
        for place in range(0, size, mmap.PAGESIZE):
            pages[place] = 1
        return pages

    @kymo.memory_scope("decorated")
    def decorated(depth):
        return touch(32 * MIB) if depth == 0 else decorated(depth - 1)

    with kymo.memory_scope("off"):
        pass
    # The recorder's own memory is the process's too.
    with kymo.capture("run.kymo", pool_bytes=MIB):
        with kymo.memory_scope("kept", layer=3):
            kept = touch(64 * MIB)
        with kymo.memory_scope("untouched"):
            untouched = mmap.mmap(-1, 64 * MIB, mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
        with kymo.memory_scope("freed"):
            kept.close()
        # A new program inherits the peak of the one that it replaced.
        size = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024 + 64 * MIB
        now = kymo.current_memory_bytes()
        with kymo.memory_scope("passing"):
            touch(size).close()
        print(now + size)
        decorated(2)
"""


def _arguments(path: Path) -> dict[str, list[dict[str, Any]]]:
    spans = kymo.open(path).spans
    return {name: spans.select(name=name).arguments.tolist() for name in set(spans.name)}


def test_resident_memory_of_a_scope_is_that_of_the_pages_it_touched(run_script: Run, tmp_path: Path) -> None:
    greatest = int(run_script(TOUCHED).stdout)
    found = _arguments(tmp_path / "run.kymo")
    (kept,), (untouched,), (freed,), (passing,) = (found[name] for name in ("kept", "untouched", "freed", "passing"))
    assert kept["layer"] == 3
    assert abs(kept["rss_change_bytes"] - 64 * MIB) < SLACK
    assert abs(untouched["rss_change_bytes"]) < SLACK
    assert abs(freed["rss_change_bytes"] + 64 * MIB) < SLACK
    assert "rss_peak_bytes" not in freed
    assert abs(passing["rss_change_bytes"]) < SLACK
    assert abs(passing["rss_peak_bytes"] - greatest) < SLACK
    assert [abs(each["rss_change_bytes"] - 32 * MIB) < SLACK for each in found["decorated"]] == [True] * 3
    assert "off" not in found


def test_blocks_of_a_scope_are_the_objects_that_it_left(tmp_path: Path) -> None:
    count = 50_000
    with kymo.capture(tmp_path / "run.kymo"):
        with kymo.memory_scope("makes", blocks=True):
            kept = [object() for _ in range(count)]
        with kymo.memory_scope("drops", blocks=True):
            kept.clear()
        with kymo.memory_scope("does not ask"):
            pass
    found = _arguments(tmp_path / "run.kymo")
    assert abs(found["makes"][0]["block_change"] - count) < 100
    assert abs(found["drops"][0]["block_change"] + count) < 100
    assert "block_change" not in found["does not ask"][0]


async def _coroutine() -> None:
    await asyncio.sleep(0)


async def _asynchronous_generator() -> AsyncIterator[int]:
    yield 1


def _generator() -> Iterator[int]:
    yield 1


@pytest.mark.parametrize("function", [_coroutine, _asynchronous_generator, _generator])
@pytest.mark.parametrize("scope", [kymo.memory_scope, kymo.gpu_scope])
def test_what_runs_after_its_call_is_not_decorated(scope: Callable[..., Any], function: Callable[..., Any]) -> None:
    for wrapped in (function, functools.partial(function), staticmethod(function), kymo.profile(function)):
        with pytest.raises(TypeError, match=rf"{scope.__name__} does not decorate an? .*; use `with kymo"):
            scope("load")(wrapped)


def test_a_scope_within_a_coroutine_tells_its_memory(run_script: Run, tmp_path: Path) -> None:
    run_script(
        """
        import asyncio
        import kymograph as kymo

        async def load():
            with kymo.memory_scope("load"):
                await asyncio.sleep(0.01)
                kept = bytearray(b"x" * 48_000_000)
                await asyncio.sleep(0.01)
            return kept

        with kymo.capture("run.kymo"):
            asyncio.run(load())
        """
    )
    (load,) = _arguments(tmp_path / "run.kymo")["load"]
    assert abs(load["rss_change_bytes"] - 48_000_000) < 16 * MIB + SLACK
    (span,) = kymo.open(tmp_path / "run.kymo").spans.select(name="load")
    assert span["duration_ns"] >= 20_000_000


def test_the_place_of_a_decorated_function_is_the_programs(run_script: Run, tmp_path: Path) -> None:
    run_script(
        """
        import kymograph as kymo

        @kymo.memory_scope("load")
        def load(): "Loads."

        @kymo.gpu_scope("copy")
        def copy(): pass

        def main():
            load()
            copy()

        with kymo.capture("run.kymo"):
            main()
        assert (load.__name__, load.__doc__) == ("load", "Loads.")
        """
    )
    sites = {row["name"]: (row["file"], row["function"], row["line"]) for row in kymo.open(tmp_path / "run.kymo").sites}
    script = str(tmp_path / "script.py")
    assert sites == {"load": (script, "main", 11), "copy": (script, "main", 12)}
