"""What scopes that also decorate functions share."""

from __future__ import annotations

import functools
from collections.abc import Callable
from contextlib import ContextDecorator
from typing import Any, TypeVar, cast

F = TypeVar("F", bound=Callable[..., Any])


class ScopeDecorator(ContextDecorator):
    """A context that decorates functions which run when they are called."""

    def __call__(self, func: F) -> F:
        """
        Return the function with a scope around each call.

        Raises
        ------
        TypeError
            It is a generator or asynchronous: a call only makes an object, and what runs later is not in the scope.
        """
        import inspect  # noqa: PLC0415

        inner: Any = getattr(func, "__func__", func)
        kinds = {
            "an asynchronous function": inspect.iscoroutinefunction,
            "an asynchronous generator": inspect.isasyncgenfunction,
            "a generator": inspect.isgeneratorfunction,
        }
        for kind, is_kind in kinds.items():
            if is_kind(inner):
                own = type(self).__name__
                name = getattr(inner, "__qualname__", repr(inner))
                raise TypeError(
                    f"{own} does not decorate {kind} like {name}, whose call ends before it runs; "
                    f"use `with kymo.{own}(...):` within it, or @kymo.profile for its times"
                )

        # Not the standard library's, which would be the place of the scope.
        @functools.wraps(func)
        def decorated(*args: Any, **kwargs: Any) -> Any:
            with self._recreate_cm():  # type: ignore[attr-defined]
                return func(*args, **kwargs)

        return cast(F, decorated)
