"""Reads NVMT version 1 files: the second opinion on their bytes.

The layout stands here in numbers, from the description of the format alone, so that nothing is shared with what is
tested. `nvmt_reader.py FILE` prints what read_trace() returns as JSON, in which numbers keep every bit and NaN is null,
or "ValueError: ..." where there is one.
"""

import json
import struct
import sys

HEADER = 728
FAST = struct.Struct("<dH16ffQQf")
MEDIUM = struct.Struct("<d8I8I8f")
SLOW = struct.Struct("<d16f")
SYNC = struct.Struct("<QQ")
assert (FAST.size, MEDIUM.size, SLOW.size, SYNC.size) == (98, 104, 72, 16)


def text(data):
    return data.split(b"\0", 1)[0].decode()


def check_names(data):
    for at, count, size in [(8, 1, 32), (88, 8, 24), (280, 16, 24)]:
        for i in range(count):
            field = data[at + i * size : at + (i + 1) * size]
            assert field.endswith(b"\0"), "a name is not terminated"
            assert field == field.split(b"\0", 1)[0].ljust(size, b"\0"), "something stands behind a name"


def read_trace(path):
    with open(path, "rb") as file:
        data = file.read()
    if len(data) < HEADER:
        raise ValueError("too small")
    magic, version = struct.unpack_from("<II", data, 0)
    if magic != 0x4E564D54:
        raise ValueError("Bad magic")
    if version != 1:
        raise ValueError("Unsupported version")
    cores, rails, zones, emc_available = struct.unpack_from("<4B", data, 40)
    fast_hz, medium_hz, slow_hz = struct.unpack_from("<3I", data, 44)
    num_fast, num_medium, num_slow, num_sync = struct.unpack_from("<4Q", data, 56)
    assert data[664:728] == bytes(64), "the reserved bytes are not zero"
    check_names(data)

    at = HEADER
    tables = []
    for layout, count in [(FAST, num_fast), (MEDIUM, num_medium), (SLOW, num_slow), (SYNC, num_sync)]:
        end = at + layout.size * count
        tables.append(list(layout.iter_unpack(data[at:end])))
        at = end
    assert at == len(data), "the file does not end behind its last sync point"
    fast, medium, slow, sync = tables

    sync_id = [0] * num_fast
    for number, first in sync:
        for i in range(first, num_fast):
            sync_id[i] = number
    return {
        "board_name": text(data[8:40]),
        "num_cpu_cores": cores,
        "num_power_rails": rails,
        "num_thermal_zones": zones,
        "emc_available": emc_available,
        "fast_hz": fast_hz,
        "medium_hz": medium_hz,
        "slow_hz": slow_hz,
        "power_rail_names": [text(data[88 + 24 * i : 112 + 24 * i]) for i in range(rails)],
        "thermal_zone_names": [text(data[280 + 24 * i : 304 + 24 * i]) for i in range(zones)],
        "fast_time_s": [row[0] for row in fast],
        "gpu_load": [row[1] for row in fast],
        "cpu_util": [list(row[2 : 2 + cores]) for row in fast],
        "cpu_aggregate": [row[18] for row in fast],
        "ram_used_kb": [row[19] for row in fast],
        "ram_available_kb": [row[20] for row in fast],
        "emc_util": [row[21] for row in fast],
        "medium_time_s": [row[0] for row in medium],
        "voltage_mv": [list(row[1 : 1 + rails]) for row in medium],
        "current_ma": [list(row[9 : 9 + rails]) for row in medium],
        "power_mw": [list(row[17 : 17 + rails]) for row in medium],
        "slow_time_s": [row[0] for row in slow],
        "temp_c": [list(row[1 : 1 + zones]) for row in slow],
        "sync_id": sync_id,
    }


def main():
    try:
        trace = read_trace(sys.argv[1])
    except ValueError as error:
        print(f"ValueError: {error}")
        return
    print(json.dumps(trace).replace("NaN", "null"))


if __name__ == "__main__":
    main()
