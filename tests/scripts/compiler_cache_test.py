"""The compiler's cache gives no precompiled header that was made from other files."""

import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest

PROJECT = pathlib.Path(__file__).resolve().parents[2]

BUILD = f"""
cmake_minimum_required(VERSION 3.22)
project(cached CXX)
include("{PROJECT}/cmake/KymoTopLevel.cmake")
add_executable(program main.cpp)
target_include_directories(program PRIVATE "${{CMAKE_SOURCE_DIR}}")
target_compile_options(program PRIVATE
  $<$<CXX_COMPILER_ID:GNU>:-fpch-preprocess> "$<$<CXX_COMPILER_ID:Clang>:SHELL:-Xclang -fno-pch-timestamp>")
target_precompile_headers(program PRIVATE "${{CMAKE_SOURCE_DIR}}/header.hpp")
"""


class CompilerCacheTest(unittest.TestCase):
    def test_a_comment_that_changed_makes_another_precompiled_header(self) -> None:
        for compiler in filter(shutil.which, ("g++", "clang++")):
            with self.subTest(compiler), tempfile.TemporaryDirectory() as folder:
                source = pathlib.Path(folder)
                (source / "CMakeLists.txt").write_text(BUILD)
                for word in ("one", "another"):
                    (source / "header.hpp").write_text(f"#pragma once\nconstexpr int value = 0;  // {word}\n")
                    (source / "main.cpp").write_text(
                        f'#include "header.hpp"\nint {word};\nint main() {{ return value; }}\n'
                    )
                    self.build(source, compiler)

    def build(self, source: pathlib.Path, compiler: str) -> None:
        build = source / "build"
        shutil.rmtree(build, ignore_errors=True)
        environment = {**os.environ, "CXX": compiler, "CCACHE_DIR": str(source / "cache")}
        for arguments in (["-G", "Ninja", "-S", str(source), "-B", str(build)], ["--build", str(build)]):
            result = subprocess.run(
                [sys.argv[1], *arguments], env=environment, capture_output=True, text=True, check=False
            )
            self.assertEqual(result.returncode, 0, result.stdout + result.stderr)


if __name__ == "__main__":
    if not shutil.which("ccache"):
        sys.exit(77)
    unittest.main(argv=sys.argv[:1])
