"""Prints wall time per process, peak memory and start time of gate beside hyperfine, with their ratios.

usage: bench_harness.py GATE BLOCKS, in a folder that may be filled
"""

import json
import os
import re
import resource
import statistics
import subprocess
import sys
import tempfile
import time

REPEATS = 3
ROUNDS = 9
STARTS = 50
PROCESSES_PER_BLOCK = 4
# A disk in memory: what a sync leaves behind, caches that are cold, is not in a session here.
MEMORY = "/dev/shm"
SYNCED = re.compile(r"([0-9.]+) s of it went into syncing")


def run(command, folder="."):
    """Wall seconds and standard error of one process. It must do its work; the answer that gate gives is not judged here."""
    start = time.perf_counter()
    done = subprocess.run(command, cwd=folder, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    wall_s = time.perf_counter() - start
    if done.returncode not in (0, 1, 3):
        sys.exit(f"{' '.join(command)}: exit {done.returncode}: {done.stderr.strip()}")
    return wall_s, done.stderr


def cpu(command, folder="."):
    """Seconds of user and system time of a process and of all that it waited for, and what `run` gives."""

    def used():
        usage = resource.getrusage(resource.RUSAGE_CHILDREN)
        return usage.ru_utime + usage.ru_stime

    before = used()
    wall_s, told = run(command, folder)
    return wall_s, told, used() - before


def peak_bytes(command, folder):
    """Peak resident bytes. A process starts with the peak of the one that starts it, so a small one does: GNU time."""
    path = os.path.abspath(os.path.join(folder, "peak"))
    run(["time", "--format", "%M", "--output", path, *command], folder)
    with open(path, encoding="ascii") as file:
        # A command that gives a verdict by its exit code is reported in a line of its own before the figure.
        return int(file.read().split()[-1]) * 1024


def fresh_folder(place="."):
    """A new folder that is a repository of its own, so that no run reads or leaves anything in another's."""
    path = tempfile.mkdtemp(dir=place)
    subprocess.run(["git", "init", "--quiet", path], check=True)
    return path


def session(perf, hyperfine, place="."):
    """Seconds of gate, of its syncs, and of hyperfine, right after each other so that a drift of the machine meets both; then the CPU
    time of either, which other processes on the machine disturb less."""
    wall_s, told, cpu_s = cpu(perf, fresh_folder(place))
    found = SYNCED.search(told)
    if not found:
        sys.exit(f"gate does not tell how long it synced: {told.strip()}")
    other_s, _, other_cpu_s = cpu(hyperfine)
    return wall_s, float(found.group(1)), other_s, cpu_s, other_cpu_s


def reported(perf, hyperfine):
    """Median wall seconds of the measured process itself, as gate and as hyperfine report it."""
    folder = fresh_folder()
    record, export = (os.path.abspath(os.path.join(folder, name)) for name in ("record.json", "export.json"))
    run([*perf, "--format", "json", "--out", record], folder)
    run([*hyperfine, "--export-json", export])
    with open(record, encoding="utf-8") as file:
        samples = json.load(file)["evidence"]["samples"]
    with open(export, encoding="utf-8") as file:
        theirs = json.load(file)["results"][0]["median"]
    return statistics.median(sample["values"]["wall_s"] for sample in samples if not sample["warmup"]), theirs


def starts(*commands):
    """Seconds of each command, interleaved, STARTS times."""
    return [[run(command)[0] for command in commands] for _ in range(STARTS)]


def medians(rows):
    return [statistics.median(each) for each in zip(*rows)]


def ratio(pairs):
    """The median of the ratios of neighbours, which a drift of the machine meets alike."""
    return statistics.median(one / other for one, other in pairs)


def figure(name, text, goal=None, met=None, span=None):
    judged = "" if goal is None else f"   (goal: {goal}: {'met' if met else 'missed'})"
    print(f"{name:<34}{text:>12}{f'   ({span})' if span else ''}{judged}")


def main():
    gate, blocks = sys.argv[1], int(sys.argv[2])
    processes = blocks * PROCESSES_PER_BLOCK
    perf = [gate, "perf", "--a", "true", "--b", "true", "--fixed-blocks", str(blocks), "--warmup-runs", "1"]
    # Two warm-up runs here, as gate has one an arm.
    hyperfine = ["hyperfine", "-N", "--style", "none", "--warmup", "2", "--runs", str(processes), "true"]
    repeats = [[session(perf, hyperfine) for _ in range(ROUNDS)] for _ in range(REPEATS)]
    with tempfile.TemporaryDirectory(dir=MEMORY) as place:
        in_memory = [[session(perf, hyperfine, place) for _ in range(ROUNDS)] for _ in range(REPEATS)]
    processes_s = [[reported(perf, hyperfine) for _ in range(ROUNDS)] for _ in range(REPEATS)]
    launches = [starts([gate, "--version"], ["hyperfine", "--version"]) for _ in range(REPEATS)]
    gate_peak, hyperfine_peak = (peak_bytes(command, fresh_folder()) for command in (perf, hyperfine))

    def each_ms(total_s):
        return f"{total_s / (processes + 2) * 1e3:.3f} ms"

    def ratios(name, found, goal=None):
        middle = statistics.median(found)
        met = None if goal is None else middle <= goal
        figure(name, f"{middle:.2f}", goal and f"at most {goal}", met, f"{min(found):.2f} to {max(found):.2f}")

    gate_s, sync_s, hyperfine_s, gate_cpu_s, hyperfine_cpu_s = medians(row for rows in repeats for row in rows)
    print("compared: all that either does for as many processes, its own start and end among it; hyperfine's output goes to /dev/null,")
    print("gate's through two pipes that it reads")
    print(f"processes a run: {processes} and 2 warm-up runs; times are medians of {REPEATS * ROUNDS} interleaved runs;")
    print(f"ratios are medians of {ROUNDS} neighbours, {REPEATS} times: the median of these, and their range")
    figure("gate, wall per process", each_ms(gate_s))
    figure("  of it syncing the sample file", each_ms(sync_s))
    figure("hyperfine -N, wall per process", each_ms(hyperfine_s))
    ratios("ratio, in memory: no syncs", [ratio((wall, other) for wall, _, other, *_ in rows) for rows in in_memory], 1.0)
    ratios("ratio, their time taken off", [ratio((wall - sync, other) for wall, sync, other, *_ in rows) for rows in repeats])
    ratios("ratio, syncs included", [ratio((wall, other) for wall, _, other, *_ in rows) for rows in repeats])
    figure("gate, CPU per process", each_ms(gate_cpu_s))
    figure("hyperfine -N, the same", each_ms(hyperfine_cpu_s))
    ratios("ratio, syncs included", [ratio((one, other) for *_, one, other in rows) for rows in repeats])
    gate_process_s, hyperfine_process_s = medians(row for rows in processes_s for row in rows)
    figure("gate, a process as reported", f"{gate_process_s * 1e3:.3f} ms")
    figure("hyperfine -N, the same", f"{hyperfine_process_s * 1e3:.3f} ms")
    ratios("ratio", [ratio(rows) for rows in processes_s])
    figure("gate, peak memory", f"{gate_peak / 2**20:.1f} MiB", "at most 40 MiB", gate_peak <= 40 * 2**20)
    figure("hyperfine, peak memory", f"{hyperfine_peak / 2**20:.1f} MiB")
    gate_start_s, hyperfine_start_s = medians(row for rows in launches for row in rows)
    figure("gate --version", f"{gate_start_s * 1e3:.2f} ms")
    figure("hyperfine --version", f"{hyperfine_start_s * 1e3:.2f} ms")
    ratios("ratio", [ratio(rows) for rows in launches], 2.0)


main()
