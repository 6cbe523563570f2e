"""``@kymo.profile``, ``@kymo.profile_all`` and ``@kymo.skip``."""

from __future__ import annotations

from collections.abc import Callable
from types import FunctionType
from typing import Any, ParamSpec, TypeVar, overload

from kymograph._record import profiled

P = ParamSpec("P")
R = TypeVar("R")
T = TypeVar("T")
C = TypeVar("C", bound=type)

_SKIPPED = "__kymo_skip__"


@overload
def profile(
    function: Callable[P, R], /, *, name: str | None = None, **arguments: int | float | bool | str
) -> Callable[P, R]: ...


@overload
def profile(
    *, name: str | None = None, **arguments: int | float | bool | str
) -> Callable[[Callable[P, R]], Callable[P, R]]: ...


def profile(function: Any = None, /, *, name: str | None = None, **arguments: int | float | bool | str) -> Any:
    """
    Record each call of a function as a scope named ``module.qualname``.

    Use it without arguments, ``@kymo.profile``, or with arguments, ``@kymo.profile(name="step", layer=3)``. Functions,
    methods, static and class methods (on either side of their decorator) and properties keep their kind, signature,
    attributes, pickling and tracebacks.

    In a task of asyncio, each call of a coroutine and each item of an async generator is one scope; the scope "await"
    within it is the time that it waited. For generators, and for coroutines outside of tasks, each resumption is a
    scope, up to the next ``yield`` or up to an ``await`` that has to wait.

    Parameters
    ----------
    function : callable
        The function to record.
    name : str, optional
        Replaces ``module.qualname``.
    **arguments : int, float, bool or str
        Recorded with each scope, at most 8.

    Returns
    -------
    callable
        The function, recorded.

    Raises
    ------
    TypeError
        It is a class (use `profile_all`), not callable, or a descriptor of another kind, such as a cached property:
        decorate the function within.

    Notes
    -----
    A call costs about 25 ns more while scopes are recorded, 10 ns while they are not.
    """
    if function is None:
        return lambda decorated: _wrap(decorated, name, arguments)
    return _wrap(function, name, arguments)


@overload
def profile_all(cls: C, /) -> C: ...


@overload
def profile_all() -> Callable[[C], C]: ...


def profile_all(cls: Any = None, /) -> Any:
    """
    Record the calls of all functions that a class itself defines.

    Covers methods, static and class methods and properties, like `profile`; `skip` excludes one. Base classes, nested
    classes and other descriptors, such as cached properties, are not affected.

    Parameters
    ----------
    cls : type
        The class, which is modified in place.

    Returns
    -------
    type
        The class.
    """
    if cls is None:
        return profile_all
    if not isinstance(cls, type):
        raise TypeError(f"profile_all is for classes, not {type(cls).__name__}; profile is for functions")
    for name, member in list(vars(cls).items()):
        if isinstance(member, FunctionType | staticmethod | classmethod | property) and not _is_skipped(member):
            try:
                wrapped = _wrap(member, None, {})
            except TypeError:
                continue
            setattr(cls, name, wrapped)
    return cls


def skip(function: T, /) -> T:
    """
    Exclude a function from `profile_all`.

    Parameters
    ----------
    function : callable
        A function, method, property, static or class method of the class.

    Returns
    -------
    callable
        The same object.
    """
    for part in _parts(function):
        setattr(part, _SKIPPED, True)
    return function


def _parts(member: Any) -> list[Any]:
    if isinstance(member, staticmethod | classmethod):
        return [member.__func__]
    if isinstance(member, property):
        return [part for part in _accessors(member) if part is not None]
    return [member]


def _accessors(member: property) -> tuple[Any, Any, Any]:
    return member.fget, member.fset, member.fdel


def _is_skipped(member: Any) -> bool:
    return any(getattr(part, _SKIPPED, False) for part in _parts(member))


def _wrap(function: Any, name: str | None, arguments: dict[str, Any]) -> Any:
    kind = type(function)
    if kind in (staticmethod, classmethod):
        return kind(_wrap(function.__func__, name, arguments))
    if kind is property:
        get, put, delete = (part and _wrap(part, name, arguments) for part in _accessors(function))
        return property(get, put, delete, function.__doc__)
    if isinstance(function, staticmethod | classmethod | property):
        raise TypeError(f"profile is for functions, not {kind.__name__}; put it on the function within")
    if isinstance(function, type):
        raise TypeError(f"profile is for functions; profile_all is for classes like {function.__name__}")
    return function if isinstance(function, profiled) else profiled(function, name, arguments)
