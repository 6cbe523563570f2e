"""``kymo.capture``: what it starts, what it replaces, how it ends, and what processes started meanwhile record."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import textwrap
import threading
import time
from collections.abc import Iterable
from pathlib import Path

import kymograph as kymo
import pytest
from conftest import Run
from support import info_of, sites_of, spools_of


def shared_memory() -> set[str]:
    """Return what recorders have in shared memory, but for the lock of those that sample."""
    return {path.name for path in Path("/dev/shm").glob("kymo-*") if not path.name.startswith("kymo-sampler-")}


def test_a_capture_is_whole_after_its_block(tmp_path: Path) -> None:
    with kymo.capture(tmp_path / "run.kymo") as run:
        assert run
        assert run.is_running
        assert run.path == str(tmp_path / "run.kymo")
        with kymo.scope("step"):
            pass
        assert len(run.open().spans) == 1
    assert not run.is_running
    assert not kymo.is_recording()
    assert not run.stop()
    assert run.open().is_closed
    assert sites_of(run.path) == {"step": 1}
    assert "stopped" in repr(run)


def test_each_run_opens_the_file_that_it_wrote(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for number in range(3):
        with kymo.capture("run.kymo") as run:
            kymo.set_info("number", number)
        assert run.open().info["number"] == str(number)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["run-1.kymo", "run-2.kymo", "run.kymo"]
    with kymo.capture("./none/../run.kymo", overwrite=True) as run:
        kymo.set_info("number", "last")
    assert run.path == str(tmp_path / "run.kymo")
    assert run.open().info["number"] == "last"
    assert len(list(tmp_path.iterdir())) == 3


def test_only_finished_captures_are_overwritten(run_script: Run, tmp_path: Path) -> None:
    text = tmp_path / "text.kymo"
    text.write_text("not a capture")
    with pytest.raises(FileExistsError, match="not a capture"):
        kymo.capture(text, overwrite=True)
    assert text.read_text() == "not a capture"
    with kymo.capture(tmp_path / "run.kymo") as run:
        said = run_script(
            f"""
            import kymograph as kymo
            try:
                kymo.capture({run.path!r}, overwrite=True)
            except FileExistsError as error:
                print("refused", error.strerror)
            """
        )
        assert said.stdout == "refused another process is writing this capture\n"
        with kymo.scope("after"):
            pass
    assert sites_of(run.path) == {"after": 1}
    assert not list(tmp_path.glob("*.replaced-*"))


@pytest.mark.parametrize("path", ["", "%w", "none/%w"])
def test_a_path_without_a_name_replaces_nothing(path: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "none").mkdir()
    for kept in ("kept.kymo", "none/kept.kymo"):
        with kymo.capture(kept):
            pass
    for start in (kymo.capture, kymo.start_capture):
        with pytest.raises(ValueError, match="names no file"):
            start(path, overwrite=True)
        assert not kymo.is_recording()
    assert sorted(str(each.relative_to(tmp_path)) for each in tmp_path.rglob("*.kymo")) == [
        "kept.kymo",
        "none/kept.kymo",
    ]


def test_what_is_not_named_as_a_worker_is_not_replaced(tmp_path: Path) -> None:
    with kymo.capture(tmp_path / "run.kymo") as run:
        pass
    workers = ["run-worker-12.kymo", "run-worker-12-1.kymo"]
    others = ["run-worker-12-old.kymo", "run-worker-12.old.kymo", "run-worker-1st.kymo", "run-1.kymo"]
    for name in (*workers, *others):
        shutil.copy(run.path, tmp_path / name)
    assert sorted(os.path.basename(path) for path in run.workers) == sorted(workers)
    with kymo.capture(tmp_path / "run") as bare:
        pass
    assert not bare.workers
    with kymo.capture(tmp_path / "run", overwrite=True):
        pass
    with kymo.capture(tmp_path / "run.kymo", overwrite=True):
        assert sorted(path.name for path in tmp_path.iterdir()) == sorted(["run", "run.kymo", *others])


def test_of_a_directory_its_captures_are_replaced_and_nothing_else(tmp_path: Path) -> None:
    with kymo.capture(tmp_path / "run.kymo") as run:
        pass
    directory = tmp_path / "captures"
    kept = {"within/run.kymo", "within.kymo/run.kymo", "run.kymo.old", ".hidden.kymo", "text.kymo", "link.kymo"}
    for name in kept | {"run.kymo", "host-12.kymo"}:
        (directory / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(run.path, directory / name)
    (directory / "text.kymo").write_text("not a capture")
    (directory / "link.kymo").unlink()
    (directory / "link.kymo").symlink_to(run.path)
    with kymo.capture(f"{directory}/", overwrite=True) as new:
        pass
    found = {str(path.relative_to(directory)) for path in directory.rglob("*") if not path.is_dir()}
    assert found == kept | {os.path.basename(new.path)}
    assert Path(run.path).exists()


def test_captures_stay_where_one_of_them_cannot_be_replaced(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with kymo.capture(tmp_path / "run.kymo") as run:
        pass
    shutil.copy(run.path, tmp_path / "run-worker-12.kymo")
    rename = os.rename

    def refuse(source: str, target: str) -> None:
        if "worker" in source:  # as that of another user in a directory with the sticky bit
            raise PermissionError(1, "Operation not permitted", source)
        rename(source, target)

    monkeypatch.setattr(os, "rename", refuse)
    with pytest.raises(PermissionError):
        kymo.capture(run.path, overwrite=True)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["run-worker-12.kymo", "run.kymo"]


def test_a_failure_is_an_exception_with_its_reason(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(FileNotFoundError, match="cannot create a capture"):
        kymo.capture(tmp_path / "none" / "run.kymo")
    with pytest.raises(OSError, match="File name too long"):
        kymo.capture(tmp_path / ("x" * 300))
    with pytest.raises(ValueError, match="keep_s"):
        kymo.capture(tmp_path / "run.kymo", keep_s=-1)
    with pytest.raises(ValueError, match="fast_hz"):
        kymo.Sampling(fast_hz=5000)
    with pytest.raises(TypeError, match="sample must be"):
        kymo.capture(tmp_path / "run.kymo", sample="yes")  # type: ignore[arg-type]
    with pytest.raises(RuntimeError, match="stderr has the reason"):
        kymo.capture(tmp_path / "run.kymo", sample=kymo.Sampling(without=["moonshine"]))
    assert not list(tmp_path.iterdir())
    assert "KYMO_STARTER" not in os.environ
    with kymo.capture(tmp_path / "run.kymo", overwrite=True) as run:
        with pytest.raises(RuntimeError, match=r"already: .*run\.kymo"):
            kymo.capture(tmp_path / "second.kymo")
        assert not kymo.start_capture(tmp_path / "second.kymo")
        assert "already" in capfd.readouterr().err
        assert run.is_running
    failed = kymo.start_capture(tmp_path / "none" / "run.kymo")
    assert not failed
    (said,) = capfd.readouterr().err.splitlines()
    assert "No such file" in said
    with pytest.raises(RuntimeError, match="not started"):
        failed.open()


def test_the_name_of_a_sensor_is_one() -> None:
    for only, without in (("cpu", "disk"), (["cpu"], ["disk"])):
        assert kymo.Sampling(only=only, without=without).variables()["KYMO_SENSORS"] == "cpu,-disk"
    for wrong in ("", "a,b", [""]):
        with pytest.raises(ValueError, match="is not the name of a sensor"):
            kymo.Sampling(without=wrong)


def test_of_two_starts_at_once_one_records(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    barrier = threading.Barrier(2)
    started: list[kymo.Recording] = []

    def start() -> None:
        barrier.wait()
        started.append(kymo.start_capture(tmp_path / "run.kymo"))

    for number in range(20):
        threads = [threading.Thread(target=start) for _ in range(2)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        (run,) = [each for each in started if each]
        assert run.is_running
        assert kymo.stop_capture()
        assert len(kymo.open(run.path).spans) == 0
        assert len(list(tmp_path.iterdir())) == number + 1
        started.clear()
    assert "KYMO_FOLLOW" not in os.environ
    assert capfd.readouterr().err.count("already") == 20


def test_what_makes_way_leaves_nothing_in_shared_memory(run_script: Run, tmp_path: Path) -> None:
    script = """
        import os, kymograph as kymo
        with kymo.capture("run.kymo", overwrite=True):
            if os.fork() == 0:
                with kymo.scope("work"):
                    pass
                os._exit(0)
            os.wait()
    """
    run_script(script)
    assert len(spools_of(tmp_path)) == 1
    run_script(script.replace("os.fork() == 0", "False").replace("os.wait()", "pass"))
    assert spools_of(tmp_path) == []


def test_what_was_there_comes_back_if_a_run_does_not_start(tmp_path: Path) -> None:
    with kymo.capture(tmp_path / "run.kymo") as run:
        kymo.set_info("number", 1)
    with pytest.raises(RuntimeError):
        kymo.capture(tmp_path / "run.kymo", overwrite=True, sample=kymo.Sampling(only=["moonshine"]))
    assert run.open().info["number"] == "1"


def test_the_machine_is_sampled_where_that_is_wanted(tmp_path: Path) -> None:
    with kymo.capture(tmp_path / "none.kymo") as run:
        pass
    assert len(run.open().samples) == 0
    rates = kymo.Sampling(fast_hz=1000, medium_hz=0, slow_hz=0, without=["memory"])
    for name, sample in (("fast", rates), ("slow", kymo.Sampling(fast_hz=20, medium_hz=0, slow_hz=0))):
        with kymo.capture(tmp_path / f"{name}.kymo", sample=sample) as run:
            while not any(len(metric) > 12 for metric in run.open().metrics.values()):
                pass
    fast, slow = (kymo.open(tmp_path / f"{name}.kymo").metrics for name in ("fast", "slow"))
    assert "process_cpu_time" in fast
    assert "memory_used" in slow
    assert "memory_used" not in fast
    periods = [int(metrics["process_cpu_time"].times[-1] - metrics["process_cpu_time"].times[0])
               / (len(metrics["process_cpu_time"]) - 1) for metrics in (fast, slow)]  # fmt: skip
    assert 2 * periods[0] < periods[1]


STEPS = """
    import sys, kymograph as kymo

    with kymo.capture("run.kymo", overwrite=True) as run:
        for step in range(200):
            kymo.frame_mark()
            with kymo.scope("step", step=step):
                pass
        {end}
"""


@pytest.mark.parametrize(
    ("end", "status"),
    [
        ("pass", 0),
        ("sys.exit(3)", 3),
        ("raise ValueError('at the end')", 1),
        ("import os, signal; os.kill(os.getpid(), signal.SIGINT)", -signal.SIGINT),
    ],
)
def test_two_hundred_marks_are_two_hundred_steps_however_it_ends(
    run_script: Run, tmp_path: Path, end: str, status: int
) -> None:
    run_script(STEPS.format(end=end), status=status)
    capture = kymo.open(tmp_path / "run.kymo")
    assert capture.is_closed
    assert len(capture.frames) == 200
    assert len(capture.spans) == 200
    assert [len(capture.spans.between(start, start + length)) for start, length in
            zip(capture.frames.start_ns, capture.frames.duration_ns, strict=True)] == [1] * 200  # fmt: skip


def test_frames_are_counted_where_the_program_ends_without_a_word(run_script: Run, tmp_path: Path) -> None:
    run_script(
        """
        import kymograph as kymo
        kymo.start_capture("run.kymo")
        for step in range(20):
            kymo.frame_mark()
            kymo.frame_mark("other") if step % 2 else None
        """
    )
    capture = kymo.open(tmp_path / "run.kymo")
    assert capture.is_closed
    assert sorted(capture.frames.stream) == [""] * 20 + ["other"] * 10


def is_handled(pid: int, number: int) -> bool:
    status = Path(f"/proc/{pid}/status").read_text()
    return int(status.partition("SigCgt:")[2].split()[0], 16) >> (number - 1) & 1 == 1


@pytest.mark.parametrize("ended_by", [signal.SIGTERM, signal.SIGHUP])
@pytest.mark.parametrize("sample", [False, True])
def test_a_signal_closes_the_capture(tmp_path: Path, ended_by: signal.Signals, sample: bool) -> None:
    script = tmp_path / "script.py"
    script.write_text(
        textwrap.dedent(
            f"""
            import kymograph as kymo
            with kymo.capture("run.kymo", sample={sample}) as run:
                for _ in range(1000):
                    with kymo.scope("step"):
                        pass
                with kymo.scope("waiting"):
                    kymo.flush()
                    print("ready", flush=True)
                    import time
                    time.sleep(100)
            """
        )
    )
    environment = {**os.environ, "PYTHONPATH": str(Path(kymo.__file__).parent.parent)}
    with subprocess.Popen(
        [sys.executable, script], cwd=tmp_path, env=environment, stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
        deadline = time.monotonic() + 30
        while not is_handled(process.pid, ended_by):
            assert time.monotonic() < deadline
            time.sleep(0.01)
        ended_ns = time.monotonic_ns()
        process.send_signal(ended_by)
        assert process.wait(30) == -ended_by
    capture = kymo.open(tmp_path / "run.kymo")
    assert capture.is_closed
    (waiting,) = capture.spans[capture.spans["name"] == "waiting"]
    assert waiting["start_ns"] + waiting["duration_ns"] >= ended_ns
    assert sites_of(tmp_path / "run.kymo") == {"step": 1000}


def fail_in(items: Iterable[int]) -> None:
    for item in items:
        raise KeyError(item)


def test_a_loop_of_frames_counts_its_rounds_and_its_waits(tmp_path: Path) -> None:
    with kymo.capture(tmp_path / "run.kymo") as run:
        loop = kymo.frames([1, 2, 3])
        assert len(loop) == 3
        assert list(loop) == [1, 2, 3]
        for item in kymo.frames(iter(range(10)), "broken", wait="load"):
            with kymo.scope("work"):
                if item == 4:
                    break
        failing = kymo.frames([1, 2], "failing", wait="load")
        with pytest.raises(KeyError):
            fail_in(failing)
        with kymo.scope("after"):
            pass
        with pytest.raises(TypeError):
            len(kymo.frames(iter([])))
    capture = run.open()
    assert sorted(capture.frames.stream) == ["", "", "", *["broken"] * 5, "failing"]
    assert sites_of(run.path) == {"wait for data": 4, "load": 6, "work": 5, "after": 1}
    after = capture.spans.select(name="after").start_ns[0]
    assert all(capture.frames.start_ns + capture.frames.duration_ns <= after)


def test_loops_on_one_stream_have_as_many_frames_as_rounds(tmp_path: Path) -> None:
    counts = []
    for name in ("first", "second"):
        with kymo.capture(tmp_path / f"{name}.kymo") as run:
            for epoch in range(3):
                for _ in kymo.frames(range(4)):
                    with kymo.scope("step"):
                        pass
                with kymo.scope("validate", epoch=epoch):
                    pass
            for _ in range(5):
                kymo.frame_mark()
            for _ in kymo.frames(range(2), "other"):
                pass
        frames = run.open().frames
        counts.append([int((frames.stream == stream).sum()) for stream in ("", "other")])
        ends = frames.start_ns + frames.duration_ns
        steps = run.open().spans.select(name="step")
        assert [int(((frames.start_ns <= start) & (start < ends)).sum()) for start in steps.start_ns] == [1] * 12
    assert counts == [[3 * 4 + 5, 2]] * 2


WORKERS = """
    import concurrent.futures, multiprocessing, os, subprocess, sys
    import kymograph as kymo

    def work(number):
        with kymo.scope("work"):
            kymo.record_metric("loss of workers", number)
        return os.getpid()

    def load(queue, results):
        while queue.get() is not None:
            with kymo.scope("load"):
                pass
        results.put(os.getpid())

    if __name__ == "__main__":
        method, path = sys.argv[1:]
        context = multiprocessing.get_context(method)
        with kymo.capture(path, sample=True) as run:
            kymo.set_info("role", "starter")
            kymo.record_metric("loss", 1.0)
            with kymo.scope("parent"):
                pass
            process = context.Process(target=work, args=(1,))
            process.start()
            process.join()
            with context.Pool(2) as pool:
                pool.map(work, range(50), 1)
            with concurrent.futures.ProcessPoolExecutor(2, mp_context=context) as pool:
                list(pool.map(work, range(40)))
            queue, results = context.Queue(), context.Queue()
            loader = context.Process(target=load, args=(queue, results), daemon=True)
            loader.start()
            for item in [1, 2, 3, None]:
                queue.put(item)
            results.get()
            loader.join()
            program = "import kymograph as k\\nwith k.scope('of another program'): pass"
            subprocess.run([sys.executable, "-c", program], check=True)
        assert "KYMO_RECORD" not in os.environ
        with context.Pool(1) as pool:
            pool.map(work, range(5))
"""


@pytest.mark.parametrize("path", ["run.kymo", "captures/"])
@pytest.mark.parametrize("method", ["fork", "spawn", "forkserver"])
def test_workers_are_recorded_without_a_line_in_them(run_script: Run, tmp_path: Path, method: str, path: str) -> None:
    before = shared_memory()
    run_script(WORKERS, method, path)
    captures = sorted([*tmp_path.glob("*.kymo"), *tmp_path.glob("captures/*.kymo")])
    assert sites_of(*captures) == {"work": 1 + 50 + 40, "load": 3, "parent": 1, "of another program": 1}
    # A pool ends its workers by a signal, perhaps before they have begun. Their spools are the next start's to clear.
    listed = info_of(*captures)["captures"]
    unclosed = [capture["path"] for capture in listed if not capture["is_closed"]]
    assert [path for path in unclosed if len(kymo.open(path).spans) > 0] == []
    # Other programs record beside this one.
    closed = [capture["path"] for capture in listed if capture["is_closed"]]
    own = {str(process["pid"]) for process in info_of(*closed)["processes"]}
    assert [name for name in shared_memory() - before if name.split("-")[1] in own] == []
    opened = kymo.open(captures)
    assert opened.info["role"] == "starter"
    assert list(opened.metrics["loss"].values) == [1.0]
    workers = {track["process"] for track in info_of(*captures)["tracks"] if track["recorded_scopes"] > 0}
    assert 5 <= len(workers) <= 8
    if path == "run.kymo":
        assert (tmp_path / "run.kymo") in captures
        assert all(each.name.startswith("run-worker-") for each in captures if each.name != "run.kymo")


def test_a_run_knows_its_workers_and_overwrites_them(run_script: Run, tmp_path: Path) -> None:
    script = """
        import os, kymograph as kymo
        os.environ["STARTER"] = str(os.getpid())
        with kymo.capture("run.kymo", overwrite=True) as run:
            for _ in range({count}):
                if os.fork() == 0:
                    with kymo.scope("child"):
                        pass
                    break
                os.wait()
            else:
                with kymo.scope("parent"):
                    pass
        if os.getpid() == int(os.environ.get("STARTER", os.getpid())):
            print(len(run.workers), len(run.open().spans), len(run.open(workers=True).spans))
    """
    for count in (3, 1, 2):
        said = run_script(script.format(count=count)).stdout.split()
        assert said[-3:] == [str(count), "1", str(count + 1)]
    assert len(list(tmp_path.glob("*.kymo"))) == 3


def test_a_worker_may_record_elsewhere(run_script: Run, tmp_path: Path) -> None:
    run_script(
        """
        import subprocess, sys, kymograph as kymo
        program = '''
        import kymograph as kymo
        with kymo.capture("own.kymo"):
            with kymo.scope("own"):
                pass
        '''
        with kymo.capture("run.kymo"):
            subprocess.run([sys.executable, "-c", program], check=True)
        """
    )
    assert sites_of(tmp_path / "own.kymo") == {"own": 1}


def test_profiled_functions_of_a_script_reach_workers_without_the_script(run_script: Run, tmp_path: Path) -> None:
    pytest.importorskip("pyspark")
    run_script(
        """
        import pickle, subprocess, sys
        import kymograph as kymo
        from pyspark import cloudpickle

        @kymo.profile(name="factorial", layer=3)
        def factorial(number):
            return number * factorial(number - 1) if number else 1

        @kymo.profile
        async def coroutine():
            pass

        def call():
            return factorial(4)

        program = "import pickle, sys; print([each() for each in pickle.load(sys.stdin.buffer)])"
        with kymo.capture("run.kymo"):
            sent = cloudpickle.dumps([call])
            assert pickle.loads(pickle.dumps(factorial)) is factorial
            assert pickle.loads(cloudpickle.dumps(coroutine))().close() is None
            done = subprocess.run([sys.executable, "-c", program], input=sent, capture_output=True, check=True)
        assert done.stdout == b"[24]\\n"
        """
    )
    (worker,) = tmp_path.glob("run-worker-*.kymo")
    spans = kymo.open(worker).spans
    assert list(spans["name"]) == ["factorial"] * 5
    assert spans["arguments"].tolist() == [{"layer": 3}] * 5
