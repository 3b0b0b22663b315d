#!/usr/bin/env python3
"""Writes metrics/*.bin: invented gpu_metrics blobs of every revision that is read, and broken ones.

Layouts as in the Linux kernel's kgd_pp_interface.h. Called by generate.py; alone: metrics.py FOLDER
"""
import pathlib
import struct
import sys

ONES = 0xFF
KINDS = {"B": 0, "H": 2, "I": 4, "Q": 6}

# Attributes of revision 1.9: number, type, how many values, unit.
TABLE = [
    (0, "H", 1, 2), (1, "H", 1, 2), (2, "H", 1, 2), (3, "H", 1, 3), (4, "H", 1, 10), (5, "H", 1, 10),
    (6, "Q", 1, 8), (7, "Q", 1, 0), (8, "Q", 1, 4), (9, "I", 1, 0), (10, "I", 1, 0), (11, "I", 1, 0),
    (12, "I", 1, 0), (13, "I", 1, 0), (14, "I", 1, 0), (31, "H", 8, 0), (33, "H", 8, 1), (37, "H", 1, 1),
]
NUMBERS = dict(hotspot=0, mem=1, power=3, gfx=4, umc=5, energy=7, clock=8, acc=9, prochot=10, ppt=11,
               socket=12, vr=13, hbm=14, links=31, gfxclk=33, uclk=37)


def table(more=(), claim=None, **fields):
    values = {NUMBERS[name]: value for name, value in fields.items()}
    body, count = b"", 0
    for number, kind, many, unit in list(TABLE) + [entry[:4] for entry in more]:
        value = values.get(number, dict((entry[0], entry[4]) for entry in more).get(number, 0))
        value = list(value) if isinstance(value, (list, tuple)) else [value] * many
        code = unit << 24 | KINDS.get(kind, kind if isinstance(kind, int) else 0) << 20 | number << 10 | many
        body += struct.pack("<Q", code)
        body += struct.pack(f"<{many}{kind}", *value) if isinstance(kind, str) else bytes(many)
        count += 1
    return struct.pack("<HBBi", 8 + len(body), 1, 9, count if claim is None else claim) + body


def fixed(size, revision, fields, fill=0):
    blob = bytearray([fill] * size)
    struct.pack_into("<HBB", blob, 0, size, *revision)
    for offset, kind, *values in fields:
        struct.pack_into(f"<{len(values)}{kind}", blob, offset, *values)
    return bytes(blob)


IDLE = dict(hotspot=41, mem=36, power=131, gfx=0, umc=0, energy=5_000_000_000, clock=90_000_000_000_000, acc=9_000_000,
            ppt=70_000, links=[1] * 8, gfxclk=[133, 132, 134, 133, 133, 132, 131, 135], uclk=900)
LOAD = dict(hotspot=66, mem=48, power=701, gfx=100, umc=20, energy=6_000_000_000, clock=91_000_000_000_000, acc=9_100_000,
            ppt=160_000, links=[1] * 8, gfxclk=[1290, 1301, 1288, 1279, 1300, 1296, 1285, 1291], uclk=1300)
HOT = dict(LOAD, hotspot=99, mem=104, power=598, socket=4_000, hbm=900, gfxclk=[940] * 8)


def mi300(size, revision, energy, clock, gfxclk, acc=None, fill=0):
    fields = [(4, "H", 43, 39, 44, 128, 2, 1), (energy, "Q", 7_000_000), (clock, "Q", 8_000_000_000), (gfxclk, "H", *range(150, 158)),
              (gfxclk + 40, "H", 900)]
    if acc:
        fields.append((acc, "I", 5000, 1, 2, 3, 4, 5))
    return fixed(size, revision, fields, fill)


def every():
    stuck = [(32, "I", 6_000_000, 0, 6_000_000, 6_000_000, 0, 6_000_000)]
    yield "v1_3", fixed(120, (1, 3), [(4, "H", 31, 34, 37), (16, "H", 3, 2), (22, "H", 11), (24, "Q", 0), (32, "Q", 1_000_000),
                                      (54, "H", 5), (58, "H", 96), (68, "I", 2), (112, "Q", 1 << 36)], ONES)
    yield "v1_3_page", fixed(120, (1, 3), [(4, "H", 31, 34, 37), (24, "Q", 9)], ONES) + bytes(4096 - 120)
    yield "v1_4", mi300(288, (1, 4), 24, 32, 240)
    yield "v1_5", mi300(360, (1, 5), 88, 96, 312)
    yield "v1_6", mi300(1664, (1, 6), 16, 24, 264, 32)
    yield "v1_6_stuck", fixed(1664, (1, 6), [(4, "H", 42, 40, 45, 121, 1, 0), (16, "Q", 7_000_000), (24, "Q", 8_000_000_000)] + stuck
                              + [(264, "H", *[160] * 8), (304, "H", 900)])
    yield "v1_7", mi300(2208, (1, 7), 24, 32, 296, 40)
    yield "v1_8", mi300(3872, (1, 8), 24, 32, 296, 40)
    yield "v1_9_idle", table(**IDLE)
    yield "v1_9_load", table(**LOAD)
    yield "v1_9_hot", table(**HOT)
    yield "v1_9_unknown_attribute", table(more=[(900, "I", 2, 0, [7, 8])], **IDLE)
    yield "v2_1", fixed(120, (2, 1), [])
    yield "v3_0", fixed(264, (3, 0), [(4, "H", 5312, 5104), (42, "H", 7), (104, "Q", 2_000_000), (112, "I", 15_250), (174, "H", 848),
                                      (228, "I", 1, 2, 3, 4, 5, 6, 7)])
    yield "bad_header", b"\x78\x00"
    yield "bad_revision", fixed(20, (9, 9), [])
    yield "bad_short", fixed(120, (1, 3), [])[:119]
    yield "bad_truncated", table(**IDLE)[:40]
    yield "bad_type", table(more=[(901, 9, 1, 0, 0)], **IDLE)
    yield "bad_count", table(claim=100_000, **IDLE)


def write(folder):
    folder = pathlib.Path(folder) / "metrics"
    folder.mkdir(parents=True, exist_ok=True)
    blobs = dict(every())
    for name, blob in blobs.items():
        (folder / f"{name}.bin").write_bytes(blob)
    return blobs


if __name__ == "__main__":
    write(sys.argv[1])
