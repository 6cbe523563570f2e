"""``python -m kymograph record`` of scripts whose functions have ``@kymo.profile``: a call is one scope."""

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
