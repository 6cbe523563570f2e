"""What kymo adds to a program's size, its start and the compilation of a file. Used by run.py.

Size: a program that records a scope, linked with an archive of the recorder as users link theirs (unused sections left
out), stripped, less the same program without kymo. Compile time: the CPU time the compiler takes for a file that only
includes kymo/kymo.hpp, less that for an empty file; CPU time, so that what else the machine does is not in it. Start:
the wall time that the starting thread waits.
"""

import os
import pathlib
import resource
import statistics
import subprocess
import tempfile
import time

REPETITIONS = 11

EMPTY_PROGRAM = "int main() { return 0; }\n"
RECORDING_PROGRAM = """#include <kymo/kymo.hpp>
int main() {
  kymo::enable();
  KYMO_SCOPE("main", {"answer", 42});
  kymo::frame_mark();
  kymo::record_metric("metric", 1.0);
  return 0;
}
"""


def run(command):
    """Run a command and return the CPU seconds it took."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(command, check=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def write(folder, name, text):
    path = os.path.join(folder, name)
    with open(path, "w", encoding="utf-8") as file:
        file.write(text)
    return path


# Prints how many milliseconds a start takes, and the first event of a forked child.
STARTING_PROGRAM = """#include <kymo/kymo.hpp>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <sys/wait.h>
#include <unistd.h>
template <typename Call>
void print_cost(Call&& call) {
  const auto before = std::chrono::steady_clock::now();
  call();
  std::printf("%f ", std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - before).count());
  std::fflush(stdout);
}
int main() {
  print_cost([] { kymo::enable(); });
  { KYMO_SCOPE("first"); }
  if (fork() == 0) {
    print_cost([] { KYMO_SCOPE("first of the child"); });
    std::exit(0);
  }
  wait(nullptr);
}
"""

# A function with one scope around a call that may throw, and without.
SITE = """#include <kymo/kymo.hpp>
void body();
void function();
void function() {
%s  body();
}
"""


def stripped_size(path, folder):
    copy = os.path.join(folder, "stripped")
    run(["strip", "-o", copy, path])
    return os.path.getsize(copy)


def lz4_archive():
    """liblz4 as an archive where the system has it: users who link kymo statically need it in their program too."""
    folder = subprocess.run(["pkg-config", "--variable=libdir", "liblz4"], check=True, capture_output=True, text=True)
    path = os.path.join(folder.stdout.strip(), "liblz4.a")
    return path if os.path.exists(path) else "-llz4"


def measure_size(built, folder):
    common = [built["cxx"], "-std=c++17", "-O2", "-ffunction-sections", "-fdata-sections", "-Wl,--gc-sections"]
    plain = os.path.join(folder, "plain")
    recording = os.path.join(folder, "recording")
    run([*common, write(folder, "plain.cpp", EMPTY_PROGRAM), "-o", plain])
    run(
        [
            *common,
            "-DKYMO_STATIC",
            "-I",
            built["include"],
            write(folder, "recording.cpp", RECORDING_PROGRAM),
            built["archive"],
            lz4_archive(),
            "-ldl",
            "-pthread",
            "-o",
            recording,
        ]
    )
    return {
        "added_kb": [(stripped_size(recording, folder) - stripped_size(plain, folder)) / 1e3],
        "library_kb": [stripped_size(os.path.realpath(built["library"]), folder) / 1e3],
    }


def code_sizes(built, folder, scope):
    """Bytes of code of the function, and those of it that lie apart since they are rarely run."""
    output = os.path.join(folder, "site.o")
    source = write(folder, "site.cpp", SITE % scope)
    run([built["cxx"], "-std=c++17", "-O2", "-I", built["include"], "-c", source, "-o", output])
    lines = subprocess.run(["size", "-A", output], check=True, capture_output=True, text=True).stdout.splitlines()
    sections = {
        fields[0]: int(fields[1]) for fields in map(str.split, lines) if len(fields) == 3 and fields[1].isdigit()
    }
    return sections.get(".text", 0), sections.get(".text.unlikely", 0)


def measure_site(built, folder):
    hot, cold = code_sizes(built, folder, '  KYMO_SCOPE("scope");\n')
    plain_hot, plain_cold = code_sizes(built, folder, "")
    return {"bytes": [hot - plain_hot], "cold_bytes": [cold - plain_cold]}


def measure_compilation(built, folder):
    output = os.path.join(folder, "unit.o")
    empty = write(folder, "empty.cpp", "\n")
    including = write(folder, "including.cpp", "#include <kymo/kymo.hpp>\n")

    def compile_ms(source, standard):
        return 1e3 * run(
            [built["cxx"], f"-std=c++{standard}", "-O2", "-I", built["include"], "-c", source, "-o", output]
        )

    compile_ms(including, 17)
    times = {}
    for _ in range(REPETITIONS):
        for standard, suffix in (17, ""), (20, "_cxx20"):
            for source, name in (empty, "empty"), (including, "added"):
                times.setdefault(f"{name}{suffix}_ms", []).append(compile_ms(source, standard))
    for suffix in "", "_cxx20":
        floor_ms = statistics.median(times[f"empty{suffix}_ms"])
        times[f"added{suffix}_ms"] = [time_ms - floor_ms for time_ms in times[f"added{suffix}_ms"]]
    return times


def measure_start(built, folder):
    """With sampling and without; a pool of 64 MB: the cost must not depend on its size."""
    program = os.path.join(folder, "starting")
    library = os.path.dirname(built["library"])
    run(
        [
            built["cxx"],
            "-std=c++17",
            "-O2",
            "-I",
            built["include"],
            write(folder, "starting.cpp", STARTING_PROGRAM),
            "-o",
            program,
            "-L",
            library,
            "-lkymo",
            f"-Wl,-rpath,{library}",
        ]
    )
    variables = os.environ | {"KYMO_RECORD": os.path.join(folder, "start.kymo"), "KYMO_BUFFER": "64MB"}
    times = {}
    for _ in range(REPETITIONS):
        for suffix, sampling in ("_ms", {}), ("_unsampled_ms", {"KYMO_SAMPLE": "0"}):
            # Who observes threads first after a second of rest waits for the kernel.
            time.sleep(1.2)
            done = subprocess.run([program], check=True, capture_output=True, text=True, env=variables | sampling)
            for name, time_ms in zip(("enable", "child"), map(float, done.stdout.split()), strict=True):
                times.setdefault(name + suffix, []).append(time_ms)
            for capture in pathlib.Path(folder).glob("*.kymo"):
                capture.unlink()
    return times


def measure(built):
    """Return {figure: {counter: [value of each repetition]}}, as run.py takes from the other benchmarks."""
    with tempfile.TemporaryDirectory(prefix="kymo-bench-") as folder:
        return {
            "size": measure_size(built, folder),
            "site": measure_site(built, folder),
            "start": measure_start(built, folder),
            "compile": measure_compilation(built, folder),
        }
