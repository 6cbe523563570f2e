"""``python -m kymograph record`` of scripts that use kymo themselves."""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
from support import functions_of, rows_of, sites_of

Record = Callable[..., subprocess.CompletedProcess[str]]

# Frames are evaluated, sys.monitoring reports the calls, or it is the C interface of sys.setprofile.
WAYS = pytest.mark.parametrize("options", [(), ("--include", "__main__.*"), ("--c-functions",)])

DECORATED = """
    import asyncio
    import kymograph as kymo

    @kymo.profile
    def step():
        return inner()

    def inner():
        return 1

    @kymo.profile
    def descend(depth):
        return depth and descend(depth - 1)

    @kymo.profile
    def descend_plainly(depth):
        return depth and descend_plainly.__wrapped__(depth - 1)

    @kymo.profile
    def count(limit):
        yield from range(limit)

    @kymo.profile
    async def wait():
        return inner()

    @kymo.profile
    async def numbers():
        yield 1
        yield 2

    @kymo.profile
    async def main():
        await wait()
        async for _ in numbers():
            pass

    @kymo.profile_all
    class Model:
        def __init__(self):
            self.size = 3

        def run(self):
            return 1

        @staticmethod
        def parse():
            return 1

        @property
        def doubled(self):
            return 2 * self.size

    for _ in range(100):
        step()
        model = Model()
        model.run()
        model.parse()
        model.doubled
    kymo.profile(model.run.__wrapped__)(model)
    kymo.profile(name="named")(inner)()
    descend(3)
    descend_plainly(3)
    assert list(count(3)) == [0, 1, 2]
    asyncio.run(main())
    try:
        step(1)
    except TypeError:
        pass
    step.__wrapped__()
"""


@WAYS
def test_a_call_of_a_decorated_function_is_one_scope(record: Record, tmp_path: Path, options: tuple[str, ...]) -> None:
    done = record(DECORATED, options=("--hz", "0", *options))
    assert done.returncode == 0, done.stderr
    functions = {name.rpartition(".")[2]: count for name, count in functions_of(tmp_path / "run.kymo").items()}
    assert functions == {
        "<module>": 1,
        "Model": 1,
        # One was refused its arguments, and one is called without its decorator.
        "step": 100 + 1 + 1,
        "inner": 100 + 1 + 1,
        "__init__": 100,
        "run": 100 + 1,
        "parse": 100,
        "doubled": 100,
        "descend": 4,
        "descend_plainly": 4,
        "count": 4,
        "wait": 1,
        "main": 1,
        "numbers": 3,
    }
    assert sites_of(tmp_path / "run.kymo")["named"] == 1
    assert all(row["marks"] == "" for row in rows_of(tmp_path / "run.kymo", "spans"))


def test_a_capture_of_the_script_is_that_of_its_run(record: Record, tmp_path: Path) -> None:
    source = """
        import os, shutil
        import kymograph as kymo

        os.mkdir("copies")
        for name in ("first.kymo", "second.kymo"):
            with kymo.capture(name, sample=True, overwrite=True) as run:
                for _ in range(3):
                    kymo.frame_mark()
                with kymo.scope(name):
                    pass
            assert run and run.is_running
            shutil.copy(run.path, f"copies/{name}")
        run = kymo.start_capture("third.kymo")
        assert not run.stop()
        if os.fork() == 0:
            with kymo.capture("child.kymo") as run, kymo.scope("child"):
                pass
            os._exit(run.path == kymo.capture_path())
        assert os.wait()[1] != 0
        print(*run.workers)
        with kymo.scope("last"):
            pass
    """
    done = record(source, options=("--hz", "0"))
    assert done.returncode == 0, done.stderr
    assert done.stderr.count("has what this program captures, too: first.kymo is not written") == 1
    assert "third.kymo" not in done.stderr
    assert sum("threads" not in path for path in done.stdout.split()) == 1
    for name in ("first.kymo", "second.kymo"):
        assert sites_of(tmp_path / "copies" / name)[name] == 1
    assert len(rows_of(tmp_path / "copies" / "second.kymo", "frames")) == 6
    sites = sites_of(tmp_path / "run.kymo")
    assert [sites.get(name) for name in ("first.kymo", "second.kymo", "child", "last")] == [1, 1, 1, 1]
    assert [path.name for path in tmp_path.glob("*.kymo")] == ["run.kymo"]
