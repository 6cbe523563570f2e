"""The ``kymo`` command of the package."""

from __future__ import annotations

import os
import sys
from typing import NoReturn

from kymograph._paths import get_command


def main() -> NoReturn:
    """Execute the command with the arguments of this process."""
    command = get_command()
    os.execv(command, ["kymo", *sys.argv[1:]])
