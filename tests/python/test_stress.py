"""Everything at once: each scope that a program counts is in its captures, once, and nothing stays in shared memory."""

from __future__ import annotations

import collections
import json
from pathlib import Path

import pytest
from conftest import Run
from support import info_of, sites_of, spools_of

PROGRAM = """
    import asyncio, collections, json, multiprocessing, os, pathlib, random, signal, sys, threading
    import kymograph as kymo

    ROUNDS = 400
    counted = collections.defaultdict(list)   # by thread; not added up, as a handler may interrupt another one

    def count(name):
        counted[threading.get_ident()].append(name)
        return name

    @kymo.profile(name="function")
    def function(dice, depth):
        count("function")
        run(dice, depth)

    @kymo.profile(name="generator")
    def generator(items):
        for _ in range(items):
            count("generator")
            yield
        count("generator")

    def raising(dice, depth):
        with kymo.scope(count("raising")):
            run(dice, depth)
            raise KeyError(depth)

    def run(dice, depth):
        if depth == 0:
            return
        kind = dice.randrange(4)
        if kind == 0:
            with kymo.scope(count("scope"), depth=depth, text="x" * dice.randrange(20)):
                run(dice, depth - 1)
        elif kind == 1:
            function(dice, depth - 1)
        elif kind == 2:
            for _ in generator(dice.randrange(3)):
                pass
        else:
            try:
                raising(dice, depth - 1)
            except KeyError:
                pass

    @kymo.profile(name="coroutine")
    async def coroutine(dice, depth):
        count("coroutine")
        with kymo.scope(count("awaiting")):
            await asyncio.sleep(0)
            run(dice, 2)
            if depth:
                await asyncio.gather(*(coroutine(dice, depth - 1) for _ in range(2)), return_exceptions=True)
        if dice.randrange(3) == 0:
            raise ValueError

    def tasks(seed):
        async def main():
            await asyncio.gather(*(coroutine(random.Random(seed + i), 2) for i in range(8)), return_exceptions=True)
        asyncio.run(main())

    def work(seed):
        dice = random.Random(seed)
        for _ in range(ROUNDS):
            run(dice, dice.randrange(5))

    def interrupt(*_):
        with kymo.scope(count("signal")):
            pass

    def write_counts():
        sums = collections.Counter(name for names in counted.values() for name in names)
        (pathlib.Path("counts") / str(os.getpid())).write_text(json.dumps(sums))

    def worker(seed):
        counted.clear()
        threads = [threading.Thread(target=work, args=(seed + i,)) for i in (1, 2)]
        for thread in threads:
            thread.start()
        work(seed)
        tasks(seed)
        for thread in threads:
            thread.join()
        write_counts()

    if __name__ == "__main__":
        os.mkdir("counts")
        with kymo.capture("captures/", sample=True):
            signal.signal(signal.SIGALRM, interrupt)
            signal.setitimer(signal.ITIMER_REAL, 0.002, 0.002)
            threads = [threading.Thread(target=target, args=(i,)) for i in range(3) for target in (work, tasks)]
            for thread in threads:
                thread.start()
            workers = [
                multiprocessing.get_context(method).Process(target=worker, args=(100 * i,))
                for i, method in enumerate(["fork", "spawn", "forkserver"] * 2)
            ]
            for process in workers:
                process.start()
                work(7)
            for each in (*threads, *workers):
                each.join()
            signal.setitimer(signal.ITIMER_REAL, 0)
            write_counts()
        assert [process.exitcode for process in workers] == [0] * 6
        assert "signal" in counted[threading.get_ident()]
"""


@pytest.mark.filterwarnings("ignore:.*multi-threaded.*fork:DeprecationWarning")
def test_counts_are_exact_and_nothing_is_left(run_script: Run, tmp_path: Path) -> None:
    run_script(PROGRAM)
    wanted: collections.Counter[str] = collections.Counter()
    written = list((tmp_path / "counts").iterdir())
    for file in written:
        wanted.update(json.loads(file.read_text()))
    assert len(written) == 7
    assert wanted.keys() == {"function", "generator", "raising", "scope", "coroutine", "awaiting", "signal"}
    captures = sorted((tmp_path / "captures").glob("*.kymo"))
    found = sites_of(*captures)
    assert {name: found.get(name, 0) for name in wanted} == dict(wanted)
    assert all(capture["is_closed"] for capture in info_of(*captures)["captures"])
    assert spools_of(tmp_path) == []
