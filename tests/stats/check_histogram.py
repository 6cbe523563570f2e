"""Gives the same durations to kymo's histogram and to the HdrHistogram package: check_histogram.py HISTOGRAM_VALUES

HdrHistogram is set to three significant digits. Both must put every percentile into the same bucket, and within 0.1 %
of the exact one by nearest rank, which NumPy sorts out.
"""

import math
import subprocess
import sys

import numpy
from hdrh.histogram import HdrHistogram

PERCENTILES = [0.1, 1, 5, 10, 25, 50, 75, 90, 95, 99, 99.9, 99.99, 100]
COUNT = 100_000


def distributions():
    random = numpy.random.default_rng(7)
    yield "uniform", random.integers(1, 50_000_000, COUNT)
    yield "log-normal", random.lognormal(math.log(70_000), 1.5, COUNT)
    yield (
        "bimodal",
        numpy.where(random.random(COUNT) < 0.8, random.normal(900, 40, COUNT), random.normal(3e7, 1e6, COUNT)),
    )
    yield "constant", numpy.full(COUNT, 123_456_789)


def ask_kymo(program, values, *first):
    result = subprocess.run(
        [program, *first, *map(str, PERCENTILES)], input=values.tobytes(), capture_output=True, check=True
    )
    words = result.stdout.split()
    return int(words[0]), int(words[1]), int(words[2]), float(words[3]), [int(word) for word in words[4:]]


def main():
    troubles = []
    for name, durations in distributions():
        values = numpy.maximum(durations, 0).astype(numpy.int64)
        peer = HdrHistogram(1, 3_600_000_000_000, 3)
        for value, count in zip(*numpy.unique(values, return_counts=True), strict=True):
            peer.record_value(int(value), int(count))
        exact = numpy.sort(values)
        for first in ([], ["merge"]):
            count, least, most, mean, found = ask_kymo(sys.argv[1], values, *first)
            if (count, least, most) != (len(values), exact[0], exact[-1]) or not math.isclose(
                mean, values.mean(), rel_tol=1e-12
            ):
                troubles.append(f"{name}: {count} values from {least} to {most}, mean {mean}")
            for percentile, value in zip(PERCENTILES, found, strict=True):
                theirs = peer.get_value_at_percentile(percentile)
                true = int(exact[max(math.ceil(round(percentile * len(values), 3) / 100), 1) - 1])
                if not peer.values_are_equivalent(value, theirs):
                    troubles.append(f"{name}, p{percentile}: {value}, HdrHistogram says {theirs}")
                if abs(value - true) > true / 1000:
                    troubles.append(f"{name}, p{percentile}: {value}, exactly {true}")
    print("\n".join(troubles))
    return 1 if troubles else 0


if __name__ == "__main__":
    sys.exit(main())
