"""The tutorial and the how-to pages as a reader follows them: documents_test.py SOURCE PREFIX PYTHON

Writes down their programs, runs every shell command in one folder and in order, with the kymo that is installed below
PREFIX, and the Python package in the folder PYTHON; without that, its commands are left out. A command that fails fails
the test.
"""

import os
import pathlib
import re
import subprocess
import sys
import tempfile

BLOCK = re.compile(r'^```(cpp|py|sh)(?: title="([\w.]+)")?\n(.*?)^```$', re.DOTALL | re.MULTILINE)


def run_as_user(
    command: str, folder: pathlib.Path, prefix: pathlib.Path, python: pathlib.Path
) -> "subprocess.CompletedProcess[str]":
    """Run a shell command as somebody does who has the installed kymo and the Python package."""
    (pc_file,) = prefix.rglob("kymo.pc")
    environment = {name: value for name, value in os.environ.items() if not name.startswith("KYMO_")}
    environment |= {
        "PATH": f"{prefix / 'bin'}:{os.environ['PATH']}",
        "PKG_CONFIG_PATH": str(pc_file.parent),
        "LD_LIBRARY_PATH": str(pc_file.parents[1]),
        "PYTHONPATH": str(python),
    }
    return subprocess.run(
        ["bash", "-euo", "pipefail", "-c", command],
        cwd=folder,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )


def main() -> int:
    source, prefix, python = map(pathlib.Path, sys.argv[1:4])
    has_python = (python / "kymograph").is_dir()
    commands = 0
    with tempfile.TemporaryDirectory() as folder:
        for page in ("tutorial.md", "how-to.md"):
            for kind, name, text in BLOCK.findall((source / "docs" / page).read_text()):
                if kind != "sh":
                    (pathlib.Path(folder) / (name or "orders.cpp")).write_text(text)
                    continue
                if "train.py" in text and not has_python:
                    continue
                # The one that the package was built for.
                command = text.replace("python3 ", f"{sys.executable} ")
                commands += 1
                result = run_as_user(command, pathlib.Path(folder), prefix, python)
                if result.returncode != 0:
                    print(f"{page}: this ended with {result.returncode}:\n{command}\n{result.stdout}{result.stderr}")
                    return 1
    print(f"{commands} commands")
    return 0 if commands > 10 else 1


if __name__ == "__main__":
    sys.exit(main())
