"""Where the package keeps what other programs build with and run."""

from __future__ import annotations

from pathlib import Path

_PACKAGE = Path(__file__).parent.absolute()


def get_include() -> str:
    """
    Return the folder to put on a C or C++ compiler's include path.

    Returns
    -------
    str
        An absolute path; ``#include <kymo/kymo.hpp>`` is found below it.
    """
    return str(_PACKAGE / "include")


def get_library() -> str:
    """
    Return the file to link a C or C++ extension with.

    An extension that is linked with it and loaded into a process that has imported ``kymo`` records through the same
    recorder, into the same capture.

    Returns
    -------
    str
        The absolute path of ``libkymo.so.N``.

    Raises
    ------
    FileNotFoundError
        The package is not whole.
    """
    found = sorted((_PACKAGE / "lib").glob("libkymo.so.*"))
    if not found:
        raise FileNotFoundError(f"{_PACKAGE / 'lib'} holds no libkymo.so: install the package kymo anew")
    return str(found[0])


def get_command() -> str:
    """
    Return the absolute path of the ``kymo`` command that the package carries.

    Returns
    -------
    str
        A path that can be executed.
    """
    return str(_PACKAGE / "bin" / "kymo")
