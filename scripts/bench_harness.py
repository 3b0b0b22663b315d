"""Prints wall time per process, peak memory and start time of gate beside hyperfine, with their ratios.

usage: bench_harness.py GATE BLOCKS, in a folder that may be filled
"""

import os
import statistics
import subprocess
import sys
import time

ROUNDS = 5
STARTS = 50
PROCESSES_PER_BLOCK = 4


def run(command):
    """Wall seconds and peak resident bytes of one process. It must do its work; the answer that gate gives is not judged here."""
    start = time.perf_counter()
    child = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
    try:
        errors = child.stderr.read()
        _, status, usage = os.wait4(child.pid, 0)
        child.returncode = os.waitstatus_to_exitcode(status)
    finally:
        child.stderr.close()
    if child.returncode not in (0, 1, 3):
        sys.exit(f"{' '.join(command)}: exit {child.returncode}: {errors.decode(errors='replace').strip()}")
    return time.perf_counter() - start, usage.ru_maxrss * 1024


def median_wall_s(commands, rounds):
    """Median wall seconds of each command, interleaved so that a drift of the machine meets all of them."""
    walls = [[] for _ in commands]
    peaks = [0 for _ in commands]
    for _ in range(rounds):
        for index, command in enumerate(commands):
            wall_s, peak_bytes = run(command)
            walls[index].append(wall_s)
            peaks[index] = max(peaks[index], peak_bytes)
    return [statistics.median(each) for each in walls], peaks


def sync_s(appends):
    """Seconds that appending and syncing as many lines as the sample file gets costs on this file system."""
    line = b"x" * 400 + b"\n"
    with open("sync-probe", "ab", buffering=0) as probe:
        start = time.perf_counter()
        for _ in range(appends):
            probe.write(line)
            os.fdatasync(probe.fileno())
        return time.perf_counter() - start


def main():
    gate, blocks = sys.argv[1], int(sys.argv[2])
    processes = blocks * PROCESSES_PER_BLOCK
    perf = [gate, "perf", "--a", "true", "--b", "true", "--fixed-blocks", str(blocks), "--warmup-runs", "1"]
    # Two warm-up runs here, as gate has one an arm.
    hyperfine = ["hyperfine", "-N", "--style", "none", "--warmup", "2", "--runs", str(processes), "true"]
    (gate_s, hyperfine_s), (gate_peak, hyperfine_peak) = median_wall_s([perf, hyperfine], ROUNDS)
    sync_total_s = statistics.median(sync_s(processes) for _ in range(ROUNDS))
    (gate_start_s, hyperfine_start_s), _ = median_wall_s([[gate, "--version"], ["hyperfine", "--version"]], STARTS)

    def per_process_ms(total_s):
        return total_s / processes * 1e3

    print(f"processes a run          {processes} (median of {ROUNDS} interleaved runs)")
    print(f"gate, wall per process   {per_process_ms(gate_s):8.3f} ms")
    print(f"hyperfine -N             {per_process_ms(hyperfine_s):8.3f} ms")
    print(f"ratio                    {gate_s / hyperfine_s:8.2f}    (goal: at most 1.0)")
    print(f"sync of the sample file  {per_process_ms(sync_total_s):8.3f} ms a process, inside gate's figure")
    print(f"ratio without the sync   {max(gate_s - sync_total_s, 0) / hyperfine_s:8.2f}")
    print(f"gate, peak memory        {gate_peak / 2**20:8.1f} MiB (goal: at most 40)")
    print(f"hyperfine, peak memory   {hyperfine_peak / 2**20:8.1f} MiB")
    print(f"gate --version           {gate_start_s * 1e3:8.2f} ms")
    print(f"hyperfine --version      {hyperfine_start_s * 1e3:8.2f} ms")
    print(f"ratio                    {gate_start_s / hyperfine_start_s:8.2f}    (goal: at most 2.0)")


main()
