"""
What PyTorch does, as scopes: `follow` is the one call.

PyTorch says itself when a module begins and ends, so the model stays as it is. In the backward pass it names no
modules: there, the nodes of the graph that made a module's output and its input tell when its part begins and ends.
"""

from __future__ import annotations

import functools
import threading
import weakref
from collections.abc import Callable, Iterator, Mapping
from types import TracebackType
from typing import Any

import torch
from torch.nn.modules import module as _modules

from kymograph import _record
from kymograph._gpu import gpu_scope

__all__ = ["Following", "follow"]

_MARKS = "kymograph"
#: A container of outputs or inputs is searched this deep for tensors.
_DEPTH = 4


class _Call:
    """A module's call, open in the forward or in the backward pass."""

    __slots__ = ("inputs", "name", "scope")

    def __init__(self, name: str, inputs: list[Any]) -> None:
        self.name = name
        self.inputs = inputs
        self.scope: Any = None

    def is_within(self, other: _Call) -> bool:
        return self.name.startswith(other.name + ".")


class _Stack(threading.local):
    """The open calls of one thread."""

    def __init__(self) -> None:
        self.calls: list[_Call] = []

    def push(self, call: _Call, scope: Any) -> None:
        scope.__enter__()
        call.scope = scope
        self.calls.append(call)

    def close(self, count: int) -> None:
        """Close the calls beyond the first ones."""
        while len(self.calls) > count:
            call = self.calls.pop()
            call.scope.__exit__(None, None, None)
            call.scope = None

    def close_through(self, call: _Call) -> None:
        """Close a call and those within it, if it is open on this thread."""
        for place in range(len(self.calls) - 1, -1, -1):
            if self.calls[place] is call:
                self.close(place)
                return


class _Marks:
    """The calls whose backward pass begins or ends where the gradient reaches a node of the graph."""

    __slots__ = ("begins", "ends", "following")

    def __init__(self, following: Following) -> None:
        self.following = following
        self.begins: list[_Call] = []
        self.ends: list[_Call] = []

    def pass_by(self, _gradients: Any) -> None:
        following = self.following
        for call in self.ends:
            following.backward_calls.close_through(call)
        # Modules say that they end from the inside to the outside.
        for call in reversed(self.begins):
            following.begin_backward(call)


def _nodes_of(values: Any, depth: int = _DEPTH) -> Iterator[Any]:
    """Yield the nodes that made the tensors among values."""
    if isinstance(values, torch.Tensor):
        if values.grad_fn is not None:
            yield values.grad_fn
    elif depth > 0 and isinstance(values, tuple | list):
        for value in values:
            yield from _nodes_of(value, depth - 1)
    elif depth > 0 and isinstance(values, Mapping):
        for value in values.values():
            yield from _nodes_of(value, depth - 1)


class Following:
    """
    What `follow` returns. It ends with `stop`, or with its block as a context manager.

    Attributes
    ----------
    times_gpu : bool
        Whether scopes have GPU times: PyTorch found a GPU when `follow` was called.
    """

    def __init__(self, depth: int | None) -> None:
        self.times_gpu: bool = bool(torch.cuda.is_available())
        self.backward_calls = _Stack()
        self._scope: Callable[[str], Any] = gpu_scope if self.times_gpu else _record.scope
        self._depth = depth
        self._names: weakref.WeakKeyDictionary[Any, str] = weakref.WeakKeyDictionary()
        self._calls = _Stack()
        self._is_over = False
        self._undo: list[Callable[[], None]] = [
            _modules.register_module_forward_pre_hook(self._enter_module).remove,
            _modules.register_module_forward_hook(self._leave_module, always_call=True).remove,
            self._follow_regions(),
            self._follow_backward(),
        ]

    def stop(self) -> None:
        """Follow no more. Modules, and graphs that were made before, stay as they are. Does nothing the second time."""
        self._is_over = True
        while self._undo:
            self._undo.pop()()

    def __enter__(self) -> Following:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.stop()

    def _name_of(self, module: Any) -> str:
        """Return a module's place in the outermost one; empty: it is too deep."""
        name = self._names.get(module)
        if name is None:
            # It belongs to no module that was called before: it names those within it.
            root = type(module).__name__
            for path, inner in module.named_modules():
                is_deep = self._depth is not None and len(path.split(".") if path else []) > self._depth
                self._names[inner] = "" if is_deep else f"{root}.{path}" if path else root
            name = self._names[module]
        return name

    def _enter_module(self, module: Any, inputs: Any) -> None:
        if torch.compiler.is_compiling() or not _record.is_recording_scopes():
            return
        name = self._name_of(module)
        if name:
            self._calls.push(_Call(name, list(_nodes_of(inputs))), self._scope(name))

    def _leave_module(self, module: Any, _inputs: Any, output: Any) -> None:
        if torch.compiler.is_compiling() or not self._calls.calls:
            return
        name = self._names.get(module)
        calls = self._calls.calls
        # An exception in another hook may have left calls within this one open.
        while name and calls and calls[-1].name != name and calls[-1].name.startswith(name + "."):
            self._calls.close(len(calls) - 1)
        if not name or not calls or calls[-1].name != name:
            return
        call = calls[-1]
        self._calls.close(len(calls) - 1)
        self._mark(call, output)

    def _mark(self, call: _Call, output: Any) -> None:
        """Mark where the backward pass of a call begins, and where it ends."""
        ends, call.inputs = call.inputs, []
        begins = [node for node in _nodes_of(output) if node not in ends]
        for node in dict.fromkeys(begins):
            self._marks_of(node).begins.append(call)
        for node in dict.fromkeys(ends) if begins else ():
            self._marks_of(node).ends.append(call)

    def _marks_of(self, node: Any) -> _Marks:
        marks: _Marks | None = node.metadata.get(_MARKS)
        if marks is None or marks.following is not self:
            marks = node.metadata[_MARKS] = _Marks(self)
            node.register_prehook(marks.pass_by)
        return marks

    def begin_backward(self, call: _Call) -> None:
        """Open the scope of a module's backward pass; what is open and does not contain it is over."""
        stack = self.backward_calls
        if self._is_over or call.scope is not None or not _record.is_recording_scopes():
            return
        while stack.calls and not call.is_within(stack.calls[-1]):
            stack.close(len(stack.calls) - 1)
        if not stack.calls:
            # Nothing follows the first layer that tells where it ends.
            torch.autograd.Variable._execution_engine.queue_callback(lambda: stack.close(0))
        stack.push(call, self._scope(f"{call.name} backward"))

    def _follow_regions(self) -> Callable[[], None]:
        """Regions of ``record_function``: the program's, optimizers' steps, and data loaders' batches."""
        region = torch.autograd.profiler.record_function
        enter, leave = region.__enter__, region.__exit__

        @functools.wraps(enter)
        def enter_region(this: Any) -> Any:
            entered = enter(this)
            if not torch.compiler.is_compiling():
                scope = self._scope(this.name)
                scope.__enter__()
                this.__dict__.setdefault("_kymo_scopes", []).append(scope)
            return entered

        @functools.wraps(leave)
        def leave_region(this: Any, kind: Any, error: Any, traceback: Any) -> Any:
            if scopes := this.__dict__.get("_kymo_scopes"):
                scopes.pop().__exit__(kind, error, traceback)
            return leave(this, kind, error, traceback)

        region.__enter__, region.__exit__ = enter_region, leave_region

        def undo() -> None:
            if region.__enter__ is enter_region:
                region.__enter__, region.__exit__ = enter, leave

        return undo

    def _follow_backward(self) -> Callable[[], None]:
        """``loss.backward()``, on the thread that calls it."""
        backward = torch.autograd.backward

        @functools.wraps(backward)
        def run_backward(*args: Any, **options: Any) -> Any:
            stack = self.backward_calls
            count = len(stack.calls)
            with self._scope("backward"):
                try:
                    return backward(*args, **options)
                finally:
                    stack.close(count)

        torch.autograd.backward = run_backward

        def undo() -> None:
            if torch.autograd.backward is run_backward:
                torch.autograd.backward = backward

        return undo


_lock = threading.Lock()
_current: list[Following] = []


def follow(*, depth: int | None = None) -> Following:
    """
    Record what PyTorch does in this process as scopes, from now on.

    These are scopes, on the thread that does the work:

    - each call of a module, named by the class of the outermost module and the path to it: ``Net.layers.0``;
    - its backward pass, ``Net.layers.0 backward``, within ``backward``, the call of ``loss.backward()``;
    - regions of ``torch.profiler.record_function``, and those of PyTorch: ``Optimizer.step#Adam.step``, and
      ``enumerate(DataLoader)#...`` for the wait for a batch.

    Where PyTorch has a GPU, each is a `gpu_scope`: the GPU's time is a span on the track of the stream. Else the times
    are the processor's alone.

    Parameters
    ----------
    depth : int, optional
        How many levels of modules below the outermost one are scopes; 0: the outermost one only. None: all.

    Returns
    -------
    Following
        It ends what the call began. A second call ends the first.

    Raises
    ------
    RuntimeError
        PyTorch is too old: it cannot tell whether it compiles.

    Notes
    -----
    Code that ``torch.compile`` compiles is one scope, the module that calls it; TorchScript's regions are none. In the
    backward pass a module ends where the gradient of one of its positional inputs is complete, or else where the next
    module begins or the pass ends. Modules are not changed: they can be copied, saved and compiled as before.

    A call of a module costs 4 to 8 us on the processor, and with its backward pass some 12 us. While nothing is
    recorded it costs 2 to 4 us, since PyTorch takes a slower path for modules with hooks.

    Examples
    --------
    >>> following = kymograph.torch.follow()  # doctest: +SKIP
    """
    if not hasattr(getattr(torch, "compiler", None), "is_compiling"):
        raise RuntimeError(f"PyTorch {torch.__version__} is too old to be followed")
    with _lock:
        while _current:
            _current.pop().stop()
        following = Following(depth)
        _current.append(following)
    return following
