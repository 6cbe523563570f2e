"""``python -m kymograph``: the ``kymo`` command, and its subcommands that run in this interpreter."""

from __future__ import annotations

import sys

_ADDITION = """
With `python -m kymograph`, in this interpreter:
  record                          Records every function of a Python script, with no change to it
  mcp                             Offers captures to assistants (pip install 'kymograph[mcp]')
  sql                             Asks captures in SQL, through DuckDB (pip install 'kymograph[sql]')
"""


def main() -> None:
    """Run a subcommand that is written in Python, or execute the command."""
    subcommand = sys.argv[1] if len(sys.argv) > 1 else ""
    if subcommand in ("-h", "--help"):
        import subprocess  # noqa: PLC0415

        from kymograph._paths import get_command  # noqa: PLC0415

        shown = subprocess.run([get_command(), "--help"], stdout=subprocess.PIPE, text=True, check=True).stdout
        sys.stdout.write(shown + _ADDITION)
        return
    if subcommand == "record":
        from kymograph._record_command import main as record  # noqa: PLC0415

        record(sys.argv[2:])
        return
    if subcommand == "mcp":
        from kymograph._mcp import main as mcp  # noqa: PLC0415

        sys.exit(mcp(sys.argv[2:]))
    if subcommand == "sql":
        from kymograph._sql import main as sql  # noqa: PLC0415

        sys.exit(sql(sys.argv[2:]))
    from kymograph._command import main as command  # noqa: PLC0415

    command()


if __name__ == "__main__":
    main()
