"""Processes that end badly, fork, or bring C++ of their own: no scope that was closed is lost."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from pathlib import Path

import kymograph as kymo
import pytest
from conftest import Run
from support import EXTENSION_SUFFIX, HEADERS, info_of, sites_of, spools_of


def test_scopes_closed_before_a_sudden_end_are_there(run_script: Run, tmp_path: Path) -> None:
    (tmp_path / "captures").mkdir()
    for end, status in (("os._exit(5)", 5), ("os.kill(os.getpid(), 9)", -9), ("os.abort()", -6)):
        path = tmp_path / "captures" / f"{status}.kymo"
        run_script(
            f"""
            import os, kymograph as kymo
            kymo.start_capture({str(path)!r})
            for _ in range(100):
                with kymo.scope("closed"):
                    pass
            with kymo.scope("open"):
                {end}
            """,
            status=status,
        )
        assert sites_of(path)["closed"] == 100
    for spool in spools_of(tmp_path):
        spool.unlink(missing_ok=True)


def test_the_interpreter_may_end_with_scopes_open(run_script: Run, tmp_path: Path) -> None:
    run_script(
        """
        import kymograph as kymo, sys, threading

        @kymo.profile(name="generate")
        def generate():
            while True:
                yield

        @kymo.profile(name="coroutine")
        async def wait():
            await never

        kymo.start_capture("run.kymo")
        unfinished = generate()
        next(unfinished)
        never_begun = wait()
        ready = threading.Event()

        def run():
            with kymo.scope("open on a daemon thread"):
                ready.set()
                threading.Event().wait()

        threading.Thread(target=run, daemon=True).start()
        ready.wait()

        def leave():
            with kymo.scope("left by sys.exit"):
                sys.exit(1)

        thread = threading.Thread(target=leave)
        thread.start()
        thread.join()

        class AtEnd:
            def __del__(self, scope=kymo.scope):
                with scope("while the interpreter ends"):
                    pass

        sys.kept = AtEnd()
        kept_open = kymo.scope("still open at the end")
        kept_open.__enter__()
        with kymo.scope("last"):
            pass
        """
    )
    found = sites_of(tmp_path / "run.kymo")
    assert {"generate", "left by sys.exit", "last", "while the interpreter ends"} <= found.keys()
    assert found["last"] == 1


WORKERS = """
    import concurrent.futures, multiprocessing, os, sys
    import kymograph as kymo

    kymo.enable()

    @kymo.profile(name="work")
    def work(number):
        return os.getpid()

    def load(queue, results):
        while queue.get() is not None:
            with kymo.scope("load"):
                pass
        results.put(os.getpid())

    if __name__ == "__main__":
        method = sys.argv[1]
        context = multiprocessing.get_context(method)
        with kymo.scope("parent"):
            pass
        process = context.Process(target=work, args=(1,))
        process.start()
        process.join()
        with context.Pool(1) as pool:
            pool.map(work, range(5))
            pool.close()
            pool.join()
        with concurrent.futures.ProcessPoolExecutor(1, mp_context=context) as pool:
            list(pool.map(work, range(4)))
        with concurrent.futures.ThreadPoolExecutor(2) as pool:
            list(pool.map(work, range(8)))
        queue, results = context.Queue(), context.Queue()
        loader = context.Process(target=load, args=(queue, results), daemon=True)
        loader.start()
        for item in [1, 2, 3, None]:
            queue.put(item)
        results.get()
        loader.join()
"""


@pytest.mark.parametrize("method", ["fork", "spawn", "forkserver"])
def test_workers_end_up_in_the_capture_directory(run_script: Run, tmp_path: Path, method: str) -> None:
    captures = tmp_path / "captures"
    run_script(WORKERS, method, KYMO_RECORD=f"{captures}/", KYMO_SAMPLE="0")
    assert sites_of(captures) == {"work": 1 + 5 + 4 + 8, "load": 3, "parent": 1}
    info = info_of(captures)
    with_scopes = {track["process"] for track in info["tracks"] if track["recorded_scopes"] > 0}
    assert len(with_scopes) == 5
    assert all(capture["is_closed"] for capture in info["captures"])
    # What they had in shared memory goes when the next recorder begins.
    run_script("import kymograph as kymo; kymo.start_capture('next.kymo')")
    assert not spools_of(captures)


def test_forks_in_the_middle_of_scopes_close_nothing_of_the_parent(run_script: Run, tmp_path: Path) -> None:
    captures = tmp_path / "captures"
    run_script(
        """
        import kymograph as kymo, os, threading
        kymo.enable()
        busy = threading.Event()

        def run():
            while not busy.is_set():
                with kymo.scope("other thread"):
                    pass

        thread = threading.Thread(target=run)
        thread.start()
        with kymo.scope("around"):
            for number in range(3):
                if os.fork() == 0:
                    with kymo.scope("child"):
                        pass
                    break
                os.wait()
        if number == 2 and threading.active_count() > 1:
            busy.set()
            thread.join()
        kymo.flush()
        os._exit(0)
        """,
        KYMO_RECORD=f"{captures}/",
        KYMO_SAMPLE="0",
    )
    found = sites_of(captures)
    assert found["child"] == 3
    assert found["around"] == 1


EXTENSION = """
#include <Python.h>
#include <kymo/kymo.hpp>

static PyObject* compute(PyObject*, PyObject*) {
  KYMO_SCOPE("in C++", {"batch", 3});
  kymo::record_metric("from C++", 2.0);
  Py_RETURN_NONE;
}

static PyMethodDef methods[] = {{"compute", compute, METH_NOARGS, nullptr}, {nullptr, nullptr, 0, nullptr}};
static PyModuleDef module = {PyModuleDef_HEAD_INIT, "extension", nullptr, -1, methods};
PyMODINIT_FUNC PyInit_extension() { return PyModule_Create(&module); }
"""


KEPT_POOL = """
    import concurrent.futures, multiprocessing, os, shutil, sys, time
    import kymograph as kymo
    from kymograph._run_files import is_being_written

    def work(barrier):
        with kymo.scope("work"):
            pass
        barrier.wait()

    def end(barrier):
        barrier.wait()
        with kymo.scope("after the block"):
            os._exit(0)

    if __name__ == "__main__":
        method, path = sys.argv[1:]
        context = multiprocessing.get_context(method)
        with multiprocessing.get_context("spawn").Manager() as manager:
            barrier = manager.Barrier(2)
            pool = concurrent.futures.ProcessPoolExecutor(2, mp_context=context)
            with kymo.capture(path, sample=True) as run:
                for _ in range(3):
                    list(pool.map(work, [barrier] * 2))
            until = time.monotonic() + 30
            while any(map(is_being_written, run.workers)) and time.monotonic() < until:
                time.sleep(0.01)
            os.mkdir("first")
            for each in [run.path, *run.workers]:
                shutil.copy(each, "first")
            list(pool.map(work, [barrier] * 2))
            with kymo.capture(path, overwrite=True) as run:
                list(pool.map(work, [barrier] * 2))
            pool.map(end, [barrier] * 2)
            pool.shutdown()
"""


@pytest.mark.parametrize("path", ["run.kymo", "captures/"])
@pytest.mark.parametrize("method", ["fork", "spawn", "forkserver"])
def test_workers_that_outlive_the_block_finish_their_captures_at_its_end(
    run_script: Run, tmp_path: Path, method: str, path: str
) -> None:
    run_script(KEPT_POOL, method, path)
    first = sorted(tmp_path.glob("first/*.kymo"))
    assert sites_of(*first)["work"] == 6
    assert all(capture["is_closed"] for capture in info_of(*first)["captures"])
    (second,) = [*tmp_path.glob("run*.kymo"), *tmp_path.glob("captures/*.kymo")]
    assert "work" not in sites_of(second)
    assert spools_of(tmp_path) == []


def test_a_child_that_has_recorded_nothing_joins_no_recording_that_is_over(run_script: Run, tmp_path: Path) -> None:
    run_script(
        """
        import os, kymograph as kymo
        reader, writer = os.pipe()
        run = kymo.start_capture("run.kymo", sample=True)
        if os.fork() == 0:
            os.read(reader, 1)
            with kymo.scope("too late"):
                pass
            names = [open(f"/proc/self/task/{task}/comm").read() for task in os.listdir("/proc/self/task")]
            os._exit(any(name.startswith(("kymo-fast", "kymo-medium", "kymo-slow")) for name in names))
        run.stop()
        os.write(writer, b".")
        assert os.wait()[1] == 0, "it samples nothing either"
        """
    )
    assert [path.name for path in tmp_path.glob("*.kymo")] == ["run.kymo"]
    assert spools_of(tmp_path) == []


def test_a_capture_of_its_own_in_a_block_ends_with_its_own_process(run_script: Run, tmp_path: Path) -> None:
    worker = """
        import sys, kymograph as kymo
        kymo.enable()
        with kymo.scope("within"):
            pass
        kymo.flush()
        print(flush=True)
        sys.stdin.readline()
        for _ in range(100):
            with kymo.scope("after the block"):
                pass
    """
    run_script(
        f"""
        import os, subprocess, sys, textwrap
        import kymograph as kymo
        from kymograph._paths import get_command

        python = [sys.executable, "-c", textwrap.dedent({worker!r})]
        with kymo.capture("run.kymo"):
            commands = {{
                "variable": (python, {{"KYMO_RECORD": "variable.kymo"}}),
                "command": ([get_command(), "record", "-q", "-o", "command.kymo", "--hz", "0", "--", *python], {{}}),
            }}
            running = [
                subprocess.Popen(command, env={{**os.environ, **more}}, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
                for command, more in commands.values()
            ]
            for each in running:
                each.stdout.readline()
        for each in running:
            each.communicate(b"\\n")
            assert each.returncode == 0
        """
    )
    for name in ("variable", "command"):
        (capture,) = tmp_path.glob(f"{name}*.kymo")
        assert sites_of(capture) == {"within": 1, "after the block": 100}


def test_children_forked_at_a_blocks_start_or_end_are_its_workers(run_script: Run, tmp_path: Path) -> None:
    run_script(
        """
        import os, threading, time
        import kymograph as kymo

        is_over = False
        children = []

        def fork():
            while not is_over:
                child = os.fork()
                if child == 0:
                    for _ in range(20):
                        with kymo.scope("child"):
                            time.sleep(0.001)
                    os._exit(0)
                children.append(child)
                time.sleep(0.002)

        forking = threading.Thread(target=fork)
        forking.start()
        for _ in range(10):
            with kymo.capture("run.kymo", overwrite=True):
                time.sleep(0.02)
        is_over = True
        forking.join()
        for child in children:
            os.waitpid(child, 0)
        """
    )
    names = [path.name for path in tmp_path.glob("*.kymo")]
    assert [name for name in names if not re.fullmatch(r"run(-worker-[0-9]+)?\.kymo", name)] == []
    for spool in spools_of(tmp_path):
        spool.unlink(missing_ok=True)


def compile_extension(folder: Path, name: str, source: Path, *options: str) -> None:
    """Make a module of one file."""
    compiler = os.environ.get("CXX") or shutil.which("c++") or "c++"
    extension = folder / f"{name}{EXTENSION_SUFFIX}"
    folders = (f"-I{HEADERS}", f"-I{kymo.get_include()}")
    made = (compiler, "-std=c++20", "-O1", "-fPIC", "-shared", str(source), "-o", str(extension), *folders, *options)
    subprocess.run(made, check=True)


def test_a_free_threaded_interpreter_is_refused_in_words(run_script: Run, tmp_path: Path) -> None:
    # The module as such an interpreter's headers would have it compiled.
    source = Path(__file__).parents[2] / "python" / "record" / "module.cpp"
    compile_extension(tmp_path, "_record", source, "-DPy_GIL_DISABLED=1")
    said = run_script("import _record", status=1).stderr
    assert re.search(r"ImportError: .*free-threaded Python.*Use a build of Python with the lock", said), said


SUB_INTERPRETER = """
try:
    import kymograph
except ImportError as error:
    assert "interpreters" in str(error), error
else:
    raise AssertionError("it was imported")
"""


def test_a_sub_interpreter_is_refused_in_words(run_script: Run, tmp_path: Path) -> None:
    run_script(
        f"""
        import sys
        if sys.version_info >= (3, 13):
            import _interpreters as interpreters
        else:
            import _xxsubinterpreters as interpreters

        assert interpreters.run_string(interpreters.create(), {SUB_INTERPRETER!r}) is None
        import kymograph as kymo
        with kymo.capture("run.kymo"):
            with kymo.scope("in the main interpreter"):
                pass
        """
    )
    assert sites_of(tmp_path / "run.kymo") == {"in the main interpreter": 1}


def test_a_cpp_extension_records_into_the_same_capture(run_script: Run, tmp_path: Path) -> None:
    (tmp_path / "extension.cpp").write_text(EXTENSION)
    compile_extension(tmp_path, "extension", tmp_path / "extension.cpp", "-std=c++17", kymo.get_library())
    run_script("""
        import kymograph as kymo
        kymo.start_capture("run.kymo")
        import extension
        with kymo.scope("in Python"):
            extension.compute()
    """)
    assert sites_of(tmp_path / "run.kymo") == {"in Python": 1, "in C++": 1}
    (capture,) = info_of(tmp_path / "run.kymo")["captures"]
    assert capture["is_closed"]
