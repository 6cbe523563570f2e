"""Pictures as rows of colours: PNG files and what Xvfb shows, and where the panel's parts stand in them.

Nothing here looks at letters: bars, boxes and backgrounds are found by what they are coloured with.
"""

import ctypes
import itertools
import os
import pathlib
import struct
from typing import NamedTuple

Colour = tuple[int, int, int]
Rows = list[list[Colour]]


def read_png(path: pathlib.Path) -> Rows:
    """The pixels of a PNG file as Cairo reads it."""
    cairo = ctypes.CDLL("libcairo.so.2")
    for name in ("cairo_image_surface_create_from_png", "cairo_image_surface_get_data"):
        getattr(cairo, name).restype = ctypes.c_void_p
    surface = ctypes.c_void_p(cairo.cairo_image_surface_create_from_png(os.fsencode(path)))
    assert cairo.cairo_surface_status(surface) == 0, f"{path} is no PNG"
    sizes = (getattr(cairo, f"cairo_image_surface_get_{what}")(surface) for what in ("width", "height", "stride"))
    width, height, stride = sizes
    data = ctypes.string_at(cairo.cairo_image_surface_get_data(surface), stride * height)
    rows = _rows_of(data, width, height, stride)
    cairo.cairo_surface_destroy(surface)
    return rows


def _rows_of(data: bytes, width: int, height: int, stride: int) -> Rows:
    """Pixels of four bytes: blue, green, red, nothing."""
    lines = (data[row * stride : row * stride + width * 4] for row in range(height))
    return [list(zip(line[2::4], line[1::4], line[0::4], strict=True)) for line in lines]


def read_screen(path: pathlib.Path) -> Rows:
    """What an X server with -fbdir has on its screen: a header of numbers, colours, then four bytes a pixel."""
    data = path.read_bytes()
    header = struct.unpack(">25I", data[:100])
    width, height, stride, colours = header[4], header[5], header[12], header[19]
    return _rows_of(data[header[0] + colours * 12 :], width, height, stride)


def part_of(rows: Rows, left: int, top: int, width: int, height: int) -> Rows:
    """A part of a picture."""
    return [row[left : left + width] for row in rows[top : top + height]]


def is_bad(colour: Colour) -> bool:
    """Vermilion, which frames beyond the second threshold have."""
    red, green, blue = colour
    return red > blue + 80 and red > green + 40


def is_good(colour: Colour) -> bool:
    """Blue, which frames below the first threshold have."""
    red, _, blue = colour
    return blue > red + 80


class Bars(NamedTuple):
    """Where the frame bars of a picture stand: all from left to right, and the one bad one."""

    left: int
    right: int
    bad_left: int
    bad_right: int
    bad_height: int
    good_height: int
    bottom: int


def find_bars(rows: Rows) -> Bars | None:
    """The bars of a capture with one bad frame; None where there is no bad one. They stand above all else."""
    bad: list[tuple[int, int]] = []
    for y, row in enumerate(rows[: len(rows) // 2]):
        here = [(x, y) for x, colour in enumerate(row) if is_bad(colour)]
        if bad and not here:
            break  # what follows are boxes
        bad += here
    if not bad:
        return None
    bottom = max(y for _, y in bad)
    bad_left, bad_right = min(x for x, _ in bad), max(x for x, _ in bad)
    good = [x for x, colour in enumerate(rows[bottom - 2]) if is_good(colour)]
    if not good:
        return None
    middle = good[0] + 5
    good_height = sum(1 for _ in itertools.takewhile(lambda y: is_good(rows[y][middle]), range(bottom - 2, 0, -1)))
    return Bars(min(good), max(good), bad_left, bad_right, bottom - min(y for _, y in bad), good_height + 2, bottom)


def find_widest_box(rows: Rows, top: int) -> tuple[int, int]:
    """From where to where the widest box of one colour below a row reaches. What stands in it begins below its edge."""
    widest = (0, 0)
    for y in range(top, len(rows) - 8):
        x = 0
        for colour, pixels in itertools.groupby(rows[y]):
            length = sum(1 for _ in pixels)
            if max(colour) - min(colour) > 50 and length > max(4, widest[1] - widest[0]):
                below = rows[y + 7]
                if below[x + 1] == below[x + length - 2] == colour:
                    widest = (x, x + length)
            x += length
    return widest
