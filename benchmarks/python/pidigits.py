"""Digits of pi by Gibbons' spigot, in small functions: long integers, generators, many calls."""

from __future__ import annotations

import itertools
import sys
from collections.abc import Iterator

Matrix = tuple[int, int, int, int]


def terms() -> Iterator[Matrix]:
    for k in itertools.count(1):
        yield term(k)


def term(k: int) -> Matrix:
    return k, 4 * k + 2, 0, 2 * k + 1


def compose(a: Matrix, b: Matrix) -> Matrix:
    aq, ar, at, au = a
    bq, br, bt, bu = b
    return aq * bq, aq * br + ar * bu, at * bq + au * bt, at * br + au * bu


def extract(state: Matrix, x: int) -> int:
    q, r, t, u = state
    return (q * x + r) // (t * x + u)


def is_safe(state: Matrix, digit: int) -> bool:
    return digit == extract(state, 4)


def produce(state: Matrix, digit: int) -> Matrix:
    return compose((10, -10 * digit, 0, 1), state)


def digits() -> Iterator[int]:
    state: Matrix = (1, 0, 0, 1)
    stream = terms()
    while True:
        digit = extract(state, 3)
        while not is_safe(state, digit):
            state = compose(state, next(stream))
            digit = extract(state, 3)
        state = produce(state, digit)
        yield digit


def main() -> None:
    for _ in range(int(sys.argv[1])):
        total = sum(itertools.islice(digits(), int(sys.argv[2])))
    print(total)


if __name__ == "__main__":
    main()
