"""The metrics of NVIDIA GPUs beside what nvidia-smi says: nvidia_smi_test.py KYMO FOLDER

nvidia-smi is asked while kymo records. Each of its values lies among those that kymo read around that moment. PyTorch
makes the GPU work meanwhile, where it is installed. Ends with 77 where there is no GPU.
"""

import csv
import json
import math
import os
import pathlib
import shutil
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from typing import NamedTuple

SKIPPED = 77
ROUNDS = 24
#: Both sides may have read a value before or after it changed, and a slow tier reads once a second.
AROUND_NS = 1_500_000_000
MIB = 1 << 20


class Row(NamedTuple):
    """What nvidia-smi calls a metric, how its text becomes kymo's unit, and the step of its text in that unit."""

    query: str
    metric: str
    convert: Callable[[str], float]
    step: float


def of_mib(text: str) -> float:
    return float(text) * MIB


ROWS = [
    Row("power.draw.instant", "gpu_power", float, 0.01),
    Row("power.draw.average", "gpu_power_average", float, 0.01),
    Row("enforced.power.limit", "gpu_power_limit", float, 0.01),
    Row("temperature.gpu", "gpu_temp", float, 0),
    Row("temperature.memory", "gpu_mem_temp", float, 0),
    Row("memory.used", "gpu_mem", of_mib, MIB),
    Row("memory.total", "gpu_mem_total", of_mib, MIB),
    Row("utilization.gpu", "gpu_util", float, 0),
    Row("utilization.memory", "gpu_mem_util", float, 0),
    Row("utilization.encoder", "gpu_encoder", float, 0),
    Row("utilization.decoder", "gpu_decoder", float, 0),
    Row("clocks.sm", "gpu_clock", float, 0),
    Row("clocks.mem", "gpu_mem_clock", float, 0),
    Row("pstate", "gpu_pstate", lambda text: float(text[1:]), 0),
    Row("clocks_event_reasons.active", "gpu_throttle", lambda text: float(int(text, 16)), 0),
    Row("ecc.errors.corrected.volatile.total", "gpu_ecc_corrected", float, 0),
    Row("ecc.errors.uncorrected.volatile.total", "gpu_ecc_uncorrected", float, 0),
    Row("fan.speed", "gpu_fan", float, 0),
]


class Reading(NamedTuple):
    before_ns: int
    after_ns: int
    gpu: str
    values: list[str]


def work(is_over: threading.Event) -> None:
    """Keep the GPU busy in bursts, so that its metrics change."""
    try:
        import torch  # noqa: PLC0415
    except ImportError:
        return
    if not torch.cuda.is_available():
        return
    matrix = torch.randn(4096, 4096, device="cuda")
    while not is_over.is_set():
        end = time.monotonic() + 1
        while time.monotonic() < end:
            matrix @ matrix
            torch.cuda.synchronize()
        is_over.wait(1)


def ask(output: str) -> None:
    """Ask nvidia-smi again and again. This is the program that kymo records."""
    is_over = threading.Event()
    worker = threading.Thread(target=work, args=[is_over])
    worker.start()
    queries = ",".join(["index", *(row.query for row in ROWS)])
    readings: list[Reading] = []
    for _ in range(ROUNDS):
        before = time.monotonic_ns()
        answer = subprocess.run(
            ["nvidia-smi", f"--query-gpu={queries}", "--format=csv,noheader,nounits"],
            stdout=subprocess.PIPE,
            text=True,
            check=True,
        )
        after = time.monotonic_ns()
        for line in answer.stdout.splitlines():
            gpu, *values = (field.strip() for field in line.split(","))
            readings.append(Reading(before, after, gpu, values))
        time.sleep(0.25)
    is_over.set()
    worker.join()
    pathlib.Path(output).write_text(json.dumps(readings))


def samples_of(kymo: str, capture: pathlib.Path) -> dict[tuple[str, str], list[tuple[int, float]]]:
    """Return the samples of each GPU's metrics, by the metric and the GPU's number."""
    exported = subprocess.run(
        [kymo, "export", "--to", "csv-metrics", "-o", "-", capture], stdout=subprocess.PIPE, text=True, check=True
    )
    samples: dict[tuple[str, str], list[tuple[int, float]]] = {}
    for row in csv.DictReader(exported.stdout.splitlines()):
        labels = dict(label.split("=", 1) for label in row["labels"].split())
        if "gpu" in labels and "mig" not in labels and row["value"]:
            samples.setdefault((row["metric"], labels["gpu"]), []).append((int(row["time_ns"]), float(row["value"])))
    return samples


def check(readings: list[Reading], samples: dict[tuple[str, str], list[tuple[int, float]]]) -> list[str]:
    """Return what is wrong."""
    wrong = []
    for place, row in enumerate(ROWS):
        compared = differing = 0
        for reading in readings:
            text = reading.values[place]
            of_metric = samples.get((row.metric, reading.gpu), [])
            around = [
                value
                for at_ns, value in of_metric
                if reading.before_ns - AROUND_NS <= at_ns <= reading.after_ns + AROUND_NS and not math.isnan(value)
            ]
            if text.startswith("["):
                # "[N/A]": kymo must not have what NVIDIA's own tool cannot read.
                differing += bool(around)
                continue
            compared += 1
            differing += not around or not min(around) - row.step <= row.convert(text) <= max(around) + row.step
        print(f"{row.metric}: {compared} compared, {differing} differ")
        if differing:
            wrong.append(f"{row.metric}: {differing} of {len(readings)} differ from {row.query}")
    return wrong


def main() -> None:
    if sys.argv[1] == "--ask":
        ask(sys.argv[2])
        return
    kymo, folder = sys.argv[1:3]
    tool = shutil.which("nvidia-smi")
    if tool is None or subprocess.run([tool, "-L"], capture_output=True, check=False).returncode != 0:
        print("skipped 'nvidia-smi finds no GPU'")
        sys.exit(SKIPPED)
    directory = pathlib.Path(folder)
    shutil.rmtree(directory, ignore_errors=True)
    directory.mkdir(parents=True)
    capture, told = directory / "run.kymo", directory / "told.json"
    environment = {name: value for name, value in os.environ.items() if not name.startswith("KYMO_")}
    subprocess.run(
        [kymo, "record", "-o", capture, "--", sys.executable, __file__, "--ask", told], env=environment, check=True
    )
    readings = [Reading(*reading) for reading in json.loads(told.read_text())]
    wrong = check(readings, samples_of(kymo, capture))
    if wrong or not readings:
        sys.exit("\n".join(wrong) or "nvidia-smi said nothing")


if __name__ == "__main__":
    main()
