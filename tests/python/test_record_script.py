"""``python -m kymograph record``: every function of a script, which runs as it would without."""

from __future__ import annotations

import collections
import json
import os
import pstats
import re
import subprocess
import zipapp
from collections.abc import Callable
from pathlib import Path

import kymograph as kymo
import pytest
from support import INTERPRETER, VERSION, command, functions_of, info_of, rows_of, sites_of, stats_of

Record = Callable[..., subprocess.CompletedProcess[str]]


CALLS = """
    import threading

    class Tree:
        def grow(self, depth):
            return 1 if depth == 0 else self.grow(depth - 1) + self.grow(depth - 1)

    def numbers(limit):
        for number in range(limit):
            yield number

    def delegate(limit):
        yield from numbers(limit)

    def fail():
        raise KeyError

    async def wait():
        return 1

    async def main():
        return await wait() + await wait()

    def on_thread():
        Tree().grow(2)

    Tree().grow(3)
    assert sum(delegate(3)) == 3
    for _ in range(2):
        try:
            fail()
        except KeyError:
            pass
    generator = numbers(2)
    next(generator)
    try:
        generator.throw(KeyError)
    except KeyError:
        pass
    import asyncio
    asyncio.run(main())
    threads = [threading.Thread(target=on_thread) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert [*map(lambda x: x + 1, [1, 2])] == [2, 3]
"""


@pytest.mark.parametrize("options", [(), ("--c-functions",)])
def test_every_call_of_every_thread_is_a_scope(record: Record, tmp_path: Path, options: tuple[str, ...]) -> None:
    done = record(CALLS, options=("--hz", "0", *options))
    assert done.returncode == 0, done.stderr
    found = functions_of(tmp_path / "run.kymo")
    expected = {
        "<module>": 1,
        "Tree": 1,
        "Tree.grow": 15 + 2 * 7,
        "delegate": 4,
        "fail": 2,
        "main": 1,
        "wait": 2,
        "on_thread": 2,
        "<lambda>": 2,
    }
    found.pop("<listcomp>", None)  # a function before 3.12
    if VERSION < (3, 11):
        found["Tree.grow"] = found.pop("grow")
    # Before 3.12 the C interface of sys.setprofile does not tell that a generator was thrown into.
    assert found.pop("numbers") in (4 + 1, 4 + 2)
    assert found == expected
    rows = rows_of(tmp_path / "run.kymo", "spans")
    assert all(row["marks"] == "" for row in rows)
    has_builtins = any(row["name"] == "builtins.sum" for row in rows)
    assert has_builtins == bool(options)
    tracks = [track for track in info_of(tmp_path / "run.kymo")["tracks"] if track["kind"] == "thread"]
    assert sum(track["recorded_scopes"] > 0 for track in tracks) == 3


# Calls that Python makes in ways of its own once they are hot.
HOT_CALLS = """
    import contextlib

    class Point:
        def __init__(self, x, y=0):
            self.x = x

        @property
        def size(self):
            return self.x

        def __getitem__(self, index):
            return self.x

        def __enter__(self):
            return self

        def __exit__(self, *failure):
            return True

        def __iter__(self):
            yield self.x
            yield self.x

        def __call__(self, *items, **named):
            return items

    class Sub(Point):
        def __init__(self, x):
            super().__init__(x, x)

        @classmethod
        def make(cls, x):
            return cls(x)

    class Refuses:
        def __init__(self, x):
            raise ValueError

    class Same:
        def __getattribute__(self, name):
            return name

    def numbers(limit):
        for number in range(limit):
            yield number

    def delegate(limit):
        return (yield from numbers(limit))

    def many(a, /, b, *c, d=1, **e):
        return b

    async def wait(n):
        return await wait(n - 1) if n else 0

    def step(i):
        point, sub, same = Point(i), Sub(i), Same()
        assert [point.size, point[0], same.x, *point] == [i, i, "x", i, i]
        Sub.make(i)
        point(i, k=i)
        many(1, 2, 3, z=4)
        many(*(1, 2), **{"x": 1})
        sorted([*delegate(3), *(n for n in numbers(2))], key=lambda n: -n)
        with contextlib.suppress(ValueError):
            Refuses(i)
        with point:
            raise ValueError
        with contextlib.suppress(StopIteration):
            wait(2).send(None)

    for i in range(500):
        step(i)
"""


def test_counts_are_those_of_cprofile(record: Record, tmp_path: Path) -> None:
    assert record(HOT_CALLS, options=("--hz", "0")).returncode == 0
    subprocess.run([INTERPRETER, "-m", "cProfile", "-o", "profile", "script.py"], cwd=tmp_path, check=True)
    calls = pstats.Stats(str(tmp_path / "profile")).stats  # type: ignore[attr-defined]
    expected = collections.Counter[int]()
    for (file, line, _), (_, count, *_) in calls.items():
        expected[line] += count if file.endswith("script.py") else 0
    found = collections.Counter[int]()
    for site in stats_of(tmp_path / "run.kymo")["sites"]:
        found[site["line"]] += site["count"] if site["file"].endswith("script.py") else 0
    assert +found == +expected


def test_calls_may_nest_as_deep_as_without_kymo(record: Record, tmp_path: Path) -> None:
    source = """
        import sys, threading

        class Node:
            def __init__(self, depth):
                self.inner = Node(depth - 1) if depth else None

        def deep(depth):
            return deep(depth - 1) if depth else 0

        def on_small_stack():
            try:
                deep(900)
                Node(40)
                print("done")
            except RecursionError:
                print("refused")

        threading.stack_size(256 << 10)
        thread = threading.Thread(target=on_small_stack)
        thread.start()
        thread.join()
        deep(10)
    """
    done = record(source, options=("--hz", "0"))
    assert done.returncode == 0, done.stderr
    if VERSION >= (3, 12):
        assert done.stdout == "done\n"
        assert functions_of(tmp_path / "run.kymo") == {
            "<module>": 1,
            "Node": 1,
            "Node.__init__": 41,
            "deep": 901 + 11,
            "on_small_stack": 1,
        }
    else:
        assert done.stdout in {"done\n", "refused\n"}


def test_sub_interpreters_run_as_without_kymo_and_are_not_recorded(record: Record, tmp_path: Path) -> None:
    source = """
        import sys

        if sys.version_info >= (3, 13):
            import _interpreters as interpreters
        else:
            import _xxsubinterpreters as interpreters

        def work(n):
            return work(n - 1) if n else 0

        other = interpreters.create()
        interpreters.run_string(other, "def inner(): return 1\\nclass A:\\n  def __init__(self): inner()\\nA(); A()")
        work(3)
        interpreters.destroy(other)
        work(3)
    """
    done = record(source, options=("--hz", "0"))
    assert done.returncode == 0, done.stderr
    assert functions_of(tmp_path / "run.kymo") == {"<module>": 1, "work": 8}


@pytest.mark.parametrize("options", [(), ("--include", "*"), ("--c-functions",), ("--min-us", "0.001")])
def test_a_script_may_profile_itself(record: Record, tmp_path: Path, options: tuple[str, ...]) -> None:
    source = """
        import cProfile, pstats

        class Made:
            def __init__(self):
                self.value = 1

        def work():
            return [Made() for _ in range(100)]

        profile = cProfile.Profile()
        profile.runcall(work)
        counts = {key[2]: value[0] for key, value in pstats.Stats(profile).stats.items()}
        assert counts["work"] == 1, counts
        assert counts["__init__"] == 100, counts
    """
    done = record(source, options=options)
    assert done.returncode == 0, done.stderr
    if "--c-functions" in options and VERSION < (3, 12):
        return  # both are a hook of sys.setprofile: the last one wins
    counts = functions_of(tmp_path / "run.kymo")
    assert counts["work"] == 1
    assert counts["Made.__init__" if VERSION >= (3, 11) else "__init__"] == 100


@pytest.mark.skipif(VERSION < (3, 12), reason="sys.monitoring is of Python 3.12")
@pytest.mark.parametrize("options", ["", "include=['*'], ", "c_functions=True, "])
def test_calls_are_recorded_where_other_tools_have_all_of_monitoring(
    run_script: Record, tmp_path: Path, options: str
) -> None:
    done = run_script(
        f"""
        import sys
        import kymograph as kymo
        from kymograph import _record

        for number in range(6):
            sys.monitoring.use_tool_id(number, "other")

        def work():
            return len("")

        with kymo.capture("run.kymo"):
            _record.start_tracing({options})
            for _ in range(50):
                work()
            _record.stop_tracing()
        """
    )
    wanted = []
    if "c_functions" in options:
        wanted.append("kymo: other tools have all of sys.monitoring: built-in functions are not recorded")
    if VERSION >= (3, 13):
        wanted.append("kymo: other tools have all of sys.monitoring: calls of __init__ may be missing")
    assert done.stderr.splitlines() == wanted
    assert functions_of(tmp_path / "run.kymo")["work"] == 50


def test_functions_are_chosen_by_name(record: Record, tmp_path: Path) -> None:
    options = ("--hz", "0", "--include", "__main__.*", "--exclude", "*.grow", "--exclude", "*<*>")
    assert record(CALLS, options=options).returncode == 0
    found = sites_of(tmp_path / "run.kymo")
    assert all(name.startswith("__main__.") for name in found)
    assert "__main__.fail" in found
    assert not {"__main__.Tree.grow", "__main__.<module>"} & found.keys()


def test_a_first_call_is_no_exception(record: Record, tmp_path: Path) -> None:
    source = """
        import threading, time

        def short():
            pass

        def slow():
            time.sleep(0.03)

        def around():
            short()
            slow()

        short()
        thread = threading.Thread(target=around)
        thread.start()
        thread.join()
    """
    done = record(source, options=("--hz", "0", "--min-us", "20000", "--include", "__main__.*"))
    assert done.returncode == 0, done.stderr
    rows = {row["name"]: row for row in rows_of(tmp_path / "run.kymo", "spans")}
    assert rows.keys() == {"__main__.<module>", "__main__.around", "__main__.slow"}
    assert int(rows["__main__.slow"]["duration_ns"]) >= 30_000_000
    infos = [process["infos"] for process in info_of(tmp_path / "run.kymo")["processes"]]
    assert [each["python_calls_left_out"] for each in infos if "python_calls_left_out" in each] == [
        "2 calls shorter than 20000 us"
    ]


def test_a_script_sees_what_it_would_see(record: Record, tmp_path: Path) -> None:
    source = """
        import json, os, pickle, sys
        class Local: pass
        main = sys.modules["__main__"]
        print(json.dumps([__name__, sys.argv, sys.path[0], __file__, main.Local is Local, main.__spec__, __package__,
                          type(__loader__).__name__, type(__builtins__).__name__,
                          __annotations__, __cached__, __doc__,
                          sys.excepthook is sys.__excepthook__,
                          sorted(name for name in globals() if name.startswith("__"))]))
        pickle.dumps(Local())
        sys.exit(7)
    """
    done = record(source, "-x", "--", "y", options=("--hz", "0"))
    plain = subprocess.run(
        [INTERPRETER, "script.py", "-x", "--", "y"], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stderr) == (plain.returncode, plain.stderr) == (7, "")
    ours, theirs = json.loads(done.stdout), json.loads(plain.stdout)
    assert ours == theirs


@pytest.mark.parametrize(
    "source",
    [
        "def f():\n    raise ValueError('no')\ntry:\n    f()\nexcept ValueError as e:\n    raise KeyError(1) from e\n",
        "def f(): return f()\nf()\n",
        "import sys\nsys.exit('said')\n",
        "import threading, sys\nthreading.Thread(target=lambda: sys.exit(3)).start()\n",
        "import signal, os\nos.kill(os.getpid(), signal.SIGTERM)\n",
        "raise KeyboardInterrupt\n",
        "import sys, traceback\ndef hook(*error):\n    print(traceback.format_exception(*error), file=sys.stderr)\n"
        "    print(traceback.format_tb(sys.last_traceback), file=sys.stderr)\nsys.excepthook = hook\n"
        "def f(): raise ValueError\nf()\n",
        "1 +\n",
    ],
)
def test_failures_end_as_without_kymo(record: Record, tmp_path: Path, source: str) -> None:
    done = record(source, options=("--hz", "0"))
    plain = subprocess.run([INTERPRETER, "script.py"], cwd=tmp_path, capture_output=True, text=True, check=False)
    expected = plain.returncode if plain.returncode >= 0 else 128 - plain.returncode
    assert done.returncode == expected
    # What runs the script takes a few frames of its own.
    said = [re.sub(r"repeated \d+ more", "repeated", text) for text in (done.stderr, plain.stderr)]
    assert said[0] == said[1]
    assert info_of(tmp_path / "run.kymo")["captures"]


def test_modules_run_as_scripts_and_the_machine_is_sampled(tmp_path: Path) -> None:
    package = tmp_path / "package"
    package.mkdir()
    (package / "__init__.py").write_text("")
    (package / "tool.py").write_text(
        "import sys, time\nfrom . import __name__ as parent\n"
        "def work(): time.sleep(0.05)\n"
        "work()\nprint(__name__, __package__, __spec__.name, parent, sys.argv[1:])\n"
    )
    environment = {**os.environ, "PYTHONPATH": str(Path(kymo.__file__).parent.parent)}
    arguments = [INTERPRETER, "-m", "kymograph", "record", "-o", "run.kymo", "-m", "package.tool", "-o", "x"]
    done = subprocess.run(arguments, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stdout == "__main__ package package.tool package ['-o', 'x']\n"
    assert "kymo: run.kymo" in done.stderr
    assert functions_of(tmp_path / "run.kymo") == {"<module>": 1, "work": 1}
    assert any(row["metric"] == "process_rss" for row in rows_of(tmp_path / "run.kymo", "metrics"))


MAIN = """
import json, sys
import beside
def work(): return beside.help()
class Local: pass
main = sys.modules["__main__"]
print(json.dumps([__name__, sys.argv, sys.path[0], __file__, __package__, __spec__.name, type(__loader__).__name__,
                  main.Local is Local, main.__dict__ is globals(), work()]))
sys.exit(5)
"""


@pytest.mark.parametrize("program", ["app", "./app/", "app.pyz", "renamed", "-"])
def test_what_python_runs_is_run(tmp_path: Path, program: str) -> None:
    (tmp_path / "app").mkdir()
    (tmp_path / "app" / "__main__.py").write_text(MAIN)
    (tmp_path / "app" / "beside.py").write_text("def help(): return 3\n")
    zipapp.create_archive(tmp_path / "app", tmp_path / "app.pyz")
    zipapp.create_archive(tmp_path / "app", tmp_path / "renamed", interpreter="/usr/bin/env python3")
    (tmp_path / "beside.py").write_text("def help(): return 4\n")
    without_spec = MAIN.replace("__spec__.name", "__spec__").replace("type(__loader__).__name__", "0")
    standard_input = without_spec if program == "-" else None
    done, plain = (
        subprocess.run(
            [INTERPRETER, *options, program, "-x", "y"],
            cwd=tmp_path,
            env={**os.environ, "PYTHONPATH": str(Path(kymo.__file__).parent.parent)},
            input=standard_input,
            capture_output=True,
            text=True,
            check=False,
        )
        for options in (("-m", "kymograph", "record", "-q", "--hz", "0", "-o", "run.kymo"), ())
    )
    assert (done.returncode, done.stderr) == (plain.returncode, plain.stderr) == (5, "")
    assert json.loads(done.stdout) == json.loads(plain.stdout)
    assert functions_of(tmp_path / "run.kymo") == {"<module>": 1, "Local": 1, "work": 1}
    assert functions_of(tmp_path / "run.kymo", "beside")["help"] == 1


def test_forked_and_spawned_processes_are_in_the_capture(record: Record, tmp_path: Path) -> None:
    source = """
        import concurrent.futures, multiprocessing, os

        def work(number):
            return os.getpid()

        def in_child():
            pass

        if __name__ == "__main__":
            if os.fork() == 0:
                in_child()
                os._exit(0)
            os.wait()
            for method in ("fork", "spawn", "forkserver"):
                context = multiprocessing.get_context(method)
                process = context.Process(target=work, args=(1,))
                process.start()
                process.join()
                with concurrent.futures.ProcessPoolExecutor(1, mp_context=context) as pool:
                    assert len(list(pool.map(work, range(3)))) == 3
    """
    done = record(source, options=("--hz", "0", "--include", "*.work", "--include", "*.in_child"))
    assert done.returncode == 0, done.stderr
    assert sites_of(tmp_path / "run.kymo") == {"__main__.in_child": 1, "__main__.work": 4, "__mp_main__.work": 8}


def test_recursion_beyond_the_stack_is_an_error_and_no_crash(record: Record) -> None:
    source = """
        import sys, threading
        sys.setrecursionlimit(10**8)
        def deep(n):
            return 0 if n == 0 else 1 + deep(n - 1)
        try:
            deep(10**6)
        except RecursionError:
            print("caught")
        print(deep(100))
    """
    done = record(source, options=("--hz", "0", "--include", "nothing"))
    assert done.returncode == 0, done.stderr
    assert done.stdout.endswith("100\n")


def test_deep_recursion_is_recorded_whole(record: Record, tmp_path: Path) -> None:
    source = """
        import sys
        sys.setrecursionlimit(6000)
        def deep(n):
            return 0 if n == 0 else 1 + deep(n - 1)
        for _ in range(10):
            deep(1500)
    """
    done = record(source, options=("--hz", "0", "--include", "__main__.deep"))
    assert done.returncode == 0, done.stderr
    assert "left without their end" not in done.stderr
    assert sites_of(tmp_path / "run.kymo") == {"__main__.deep": 15010}
    assert all(row["marks"] == "" for row in rows_of(tmp_path / "run.kymo", "spans"))


@pytest.mark.parametrize(
    "options",
    [
        ["-orun.kymo"],
        ["-qorun.kymo"],
        ["-qo", "run.kymo"],
        ["-o=run.kymo"],
        ["-o", "run.kymo", "-q"],
        ["--output=run.kymo", "--min-us", "0"],
        ["--output", "run.kymo"],
    ],
)
@pytest.mark.parametrize("program", [["script.py"], ["-m", "script"], ["-mscript"]])
def test_options_may_have_their_values_attached(tmp_path: Path, options: list[str], program: list[str]) -> None:
    (tmp_path / "script.py").write_text("import sys\nprint(sys.argv[1:])\n")
    done = subprocess.run(
        [INTERPRETER, "-m", "kymograph", "record", *options, *program, "-q", "-oout", "--", "-m"],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(Path(kymo.__file__).parent.parent)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout == "['-q', '-oout', '--', '-m']\n"
    assert (tmp_path / "run.kymo").exists()


def test_what_cannot_be_run_is_said(tmp_path: Path) -> None:
    environment = {**os.environ, "PYTHONPATH": str(Path(kymo.__file__).parent.parent)}
    for arguments, status, said in (
        ([], 2, "a script, or -m and a module, is missing"),
        (["--min-us", "-1", "x.py"], 2, "--min-us"),
        (["--leaves-every", "0", "x.py"], 2, "--leaves-every"),
        (["--leaves-every", "4", "--min-us", "5", "x.py"], 2, "exclude each other"),
        (["missing.py"], 2, "can't open file 'missing.py'"),
        (["."], 1, f"can't find '__main__' module in '{tmp_path}/.'"),
        (["-m", "missing.module"], 1, "missing"),
    ):
        done = subprocess.run(
            [INTERPRETER, "-m", "kymograph", "record", *arguments],
            cwd=tmp_path,
            env=environment,
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == status, done.stderr
        assert said in done.stderr
    shown = subprocess.run(
        [INTERPRETER, "-m", "kymograph", "--help"], env=environment, capture_output=True, text=True, check=True
    ).stdout
    assert shown.startswith(command("--help"))
    assert "\n  sql  " in shown
    done = subprocess.run(
        [INTERPRETER, "-m", "kymograph", "--version"], env=environment, capture_output=True, text=True, check=False
    )
    assert done.stdout == command("--version")
