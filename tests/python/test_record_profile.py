"""``@kymo.profile``: what it records, and that a function stays what it was."""

from __future__ import annotations

import asyncio
import collections.abc
import contextlib
import copy
import functools
import gc
import inspect
import pickle
import subprocess
import sys
import traceback
import types
import weakref
from pathlib import Path
from typing import Any, ClassVar

import kymograph as kymo
import pytest
from conftest import Run
from support import places_of, rows_of, sites_of


@pytest.fixture
def capture(tmp_path: Path) -> Path:
    path = tmp_path / "run.kymo"
    assert kymo.start_capture(path)
    return path


@kymo.profile
def add(a: int, b: int = 2, *, c: int = 3) -> int:
    """Add three numbers."""
    return a + b + c


def plain_add(a: int, b: int = 2, *, c: int = 3) -> int:
    """Add three numbers."""
    return a + b + c


def test_calls_are_scopes_named_by_module_and_qualified_name(capture: Path) -> None:
    assert add(1) == 6
    assert add(1, 1, c=1) == 3
    kymo.stop_capture()
    name = f"{__name__}.add"
    assert sites_of(capture) == {name: 2}
    assert places_of(capture)[name] == (__file__, add.__code__.co_firstlineno)


def test_a_profiled_function_looks_like_the_function() -> None:
    assert (add.__name__, add.__qualname__, add.__module__) == ("add", "add", __name__)
    assert add.__doc__ == "Add three numbers."
    assert inspect.signature(add) == inspect.signature(plain_add)
    assert inspect.getsource(add.__wrapped__).startswith("@kymo.profile")
    assert inspect.unwrap(add) is add.__wrapped__
    assert add.__defaults__ == (2,)
    assert callable(add)
    add.calls = 3
    assert add.__wrapped__.calls == add.calls == 3
    assert pickle.loads(pickle.dumps(add)) is add
    assert copy.deepcopy(add) is add
    assert weakref.ref(add)() is add
    assert "add" in repr(add)
    with pytest.raises(AttributeError, match="nothing"):
        _ = add.nothing
    with pytest.raises(TypeError, match="missing 1 required positional argument: 'a'"):
        add()


class Model:
    """Every way in which a class holds functions."""

    def __init__(self, factor: int) -> None:
        self.factor = factor

    @kymo.profile
    def forward(self, x: int) -> int:
        return self.factor * x

    @kymo.profile
    @staticmethod
    def inner_static(x: int) -> int:
        return x

    @staticmethod
    @kymo.profile
    def outer_static(x: int) -> int:
        return x

    @kymo.profile
    @classmethod
    def make(cls, factor: int) -> Model:
        return cls(factor)

    @kymo.profile
    @property
    def doubled(self) -> int:
        """Twice the factor."""
        return 2 * self.factor


def test_methods_bind_as_ever(capture: Path) -> None:
    model = Model.make(3)
    assert model.forward(2) == Model.forward(model, 2) == 6
    bound = model.forward
    assert isinstance(bound, types.MethodType)
    assert bound(2) == 6
    assert Model.inner_static(1) == model.inner_static(1) == model.outer_static(1) == 1
    assert model.doubled == 6
    assert Model.doubled.__doc__ == "Twice the factor."
    kymo.stop_capture()
    name = f"{__name__}.Model."
    assert sites_of(capture) == {
        f"{name}forward": 3,
        f"{name}inner_static": 2,
        f"{name}outer_static": 1,
        f"{name}make": 1,
        f"{name}doubled": 1,
    }


def test_methods_that_a_class_binds_by_their_name_stay_what_they_are(capture: Path) -> None:
    class Base:
        made: ClassVar[list[Any]] = []

        @kymo.profile
        def __init_subclass__(cls, **options: Any) -> None:
            cls.made.append((cls.__name__, options))

        @kymo.profile
        def __class_getitem__(cls, item: Any) -> Any:
            return cls, item

        @kymo.profile
        def __new__(cls, *arguments: Any) -> Any:
            made = super().__new__(cls)
            made.made = [*arguments]
            return made

    class Derived(Base, key=7):
        @kymo.profile
        def __init_subclass__(cls, **options: Any) -> None:
            super().__init_subclass__(**options)

        @kymo.profile
        def __new__(cls, *arguments: Any) -> Any:
            return super().__new__(cls, "derived", *arguments)

    class Last(Derived, key=8):
        pass

    assert Base.made == [("Derived", {"key": 7}), ("Last", {"key": 8})]
    assert Base[int] == (Base, int)
    assert Last["x"] == (Last, "x")
    last = Last(1, 2)
    assert last.made == ["derived", 1, 2]
    assert type(last.__new__(Last, 3)) is Last
    assert [type(vars(Base)[name]) for name in ("__init_subclass__", "__class_getitem__", "__new__")] == [
        classmethod,
        classmethod,
        staticmethod,
    ]
    kymo.stop_capture()
    counts = {name.rpartition("<locals>.")[2]: count for name, count in sites_of(capture).items()}
    assert counts == {
        "Base.__init_subclass__": 2,
        "Derived.__init_subclass__": 1,
        "Base.__class_getitem__": 2,
        "Base.__new__": 2,
        "Derived.__new__": 2,
    }


def test_names_and_arguments_can_be_given(capture: Path) -> None:
    @kymo.profile(name="my step", layer=3, kind="conv")
    def step() -> int:
        return 1

    assert step() == 1
    assert kymo.profile(len, name="length")("abc") == 3
    assert kymo.profile(functools.partial(add, 1))() == 6
    kymo.stop_capture()
    rows = {row["name"]: row["arguments"] for row in rows_of(capture, "spans")}
    assert rows["my step"] == '{"layer":3,"kind":"conv"}'
    assert rows["length"] == ""
    with pytest.raises(TypeError, match="profile_all is for classes"):
        kymo.profile(Model)
    with pytest.raises(TypeError, match="not int"):
        kymo.profile(3)  # type: ignore[call-overload]
    with pytest.raises(TypeError, match="at most 8"):
        kymo.profile(**{f"a{i}": i for i in range(9)})(add.__wrapped__)


def test_whole_classes_are_profiled_but_for_what_is_skipped(capture: Path) -> None:
    @kymo.profile_all
    class Engine:
        limit = 3

        def __init__(self) -> None:
            self.runs = 0

        def run(self) -> int:
            self.runs += 1
            return self.helper() + self.fixed(1) + self.size

        @kymo.skip
        def helper(self) -> int:
            return 1

        @staticmethod
        def fixed(x: int) -> int:
            return x

        @kymo.skip
        @staticmethod
        def untouched() -> int:
            return 1

        @property
        def size(self) -> int:
            return self.limit

        @size.setter
        def size(self, value: int) -> None:
            self.limit = value

    engine = Engine()
    assert engine.run() == 5
    engine.size = 4
    assert engine.untouched() == 1
    kymo.stop_capture()
    prefix = Engine.__qualname__
    sites = {name.removeprefix(f"{__name__}.{prefix}."): count for name, count in sites_of(capture).items()}
    assert sites == {"__init__": 1, "run": 1, "fixed": 1, "size": 2}
    with pytest.raises(TypeError, match="for classes"):
        kymo.profile_all(add)  # type: ignore[call-overload]


class Kept(property):
    """As other packages cache what a property returns."""

    def __get__(self, instance: Any, owner: type | None = None) -> Any:
        assert self.fget is not None
        return self if instance is None else instance.__dict__.setdefault("kept", self.fget(instance))


class Noted(classmethod):
    """A class method whose constructor takes more."""

    def __init__(self, function: Any, note: str) -> None:
        super().__init__(function)
        self.note = note


def test_descriptors_that_do_more_stay_what_they_are(capture: Path) -> None:
    @kymo.profile_all
    class Model:
        size = Kept(lambda self: object())
        build = Noted(lambda cls: cls(), "as before")
        parse = staticmethod(int)

        def run(self) -> int:
            return self.parse("3")

    model = Model.build()
    assert model.size is model.size
    assert vars(Model)["build"].note == "as before"
    assert model.run() == 3
    for member in (Model.size, vars(Model)["build"]):
        with pytest.raises(TypeError, match=f"not {type(member).__name__}; put it on the function within"):
            kymo.profile(member)
    kymo.stop_capture()
    assert sites_of(capture) == {f"{__name__}.{Model.run.__qualname__}": 1}


@kymo.profile
def count_to(limit: int) -> collections.abc.Generator[int, str, str]:
    received = []
    for number in range(limit):
        try:
            received.append((yield number) or ".")
        except KeyError:
            received.append("K")
    return "".join(received)


def test_each_resumption_of_a_generator_is_a_scope(capture: Path) -> None:
    steps = count_to(3)
    assert isinstance(steps, collections.abc.Generator)
    assert next(steps) == 0
    with kymo.scope("between"):
        assert steps.send("x") == 1
        assert steps.throw(KeyError) == 2
    with pytest.raises(StopIteration) as stopped:
        next(steps)
    assert stopped.value.value == "xK."
    assert list(count_to(2)) == [0, 1]

    def delegate() -> collections.abc.Generator[int, str, str]:
        return (yield from count_to(1))

    delegating = delegate()
    next(delegating)
    with pytest.raises(StopIteration, match=r"\."):
        next(delegating)
    unfinished = count_to(5)
    next(unfinished)
    unfinished.close()
    del unfinished
    assert inspect.getgeneratorstate(count_to(1)) == inspect.GEN_CREATED
    kymo.stop_capture()
    assert sites_of(capture) == {f"{__name__}.count_to": 4 + 3 + 2 + 2, "between": 1}


def test_context_managers_can_be_made_of_profiled_generators(capture: Path) -> None:
    @contextlib.contextmanager
    @kymo.profile(name="managed")
    def manage() -> collections.abc.Iterator[int]:
        try:
            yield 1
        except KeyError:
            yield_nothing = True
            assert yield_nothing

    with manage() as value:
        assert value == 1
    with manage():
        raise KeyError
    kymo.stop_capture()
    assert sites_of(capture) == {"managed": 4}


@kymo.profile(name="wait")
async def wait(event: asyncio.Event, result: int) -> int:
    await event.wait()
    return result


@kymo.profile(name="produce")
async def produce(limit: int) -> collections.abc.AsyncGenerator[int, None]:
    for number in range(limit):
        await asyncio.sleep(0)
        yield number


def test_coroutines_are_recorded_once_a_call(capture: Path) -> None:
    async def main() -> list[int]:
        event = asyncio.Event()
        tasks = [asyncio.create_task(wait(event, number)) for number in range(3)]
        await asyncio.sleep(0)
        with kymo.scope("meanwhile"):
            pass
        event.set()
        return [*await asyncio.gather(*tasks), await wait(event, 3), *[number async for number in produce(2)]]

    assert inspect.iscoroutinefunction(wait)
    assert inspect.isasyncgenfunction(produce)
    coroutine = wait(asyncio.Event(), 1)
    assert isinstance(coroutine, collections.abc.Coroutine)
    coroutine.close()
    assert isinstance(produce(1), collections.abc.AsyncGenerator)
    assert asyncio.run(main()) == [0, 1, 2, 3, 0, 1]
    kymo.stop_capture()
    sites = sites_of(capture)
    assert sites["wait"] == 1 + 3
    assert sites["produce"] == 2 + 1
    assert sites["meanwhile"] == 1


def test_coroutines_without_a_loop_are_recorded_while_they_run(capture: Path) -> None:
    class Pause:
        def __await__(self) -> collections.abc.Iterator[None]:
            yield

    @kymo.profile(name="by hand")
    async def pausing(pauses: int) -> None:
        for _ in range(pauses):
            await Pause()

    coroutine = pausing(3)
    for _ in range(3):
        coroutine.send(None)
        with kymo.scope("meanwhile"):
            pass
    with pytest.raises(StopIteration):
        coroutine.send(None)
    kymo.stop_capture()
    assert sites_of(capture) == {"by hand": 4, "meanwhile": 3}
    assert all(int(row["depth"]) == 0 for row in rows_of(capture, "spans"))


def test_exceptions_cancellation_and_context_pass_through_coroutines() -> None:
    @kymo.profile
    async def fail() -> None:
        await asyncio.sleep(0)
        raise KeyError("x")

    @kymo.profile
    async def sleep() -> str:
        try:
            await asyncio.sleep(100)
        except asyncio.CancelledError:
            return "cancelled"
        return "slept"

    async def main() -> str:
        with pytest.raises(KeyError):
            await fail()
        task = asyncio.create_task(sleep())
        await asyncio.sleep(0)
        task.cancel()
        return await task

    assert asyncio.run(main()) == "cancelled"


def test_tracebacks_are_as_without_kymo(capture: Path) -> None:
    def fail() -> None:
        raise ValueError("no")

    for function in (fail, kymo.profile(fail)):
        with pytest.raises(ValueError, match="no") as raised:
            function()
        frames = [frame.name for frame in traceback.extract_tb(raised.value.__traceback__)]
        assert frames[-1] == "fail"
        assert len(frames) == 2
    kymo.stop_capture()


def test_what_profiled_functions_return_has_the_interfaces_of_collections() -> None:
    @kymo.profile
    async def wait() -> None:
        pass

    @kymo.profile
    async def items() -> collections.abc.AsyncIterator[int]:
        yield 1

    coroutine = wait()
    assert inspect.isgeneratorfunction(count_to)
    assert inspect.iscoroutinefunction(wait)
    assert inspect.isasyncgenfunction(items)
    assert isinstance(count_to(1), collections.abc.Generator)
    assert isinstance(coroutine, collections.abc.Coroutine)
    assert inspect.isawaitable(coroutine)
    assert asyncio.iscoroutine(coroutine)
    assert isinstance(items(), collections.abc.AsyncGenerator)
    coroutine.close()


def test_recursion_ends_at_the_limit_and_every_scope_is_closed(capture: Path) -> None:
    depth = 0

    @kymo.profile(name="recurse")
    def recurse() -> None:
        nonlocal depth
        depth += 1
        recurse()

    with pytest.raises(RecursionError):
        recurse()
    kymo.stop_capture()
    assert sites_of(capture)["recurse"] in (depth, depth + 1)
    assert all(row["marks"] == "" for row in rows_of(capture, "spans"))


def test_functions_and_generators_are_collected_in_cycles() -> None:
    def make() -> weakref.ref[object]:
        @kymo.profile
        def cyclic() -> collections.abc.Iterator[object]:
            yield cyclic, generator

        generator = cyclic()
        next(generator)
        return weakref.ref(cyclic)

    found = make()
    gc.collect()
    assert found() is None


def test_a_function_may_delete_its_module_and_itself(run_script: Run, tmp_path: Path) -> None:
    (tmp_path / "gone.py").write_text(
        "import kymograph as kymo, sys\n"
        "@kymo.profile\n"
        "def vanish():\n"
        "    del sys.modules['gone']\n"
        "    globals().clear()\n"
        "    return 5\n"
    )
    run_script("""
        import gc, kymograph as kymo
        kymo.start_capture("run.kymo")
        import gone
        vanish = gone.vanish
        del gone
        assert vanish() == 5
        del vanish
        gc.collect()
    """)
    assert sites_of(tmp_path / "run.kymo") == {"gone.vanish": 1}


def test_types_are_kept(tmp_path: Path) -> None:
    pytest.importorskip("mypy")
    (tmp_path / "typed.py").write_text(
        "import kymograph as kymo\n"
        "@kymo.profile\n"
        "def f(x: int) -> str: return str(x)\n"
        "@kymo.profile(name='g', layer=1)\n"
        "def g(x: int) -> str: return str(x)\n"
        "@kymo.profile_all\n"
        "class C:\n"
        "    def h(self, x: int) -> str: return str(x)\n"
        "reveal_type(f(1))\n"
        "reveal_type(g)\n"
        "reveal_type(C().h(1))\n"
        "with kymo.scope('x', batch=1) as s: reveal_type(s)\n"
        "f('no')\n"
    )
    package = Path(kymo.__file__).parent.parent
    done = subprocess.run(
        [sys.executable, "-m", "mypy", "--strict", "--cache-dir", str(tmp_path / "cache"), "typed.py"],
        cwd=tmp_path,
        env={"MYPYPATH": str(package), "PATH": ""},
        capture_output=True,
        text=True,
        check=False,
    )
    # An installed package's own lines are not looked at.
    notes = [line.partition(": ")[2] for line in done.stdout.splitlines() if line.startswith("typed.py")]
    assert notes[:4] == [
        'note: Revealed type is "str"',
        'note: Revealed type is "def (x: int) -> str"',
        'note: Revealed type is "str"',
        'note: Revealed type is "kymograph._record.scope"',
    ], done.stdout
    assert "incompatible type" in notes[4]


def test_deep_nesting_is_recorded_whole(capture: Path) -> None:
    def nest(levels: int) -> None:
        with kymo.scope("level", left=levels):
            if levels > 1:
                nest(levels - 1)

    def nest_with_stack() -> None:
        with contextlib.ExitStack() as stack:
            for _ in range(3000):
                stack.enter_context(kymo.scope("entered"))

    limit = sys.getrecursionlimit()
    sys.setrecursionlimit(5000)
    try:
        for _ in range(10):
            nest(1500)
            nest_with_stack()
    finally:
        sys.setrecursionlimit(limit)
    kymo.stop_capture()
    assert sites_of(capture) == {"level": 15000, "entered": 30000}
    spans = kymo.open(capture).spans
    assert not spans.flags.any()
    assert all("left" in arguments for arguments in spans.select(name="level").arguments)
