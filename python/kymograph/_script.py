"""Runs a script, folder, zipapp or module and records its functions. Started by `kymograph._record_command`."""

from __future__ import annotations

import atexit
import builtins
import functools
import io
import json
import os
import sys
from importlib.machinery import BuiltinImporter, SourceFileLoader
from pathlib import Path
from types import CodeType, ModuleType, TracebackType
from typing import TYPE_CHECKING, Any

from kymograph import _environment, _record, _workers
from kymograph._imports import when_imported

if TYPE_CHECKING:
    from collections.abc import Callable
    from importlib.machinery import ModuleSpec


def begin(options: dict[str, Any]) -> None:
    """
    Record the functions of this process from now on, and of its forked, spawned and fork-server children.

    Parameters
    ----------
    options : dict
        The options of `start_tracing`, and ``quiet``.
    """
    _environment.is_run_recorded = _record.enable()
    _follow_spawned(options)
    atexit.register(_end, options)
    _workers.before_end.append(functools.partial(_end, options))
    wanted = {name: options[name] for name in ("min_us", "include", "exclude", "c_functions", "leaves_every")}
    _record.start_tracing(**wanted)


def _end(options: dict[str, Any]) -> None:
    atexit.unregister(_end)
    left_out = _record.stop_tracing()
    if left_out:
        every = options["leaves_every"]
        said = f"{left_out} calls "
        said += (
            f"of leaf functions (1 in {every} is recorded)" if every > 1 else f"shorter than {options['min_us']:g} us"
        )
        _record.set_info("python_calls_left_out", said)
        if not options["quiet"]:
            print(f"kymo: {said} were left out (process {os.getpid()})", file=sys.stderr)


def begin_in_forked(options: dict[str, Any]) -> None:
    """
    Record the functions of forked processes, but not of this one, which is a fork server.

    Parameters
    ----------
    options : dict
        The options of `begin`.
    """
    is_begun = False

    def in_child() -> None:
        nonlocal is_begun
        if not is_begun:
            is_begun = True
            begin(options)
            _workers.follow_this_fork()

    os.register_at_fork(after_in_child=in_child)


def _follow_spawned(options: dict[str, Any]) -> None:
    def change_spawn(spawn: Any) -> None:
        command_line: Callable[..., list[str]] = spawn.get_command_line

        def get_command_line(**arguments: Any) -> list[str]:
            return _prepend(command_line(**arguments), "", f"from kymograph._script import begin; begin({options!r})")

        spawn.get_command_line = get_command_line

    def change_util(util: Any) -> None:
        spawn_with: Callable[[Any, list[Any], Any], int] = util.spawnv_passfds
        in_server = f"from kymograph._script import begin_in_forked; begin_in_forked({options!r})"

        def spawnv_passfds(path: Any, args: list[Any], passfds: Any) -> int:
            return spawn_with(path, _prepend(args, "from multiprocessing.forkserver ", in_server), passfds)

        util.spawnv_passfds = spawnv_passfds

    when_imported("multiprocessing.spawn", change_spawn)
    when_imported("multiprocessing.util", change_util)


def _prepend(command: list[Any], beginning: str, statements: str) -> list[Any]:
    """Make an interpreter that runs a program with this beginning do something before it."""
    program = command.index("-c") + 1 if "-c" in command else len(command)
    if program < len(command) and str(command[program]).startswith(beginning):
        return [*command[:program], f"{statements}; {command[program]}", *command[program + 1 :]]
    return command


def _hide_own_frames() -> None:
    """
    Make the traceback of the exception that ends the script begin in the script.

    Called when the exception has left the script: until then it has its own ``sys.excepthook``, which gets this
    traceback too.
    """
    print_exception = sys.excepthook
    own = {__file__, str(Path(__file__).with_name("_run.py")), "<frozen runpy>", "<frozen importlib._bootstrap>"}

    def hook(kind: type[BaseException], error: BaseException, traceback: TracebackType | None) -> None:
        while traceback is not None and (
            traceback.tb_frame.f_code.co_filename in own or traceback.tb_frame.f_globals.get("__name__") == "runpy"
        ):
            traceback = traceback.tb_next
        sys.last_traceback = traceback
        print_exception(kind, error.with_traceback(traceback), traceback)

    sys.excepthook = hook


def _is_path_safe() -> bool:
    """Tell whether the interpreter was told to import nothing from the script's folder."""
    return sys.flags.safe_path if sys.version_info >= (3, 11) else False


def _is_folder_of_modules(path: str) -> bool:
    """Tell whether modules can be imported from this path, as from a folder or a zipapp."""
    for hook in sys.path_hooks:
        try:
            hook(path)
        except ImportError:
            continue
        return True
    return False


def _load_program(path: str) -> tuple[CodeType, dict[str, Any]]:
    """Load what ``python PATH`` runs: a script, one from the standard input, or a folder or zipapp of modules."""
    if path == "-":
        if not _is_path_safe():
            sys.path[0] = ""
        code = compile(sys.stdin.buffer.read(), "<stdin>", "exec", dont_inherit=True)
        return code, _names_without_spec("<stdin>", BuiltinImporter)
    full_path = os.path.join(os.getcwd(), path)
    if not _is_folder_of_modules(full_path):
        return _load_script(path)
    sys.path[0 : 0 if _is_path_safe() else 1] = [full_path]
    return _load_main_module(full_path)


def _load_script(path: str) -> tuple[CodeType, dict[str, Any]]:
    if not _is_path_safe():
        sys.path[0] = os.path.dirname(os.path.realpath(path))
    full_path = os.path.abspath(path)
    try:
        with io.open_code(full_path) as source:
            code = compile(source.read(), full_path, "exec", dont_inherit=True)
    except OSError as failure:
        reason = f"[Errno {failure.errno}] {failure.strerror}"
        print(f"{sys.executable}: can't open file {path!r}: {reason}", file=sys.stderr)
        raise SystemExit(2) from None
    return code, _names_without_spec(full_path, SourceFileLoader("__main__", full_path))


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
    return code, _names_of(spec)


def _load_main_module(folder: str) -> tuple[CodeType, dict[str, Any]]:
    import runpy  # noqa: PLC0415

    # The module of this name is the one that runs now.
    running = sys.modules.pop("__main__")
    try:
        _, spec, code = vars(runpy)["_get_module_details"]("__main__")
    except ImportError:
        print(f"{sys.executable}: can't find '__main__' module in {folder!r}", file=sys.stderr)
        raise SystemExit(1) from None
    finally:
        sys.modules["__main__"] = running
    return code, _names_of(spec)


def _names_of(spec: ModuleSpec) -> dict[str, Any]:
    names = {"__file__": spec.origin, "__package__": spec.parent, "__spec__": spec, "__loader__": spec.loader}
    return names | {"__cached__": spec.cached}


def _names_without_spec(file: str, loader: object) -> dict[str, Any]:
    return {"__file__": file, "__package__": None, "__spec__": None, "__loader__": loader, "__cached__": None}


def main() -> None:
    """Run the command line: options as JSON, what python runs (a path, ``-``, ``-m`` and a module), its arguments."""
    options = json.loads(sys.argv[1])
    is_module = sys.argv[2] == "-m"
    name = sys.argv[3 if is_module else 2]
    sys.argv[:] = [name, *sys.argv[4 if is_module else 3 :]]
    try:
        code, names = _load_module(name) if is_module else _load_program(name)
        module = ModuleType("__main__")
        module.__dict__.update(names, __builtins__=builtins, __annotations__={})
        sys.modules["__main__"] = module
        begin(options)
        exec(code, module.__dict__)
    except SystemExit:
        raise
    except BaseException:
        _hide_own_frames()
        raise
