"""Prints how fast JSON lines are read beside Python's json, and the peak memory of both.

The metrics go through `gate ingest`, whole. The samples go through the reader of `gate eval` alone, as `benches/lines.rs` uses it.

usage: bench_ingest.py GATE LINES MEGABYTES, in a folder that may be filled
"""

import json
import os
import random
import string
import subprocess
import sys
import time

ROUNDS = 3
BLOCK_BYTES = 8_000_000
# The memory of a file a quarter as large tells whether it grows with the file.
SMALLER = 4

# Stands in a line for what differs from all other lines.
NUMBER, HASH = 1234567890, "0123456789abcdef" * 4

PYTHON = {
    "samples": """
import json, sys
rows, right = {}, {}
with open(sys.argv[1], encoding="utf-8") as file:
    for line in file:
        record = json.loads(line)
        for metric in record["metrics"]:
            key = metric + "," + record["filter"]
            rows[key] = rows.get(key, 0) + 1
            right[key] = right.get(key, 0) + (record[metric] == 1.0)
print(json.dumps({key: {"rows": rows[key], "right": right[key]} for key in rows}))
""",
    "metrics": """
import json, sys
rows, sums, peak, last = 0, {"tok_per_s": 0.0, "mfu": 0.0, "watts": 0.0}, 0.0, None
with open(sys.argv[1], encoding="utf-8") as file:
    for line in file:
        record = json.loads(line)
        rows += 1
        for key in sums:
            sums[key] += record[key]
        peak, last = max(peak, record["hbm_gb"]), record["loss"]
print(json.dumps({"hbm_gb": peak, "loss": last, **{key: value / rows for key, value in sums.items()}}))
""",
}


def words(rng, count):
    return " ".join("".join(rng.choices(string.ascii_lowercase, k=rng.randint(2, 9))) for _ in range(count))


def hexes(rng):
    return "".join(rng.choices("0123456789abcdef", k=64))


def sample(rng, _number):
    """One item of a reasoning task as lm-eval logs it: a prompt of five shots, a long answer, its hashes and its score."""
    question, answer = words(rng, 45), words(rng, 90)
    prompt = "\n\n".join(f"Question: {words(rng, 45)}\nAnswer: {words(rng, 60)}\n#### {rng.randint(0, 999)}" for _ in range(5))
    said = f" {answer}\n#### {rng.randint(0, 999)}"
    return {
        "doc_id": NUMBER,
        "doc": {"question": question, "answer": answer},
        "target": answer,
        "arguments": {"gen_args_0": {"arg_0": f"{prompt}\n\nQuestion: {question}\nAnswer:", "arg_1": {"until": ["Question:", "</s>"]}}},
        "resps": [[said]],
        "filtered_resps": [str(rng.randint(0, 999))],
        "filter": "strict-match",
        "metrics": ["exact_match"],
        "doc_hash": HASH,
        "prompt_hash": hexes(rng),
        "target_hash": hexes(rng),
        "exact_match": float(rng.random() < 0.7),
    }


def step(rng, number):
    """One step of a training run."""
    return {
        "step": number,
        "tok_per_s": round(rng.gauss(15200, 40), 1),
        "mfu": round(rng.gauss(0.406, 0.001), 4),
        "hbm_gb": 79.9,
        "watts": round(rng.gauss(748, 3), 1),
        "loss": round(rng.gauss(2.1, 0.1), 6),
    }


def generate(path, make, size):
    """Writes lines until a file is as large; a block of them is repeated, with other items."""
    rng, lines, length = random.Random(1), [], 0
    while length < min(BLOCK_BYTES, size):
        lines.append(json.dumps(make(rng, len(lines))) + "\n")
        length += len(lines[-1])
    with open(path, "w", encoding="utf-8") as file:
        for block in range(max(1, size // length)):
            items = enumerate(lines, block * len(lines))
            file.writelines(line.replace(str(NUMBER), str(item), 1).replace(HASH, f"{item:064x}", 1) for item, line in items)
    return os.path.getsize(path)


def read(command):
    """Wall seconds, peak bytes and answer of one process. It starts with the peak of the one that starts it, so a small one does: GNU time."""
    start = time.perf_counter()
    done = subprocess.run(["time", "--format", "%M", "--output", "peak", *command], stdout=subprocess.PIPE, text=True, check=True)
    wall_s = time.perf_counter() - start
    with open("peak", encoding="ascii") as file:
        return wall_s, int(file.read().split()[-1]) * 1024, json.loads(done.stdout)


def check(ours, theirs):
    """Both must have done the same work."""
    if "results" in ours:
        series = ours["results"][0]["series"]
        ours = {one["name"]: one["processes"][0]["repetitions"][0] for one in series}
        same = all(key in ours and abs(ours[key] - value) <= 1e-9 * abs(value) for key, value in theirs.items())
    else:
        same = ours == theirs
    if not same:
        sys.exit(f"the readers disagree: {ours} and {theirs}")


def main():
    gate, lines, size = sys.argv[1], sys.argv[2], int(sys.argv[3]) * 1_000_000
    commands = {"samples": [lines], "metrics": [gate, "ingest", "--format", "json"]}
    for kind, make in (("samples", sample), ("metrics", step)):
        path, command = f"{kind}.jsonl", commands[kind]
        generate(path, make, size // SMALLER)
        _, smaller_bytes, _ = read([*command, path])
        bytes_read = generate(path, make, size)
        ours, theirs = [], []
        for _ in range(ROUNDS):
            ours.append(read([*command, path]))
            theirs.append(read([sys.executable, "-c", PYTHON[kind], path]))
            check(ours[-1][2], theirs[-1][2])
        os.remove(path)
        ours_s, theirs_s = min(wall_s for wall_s, _, _ in ours), min(wall_s for wall_s, _, _ in theirs)
        ratios = sorted(their[0] / our[0] for our, their in zip(ours, theirs))
        peak, theirs_peak = (max(peak for _, peak, _ in runs) / 2**20 for runs in (ours, theirs))
        print(f"{kind}: {bytes_read / 1e9:.2f} GB")
        print(f"  gate    {ours_s:.2f} s, {bytes_read / ours_s / 1e6:.0f} MB/s, peak {peak:.1f} MiB")
        print(f"  python  {theirs_s:.2f} s, {bytes_read / theirs_s / 1e6:.0f} MB/s, peak {theirs_peak:.1f} MiB")
        print(f"  ratio   {ratios[ROUNDS // 2]:.1f} ({ratios[0]:.1f} to {ratios[-1]:.1f})")
        print(f"  peak of a file a quarter as large: {smaller_bytes / 2**20:.1f} MiB")


if __name__ == "__main__":
    main()
