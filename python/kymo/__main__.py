"""``python -m kymo``: the ``kymo`` command, and its subcommands that run in this interpreter."""

from __future__ import annotations

import sys

_ADDITION = """
With `python -m kymo`, in this interpreter:
  record                          Records every function of a Python script, with no change to it
  sql                             Asks captures in SQL, through DuckDB (pip install 'kymo[sql]')
"""


def main() -> None:
    """Run a subcommand that is written in Python, or execute the command."""
    subcommand = sys.argv[1] if len(sys.argv) > 1 else ""
    if subcommand in ("-h", "--help"):
        import subprocess  # noqa: PLC0415

        from kymo._paths import get_command  # noqa: PLC0415

        shown = subprocess.run([get_command(), "--help"], stdout=subprocess.PIPE, text=True, check=True).stdout
        sys.stdout.write(shown + _ADDITION)
        return
    if subcommand == "record":
        from kymo._record_command import main as record  # noqa: PLC0415

        record(sys.argv[2:])
        return
    if subcommand == "sql":
        from kymo._sql import main as sql  # noqa: PLC0415

        sys.exit(sql(sys.argv[2:]))
    from kymo._command import main as command  # noqa: PLC0415

    command()


if __name__ == "__main__":
    main()
