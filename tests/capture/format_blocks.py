"""Blocks of a capture, their tables and columns, as docs/format.md describes them: what format_reader.py is made of."""

import struct

import lz4.block
import zstandard

KINDS = {1: "HEADER", 2: "DECLARATIONS", 3: "EVENTS", 4: "SUMMARY", 5: "INDEX", 6: "END", 7: "ENDED_TRACKS"}
MASK = (1 << 64) - 1


def make_crc_table():
    table = []
    for byte in range(256):
        crc = byte
        for _ in range(8):
            crc = (crc >> 1) ^ (0x82F63B78 if crc & 1 else 0)
        table.append(crc)
    return table


CRC_TABLE = make_crc_table()


def crc32c(data):
    crc = 0xFFFFFFFF
    for byte in data:
        crc = (crc >> 8) ^ CRC_TABLE[(crc ^ byte) & 0xFF]
    return crc ^ 0xFFFFFFFF


def signed(value):
    return value - (1 << 64) if value >> 63 else value


def double_of(bits):
    return struct.unpack("<d", struct.pack("<Q", bits))[0]


def unzigzag(value):
    return (value >> 1) ^ (MASK if value & 1 else 0)


def text_of(data):
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError:
        return {"hex": data.hex()}


class Cursor:
    def __init__(self, data):
        self.data = data
        self.at = 0

    def at_end(self):
        return self.at == len(self.data)

    def take(self, count):
        if count > len(self.data) - self.at:
            raise ValueError("a length points beyond the end")
        taken = self.data[self.at : self.at + count]
        self.at += count
        return taken

    def u8(self):
        return self.take(1)[0]

    def varint(self):
        value = 0
        shift = 0
        while True:
            byte = self.u8()
            value |= (byte & 0x7F) << shift
            shift += 7
            if byte < 0x80:
                return value


def unpack_bits(data, width, count):
    """`count` values of `width` bits, lowest bit first."""
    number = int.from_bytes(data, "little")
    mask = (1 << width) - 1
    values = []
    # In stretches of 64 values: shifting one long number for each value would take quadratic time.
    for first in range(0, count, 64):
        stretch = number_at(data, first * width, min(64, count - first) * width) if count > 64 else number
        for _ in range(min(64, count - first)):
            values.append(stretch & mask)
            stretch >>= width
    return values


def number_at(data, bit, bits):
    first = bit // 8
    last = (bit + bits + 7) // 8
    return (int.from_bytes(data[first:last], "little") >> (bit % 8)) & ((1 << bits) - 1)


def packed_size(count, width):
    return (count * width + 7) // 8


class Column:
    def __init__(self, encoding, count, data):
        self.encoding = encoding
        self.count = count
        self.data = data

    def stored(self):
        storage = self.encoding & 0x0F
        cursor = Cursor(self.data)
        values = []
        if storage == 2:
            while len(values) < self.count:
                size = min(64, self.count - len(values))
                width = cursor.u8()
                values += unpack_bits(cursor.take(packed_size(size, width)), width, size)
        elif storage == 3:
            low_bits = cursor.u8()
            planes = cursor.u8()
            values = unpack_bits(cursor.take(packed_size(self.count, low_bits)), low_bits, self.count)
            for plane in range(planes):
                for i, byte in enumerate(cursor.take(self.count)):
                    values[i] |= byte << (low_bits + 8 * plane)
        elif storage == 4:
            values = list(struct.unpack(f"<{self.count}Q", cursor.take(8 * self.count)))
        elif storage == 5:
            values = unpack_bits(cursor.take(packed_size(self.count, 1)), 1, self.count)
        else:
            raise ValueError(f"not a column of numbers: storage {storage}")
        if not cursor.at_end() or len(values) != self.count:
            raise ValueError("a column has another size than its count needs")
        return values

    def numbers(self):
        values = self.stored()
        if self.encoding & 0x20:
            values = [unzigzag(value) for value in values]
        if self.encoding & 0x10:
            before = 0
            for i, value in enumerate(values):
                before = (before + value) & MASK
                values[i] = before
        return values

    def floats(self):
        if self.encoding & 0x40:
            return [float(signed(value)) for value in self.numbers()]
        return [double_of(value) for value in self.numbers()]

    def texts(self):
        if self.encoding & 0x0F != 1:
            raise ValueError("not a column of texts")
        cursor = Cursor(self.data)
        texts = [cursor.take(cursor.varint()) for _ in range(self.count)]
        if not cursor.at_end():
            raise ValueError("bytes are left behind the texts of a column")
        return texts


class Table:
    def __init__(self, cursor):
        self.id = cursor.u8()
        self.key = cursor.varint()
        self.columns = {}
        while True:
            column = cursor.u8()
            if column == 0:
                break
            encoding = cursor.u8()
            count = cursor.varint()
            size = cursor.varint()
            self.columns[column] = Column(encoding, count, cursor.take(size))

    def count(self, column):
        return self.columns[column].count if column in self.columns else 0

    def rows(self):
        return self.count(1)

    def _of_count(self, column, count):
        if self.columns[column].count != count:
            raise ValueError("a column has another count than its table has rows")
        return self.columns[column]

    def numbers(self, column, count=None):
        count = self.rows() if count is None else count
        return self._of_count(column, count).numbers() if column in self.columns else [0] * count

    def signed(self, column, count=None):
        return [signed(value) for value in self.numbers(column, count)]

    def times(self, column, start_ns, count=None):
        return [signed((value + start_ns) & MASK) for value in self.numbers(column, count)]

    def floats(self, column, count=None):
        count = self.rows() if count is None else count
        return self._of_count(column, count).floats() if column in self.columns else [0.0] * count

    def texts(self, column):
        if column not in self.columns:
            return [""] * self.rows()
        return [text_of(text) for text in self._of_count(column, self.rows()).texts()]


def tables(payload):
    cursor = Cursor(payload)
    while not cursor.at_end():
        yield Table(cursor)


class Block:
    def __init__(self, data, offset):
        header = data[offset : offset + 48]
        if len(header) < 48 or header[:4] != b"\x8bKLK":
            raise ValueError(f"no block begins at byte {offset}")
        (_, kind, codec, level, stored, raw, payload_crc, number, start, end, events, header_crc) = struct.unpack(
            "<IBBHIIIIqqII", header
        )
        if header_crc != crc32c(header[:44]):
            raise ValueError(f"the checksum of the header at byte {offset} is wrong")
        self.offset = offset
        self.kind = KINDS.get(kind, kind)
        self.level = level
        self.number = number
        self.start_ns = start
        self.end_ns = end
        self.scope_events = events
        self.end_offset = offset + 48 + stored
        payload = data[offset + 48 : self.end_offset]
        if len(payload) != stored:
            raise ValueError(f"the block at byte {offset} is not complete")
        if payload_crc != crc32c(payload):
            raise ValueError(f"the checksum of the payload at byte {offset} is wrong")
        if codec == 1:
            payload = lz4.block.decompress(payload, uncompressed_size=raw)
        elif codec == 2:
            payload = zstandard.ZstdDecompressor().decompress(payload)
        elif codec != 0:
            raise ValueError(f"codec {codec} is not known")
        if len(payload) != raw:
            raise ValueError(f"the payload at byte {offset} has another size than stated")
        self.payload = payload
