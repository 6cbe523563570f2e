"""The ``kymo`` command of the package."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from typing import NoReturn

from kymograph import _control
from kymograph._paths import get_command


def become_command(arguments: Sequence[str]) -> NoReturn:
    """Execute the command in place of this process, which may have joined a recording when it imported the package."""
    _control.end_process()
    os.execv(get_command(), ["kymo", *arguments])


def main() -> NoReturn:
    """Execute the command with the arguments of this process."""
    become_command(sys.argv[1:])
