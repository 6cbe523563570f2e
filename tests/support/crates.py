"""Builds and runs the Rust programs of tests/peers/crates, whose crates Cargo takes from their registry."""

from __future__ import annotations

import os
import shutil
import subprocess
import unittest
from pathlib import Path

PROJECT = Path(__file__).resolve().parents[1] / "peers" / "crates"


def run(program: str, build: Path, *arguments: str, given: str = "") -> str:
    """Return what a program prints when given a text; skip the test where there is no Rust or no registry."""
    cargo = shutil.which("cargo")
    if cargo is None:
        raise unittest.SkipTest("there is no cargo")
    # Cargo writes beside its project.
    copy = build / "project"
    shutil.copytree(PROJECT, copy, dirs_exist_ok=True)
    command = [
        cargo,
        "run",
        "--quiet",
        "--bin",
        program,
        "--manifest-path",
        str(copy / "Cargo.toml"),
        "--",
        *arguments,
    ]
    finished = subprocess.run(
        command,
        env={**os.environ, "CARGO_TARGET_DIR": str(build), "CARGO_NET_RETRY": "0"},
        input=given,
        capture_output=True,
        text=True,
        timeout=280,
        check=False,
    )
    if finished.returncode != 0 and ("failed to download" in finished.stderr or "failed to get" in finished.stderr):
        raise unittest.SkipTest("the registry of Rust cannot be reached")
    if finished.returncode != 0:
        raise AssertionError(finished.stderr)
    return finished.stdout
