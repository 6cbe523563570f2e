"""``python -m kymograph record script.py``: records every Python function of a script, and the machine."""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
from typing import Any

from kymograph._command import become_command

_DESCRIPTION = """\
Runs a Python script as it is and records each of its functions, in all threads and in the processes that it forks or
spawns, and the machine's sensors meanwhile, into one capture. A script is what python takes: also a folder or a zipapp
with __main__.py, or - for the standard input."""

_EPILOG = """\
examples:
  python -m kymograph record train.py --steps 100
  python -m kymograph record -o run.kymo --min-us 10 -m package.tool input.json
  python -m kymograph record --include 'mymodule.*' --exclude '*.<genexpr>' script.py
  kymo stats run.kymo

Patterns fit names as `kymo stats` shows them, module.qualname; * is any text, ? one character. A generator is
recorded as it runs: each resumption is a scope. How many calls --min-us or --leaves-every left out is said at the end
and in the capture's facts, if the interpreter ends by itself: not after os._exit or SIGTERM. With --min-us, a few
short ones are recorded all the same, where a thread needs room for more. With --leaves-every 16, "name (1 in 16 calls)"
is what is recorded of name after its first 1,000 calls, if 95 % of these took less than a microsecond and called no
other function.
`python -m kymograph record -- COMMAND` records any command, as `kymo record` does."""


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m kymograph record",
        usage="python -m kymograph record [options] (SCRIPT | -m MODULE) [argument ...]",
        description=_DESCRIPTION,
        epilog=_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    parser.add_argument("-o", "--output", metavar="FILE", default="kymo.kymo", help="file to write (kymo.kymo)")
    parser.add_argument("-q", "--quiet", action="store_true", help="say nothing when all went well")
    parser.add_argument("--min-us", type=float, default=0.0, metavar="US", help="leave out shorter calls (0)")
    parser.add_argument("--include", action="append", default=[], metavar="PATTERN", help="record only these functions")
    parser.add_argument("--exclude", action="append", default=[], metavar="PATTERN", help="leave these functions out")
    parser.add_argument("--c-functions", action="store_true", help="record built-in functions too")
    parser.add_argument(
        "--leaves-every",
        type=int,
        default=1,
        metavar="N",
        help="of the calls of short functions that call no others, record one in N (1)",
    )
    parser.add_argument("--hz", metavar="FAST,MEDIUM,SLOW", help="sampling rates (100,10,1); 0 turns sampling off")
    parser.add_argument("--sensors", metavar="NAME,...", help="sensors to read, as `kymo doctor` lists them (all)")
    parser.add_argument("-m", dest="module", metavar="MODULE", help="run a module as a script")
    return parser


def _split(arguments: list[str]) -> tuple[list[str], list[str]]:
    """Return the part before the program's own arguments, including ``-m MODULE``, and the rest."""
    flags = {"--quiet", "--c-functions", "--help"}
    at = 0
    while at < len(arguments) and arguments[at].startswith("-") and arguments[at] != "-":
        option = arguments[at]
        if option.startswith("--"):
            at += 1 if option in flags or "=" in option else 2
            continue
        # Flags may share a dash with an option behind them, whose value may be attached: -qorun.kymo
        letters = option[1:].lstrip("qh")
        at += 2 if letters in {"o", "m"} else 1
        if letters.startswith("m"):
            break
    return arguments[:at], arguments[at:]


def _interpreter() -> list[str]:
    """Return a command that starts an interpreter with this one's options."""
    flags: list[str] = getattr(subprocess, "_args_from_interpreter_flags", list)()
    return [sys.executable, *flags]


def main(arguments: list[str]) -> None:
    """
    Execute ``kymo record`` on the script; does not return.

    Parameters
    ----------
    arguments : list of str
        The arguments after ``record`` on the command line.
    """
    if "--" in arguments and arguments[: arguments.index("--")] == _split(arguments)[0][: arguments.index("--")]:
        become_command(["record", *arguments])
    own, rest = _split(arguments)
    parser = _parser()
    options = parser.parse_args(own)
    if options.module is None and not rest:
        parser.error("a script, or -m and a module, is missing")
    if not 0 <= options.min_us < 1e12:
        parser.error("--min-us must be a number of microseconds, 0 or more")
    if not 1 <= options.leaves_every <= 1_000_000:
        parser.error("--leaves-every must be a number of calls, 1 to 1000000")
    if options.leaves_every > 1 and options.min_us > 0:
        parser.error("--leaves-every and --min-us exclude each other")
    tracing: dict[str, Any] = {
        "min_us": options.min_us,
        "include": options.include,
        "exclude": options.exclude,
        "c_functions": options.c_functions,
        "leaves_every": options.leaves_every,
        "quiet": options.quiet,
    }
    program = ["-m", options.module, *rest] if options.module is not None else rest
    record = ["record", "-o", options.output]
    record += ["-q"] if options.quiet else []
    record += ["--hz", options.hz] if options.hz is not None else []
    record += ["--sensors", options.sensors] if options.sensors is not None else []
    become_command([*record, "--", *_interpreter(), "-m", "kymograph._run", json.dumps(tracing), *program])
