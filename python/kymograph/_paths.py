"""Paths of the package's headers, library and command."""

from __future__ import annotations

from pathlib import Path

_PACKAGE = Path(__file__).parent.absolute()


def get_include() -> str:
    """
    Return the folder for a C or C++ compiler's include path.

    Returns
    -------
    str
        An absolute path; ``#include <kymo/kymo.hpp>`` is found below it.
    """
    return str(_PACKAGE / "include")


def get_library() -> str:
    """
    Return the library to link a C or C++ extension with.

    An extension linked with it records through the same recorder and into the same capture as the process that loads
    it, if the process has imported ``kymograph``.

    Returns
    -------
    str
        The absolute path of ``libkymo.so.N``.

    Raises
    ------
    FileNotFoundError
        The package is incomplete.
    """
    found = sorted((_PACKAGE / "lib").glob("libkymo.so.*"))
    if not found:
        raise FileNotFoundError(f"{_PACKAGE / 'lib'} holds no libkymo.so: install the package kymograph anew")
    return str(found[0])


def get_page() -> Path:
    """
    Return the folder of the page that shows captures, as ``kymo serve`` finds it.

    Returns
    -------
    Path
        It has index.html and what that needs.

    Raises
    ------
    FileNotFoundError
        The package was built without it.
    """
    folder = Path(get_command()).resolve().parent
    for candidate in (folder / "../share/kymo/web", folder / "../../web"):
        if (candidate / "index.html").is_file():
            return candidate.resolve()
    raise FileNotFoundError("this package was built without the page that shows captures: install a wheel of kymograph")


def get_command() -> str:
    """
    Return the absolute path of the package's ``kymo`` command.

    Returns
    -------
    str
        The path of an executable file.
    """
    return str(_PACKAGE / "bin" / "kymo")
