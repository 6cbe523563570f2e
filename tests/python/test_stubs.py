"""The stubs of the extensions say what the extensions have."""

from __future__ import annotations

import os
import re
import subprocess
import sys

# nanobind makes functions and classes of types of its own; classes that nobody can make refuse any arguments.
WORDS_OF_NANOBIND = re.compile(
    r" is not a function$"
    r"| is a disjoint base at runtime, but isn't marked with @disjoint_base in the stub$"
    r"| is inconsistent, metaclass differs$"
    r'|\.__init__ is inconsistent, stub does not have \*args parameter "args"$'
)


def test_stubs_agree_with_the_extensions() -> None:
    environment = {**os.environ, "MYPYPATH": os.environ.get("PYTHONPATH", "")}
    done = subprocess.run(
        [sys.executable, "-m", "mypy.stubtest", "--concise", "kymograph._record", "kymograph._analysis"],
        check=False,
        capture_output=True,
        text=True,
        env=environment,
    )
    findings = [line for line in done.stdout.splitlines() if not WORDS_OF_NANOBIND.search(line)]
    assert done.stderr == ""
    assert findings == []
    assert done.returncode in (0, 1)
