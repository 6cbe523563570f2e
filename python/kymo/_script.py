"""Runs a script as ``python script.py`` would, with its functions recorded. Started by `kymo._record_command`."""

from __future__ import annotations

import atexit
import importlib.abc
import importlib.util
import io
import json
import os
import sys
from pathlib import Path
from types import CodeType, ModuleType, TracebackType
from typing import TYPE_CHECKING, Any

from kymo import _record

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from importlib.machinery import ModuleSpec


def begin(options: dict[str, Any]) -> None:
    """
    Record the functions of this process from now on, and of those that it spawns.

    Parameters
    ----------
    options : dict
        What `start_tracing` takes, and ``quiet``.
    """
    _record.enable()
    _follow_spawned(options)
    atexit.register(_end, options)
    wanted = {name: options[name] for name in ("min_us", "include", "exclude", "c_functions")}
    _record.start_tracing(**wanted)


def _end(options: dict[str, Any]) -> None:
    left_out = _record.stop_tracing()
    if left_out:
        said = f"{left_out} calls shorter than {options['min_us']:g} us"
        _record.set_info("python_calls_left_out", said)
        if not options["quiet"]:
            print(f"kymo: {said} were left out (process {os.getpid()})", file=sys.stderr)


class _SpawnFinder(importlib.abc.MetaPathFinder):
    """Changes ``multiprocessing.spawn`` when the script imports it, and not before."""

    def __init__(self, options: dict[str, Any]) -> None:
        self.options = options

    def find_spec(
        self, fullname: str, _path: Sequence[str] | None, _target: ModuleType | None = None, /
    ) -> ModuleSpec | None:
        if fullname != "multiprocessing.spawn":
            return None
        sys.meta_path.remove(self)
        spec = importlib.util.find_spec(fullname)
        if spec is None or spec.loader is None:
            return spec
        run_module = spec.loader.exec_module

        def exec_module(module: ModuleType) -> None:
            run_module(module)
            _change_spawn(module, self.options)

        spec.loader.exec_module = exec_module  # type: ignore[method-assign]
        return spec


def _follow_spawned(options: dict[str, Any]) -> None:
    loaded = sys.modules.get("multiprocessing.spawn")
    if loaded is not None:
        _change_spawn(loaded, options)
    else:
        sys.meta_path.insert(0, _SpawnFinder(options))


def _change_spawn(spawn: Any, options: dict[str, Any]) -> None:
    command_line: Callable[..., list[str]] = spawn.get_command_line

    def get_command_line(**arguments: Any) -> list[str]:
        command = command_line(**arguments)
        if "-c" in command:
            program = command.index("-c") + 1
            command[program] = f"from kymo._script import begin; begin({options!r}); {command[program]}"
        return command

    spawn.get_command_line = get_command_line


def _hide_own_frames() -> None:
    """Have tracebacks begin in the script."""
    print_exception = sys.excepthook
    own = {__file__, str(Path(__file__).with_name("_run.py")), "<frozen runpy>", "<frozen importlib._bootstrap>"}

    def hook(kind: type[BaseException], error: BaseException, traceback: TracebackType | None) -> None:
        while traceback is not None and (
            traceback.tb_frame.f_code.co_filename in own or traceback.tb_frame.f_globals.get("__name__") == "runpy"
        ):
            traceback = traceback.tb_next
        print_exception(kind, error.with_traceback(traceback), traceback)

    sys.excepthook = hook


def _load_script(path: str) -> tuple[CodeType, dict[str, Any]]:
    if not sys.flags.safe_path if sys.version_info >= (3, 11) else True:
        sys.path[0] = os.path.dirname(os.path.realpath(path))
    full_path = os.path.abspath(path)
    try:
        with io.open_code(full_path) as source:
            code = compile(source.read(), full_path, "exec", dont_inherit=True)
    except OSError as failure:
        reason = f"[Errno {failure.errno}] {failure.strerror}"
        print(f"{sys.executable}: can't open file {path!r}: {reason}", file=sys.stderr)
        raise SystemExit(2) from None
    return code, {"__file__": full_path, "__package__": None, "__spec__": None}


def _load_module(name: str) -> tuple[CodeType, dict[str, Any]]:
    import runpy  # noqa: PLC0415

    details: Any = vars(runpy)["_get_module_details"]
    spec: ModuleSpec
    try:
        _, spec, code = details(name)
    except ImportError as failure:
        print(f"{sys.executable}: {failure}", file=sys.stderr)
        raise SystemExit(1) from None
    sys.argv[0] = spec.origin or name
    names = {"__file__": spec.origin, "__package__": spec.parent, "__spec__": spec, "__loader__": spec.loader}
    return code, names


def main() -> None:
    """Run what the command line names: options as JSON, a script or ``-m`` and a module, the arguments of that."""
    options = json.loads(sys.argv[1])
    is_module = sys.argv[2] == "-m"
    name = sys.argv[3 if is_module else 2]
    sys.argv[:] = [name, *sys.argv[4 if is_module else 3 :]]
    _hide_own_frames()
    code, names = _load_module(name) if is_module else _load_script(name)
    module = ModuleType("__main__")
    module.__dict__.update(names, __builtins__=__builtins__)
    sys.modules["__main__"] = module
    begin(options)
    exec(code, module.__dict__)
