"""Prints how fast JSON lines are read beside Python's json, and the peak memory of both.

The metrics go through `gate ingest`; the samples of a base and of a candidate, so two files of the size, through `gate eval`, which pairs them.

usage: bench_ingest.py GATE MEGABYTES, in a folder that may be filled
"""

import hashlib
import json
import os
import random
import shutil
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
STAMP = "2026-01-01T00-00-00"

PYTHON = {
    "samples": f"""
import json, sys
answers = {{}}
for folder in "base", "candidate":
    with open(f"samples/{{folder}}/samples_gsm8k_{STAMP}.jsonl", encoding="utf-8") as file:
        for line in file:
            record = json.loads(line)
            right = [record[metric] == 1.0 for metric in record["metrics"]]
            answers.setdefault(record["doc_hash"], []).append(right)
lost = sum(base > candidate for base, candidate in answers.values())
gained = sum(base < candidate for base, candidate in answers.values())
print(json.dumps({{"items": len(answers), "lost": lost, "gained": gained}}))
""",
    "metrics": """
import json, sys
rows, sums, peak, last = 0, {"tok_per_s": 0.0, "mfu": 0.0, "watts": 0.0}, 0.0, None
with open("metrics/metrics.jsonl", encoding="utf-8") as file:
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


def sample(rng, is_right):
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
        "exact_match": float(is_right),
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
    """Writes lines until a file is as large, and tells how many bytes and lines; a block of tens of them is repeated, with other items."""
    rng, lines, length = random.Random(1), [], 0
    while length < min(BLOCK_BYTES, size) or len(lines) % 10:
        lines.append(json.dumps(make(rng, len(lines))) + "\n")
        length += len(lines[-1])
    blocks = max(1, size // length)
    with open(path, "w", encoding="utf-8") as file:
        for item, line in enumerate(lines * blocks):
            digest = hashlib.sha256(str(item).encode()).hexdigest()
            file.write(line.replace(str(NUMBER), str(item), 1).replace(HASH, digest, 1))
    return os.path.getsize(path), len(lines) * blocks


def answered(folder, size, is_right):
    """The results of a model with seven right answers of ten, and the log of its answers; its size."""
    os.makedirs(folder)
    length, items = generate(f"{folder}/samples_gsm8k_{STAMP}.jsonl", lambda rng, number: sample(rng, is_right(number)), size)
    results = {
        "results": {"gsm8k": {"alias": "gsm8k", "exact_match,strict-match": 0.7, "exact_match_stderr,strict-match": 0.001}},
        "versions": {"gsm8k": 3.0},
        "n-shot": {"gsm8k": 5},
        "higher_is_better": {"gsm8k": {"exact_match": True}},
        "n-samples": {"gsm8k": {"original": items, "effective": items}},
        "config": {"model": "hf", "model_args": f"pretrained=org/{os.path.basename(folder)}", "limit": None, "gen_kwargs": None},
        "date": 1_790_000_000.5,
        "lm_eval_version": "0.4.9",
    }
    with open(f"{folder}/results_{STAMP}.json", "w", encoding="utf-8") as file:
        json.dump(results, file)
    return length


def samples(size):
    """Both sides of a comparison: three answers in ten are lost, as many gained."""
    base = answered("samples/base", size, lambda number: number % 10 < 7)
    return base + answered("samples/candidate", size, lambda number: number % 10 > 2)


def metrics(size):
    """A training run of one value a step."""
    os.makedirs("metrics")
    return generate("metrics/metrics.jsonl", step, size)[0]


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
    else:
        ours = ours["judgement"]["verdicts"][0]["detail"]["paired"]
    if not all(key in ours and abs(ours[key] - value) <= 1e-9 * abs(value) for key, value in theirs.items()):
        sys.exit(f"the readers disagree: {ours} and {theirs}")


def main():
    gate, size = sys.argv[1], int(sys.argv[2]) * 1_000_000
    kinds = {
        "samples": (samples, [gate, "eval", "samples/candidate", "--baseline", "samples/base", "--format", "json"]),
        "metrics": (metrics, [gate, "ingest", "metrics/metrics.jsonl", "--format", "json"]),
    }
    for kind, (make, command) in kinds.items():
        make(size // SMALLER)
        _, smaller_bytes, _ = read(command)
        shutil.rmtree(kind)
        bytes_read = make(size)
        ours, theirs = [], []
        for _ in range(ROUNDS):
            ours.append(read(command))
            theirs.append(read([sys.executable, "-c", PYTHON[kind]]))
            check(ours[-1][2], theirs[-1][2])
        shutil.rmtree(kind)
        ours_s, theirs_s = min(wall_s for wall_s, _, _ in ours), min(wall_s for wall_s, _, _ in theirs)
        ratios = sorted(their[0] / our[0] for our, their in zip(ours, theirs))
        peak, theirs_peak = (max(peak for _, peak, _ in runs) / 2**20 for runs in (ours, theirs))
        print(f"{kind}: {bytes_read / 1e9:.2f} GB")
        print(f"  gate    {ours_s:.2f} s, {bytes_read / ours_s / 1e6:.0f} MB/s, peak {peak:.1f} MiB")
        print(f"  python  {theirs_s:.2f} s, {bytes_read / theirs_s / 1e6:.0f} MB/s, peak {theirs_peak:.1f} MiB")
        print(f"  ratio   {ratios[ROUNDS // 2]:.1f} ({ratios[0]:.1f} to {ratios[-1]:.1f})")
        print(f"  peak of files a quarter as large: {smaller_bytes / 2**20:.1f} MiB")


if __name__ == "__main__":
    main()
