#!/usr/bin/env python3
"""Writes vectors.json: numbers that the decision engine must reproduce, from numpy and scipy alone.

Run `pip install numpy scipy`, then `python3 generate.py` in this folder. The formulas are written here a second time, by
other routes where there are any (library tests, polynomial division, subsets), so that agreement means something.
"""
import itertools
import json
import math
from pathlib import Path

import numpy as np
import scipy
from scipy import optimize, stats

RNG = np.random.default_rng(71_2026)
SPARSE = [2, 3, 4, 5, 7, 10, 14, 20, 28]
TIE = 1e-12


def order(kind, blocks):
    turned = [kind == "thue-morse" and bin(i).count("1") % 2 == 1 for i in range(blocks)]
    return "".join("BAAB" if t else "ABBA" for t in turned)


def differences(arms, y):
    """Second minus first of each pair: those that start with A, and those that start with B."""
    pairs = [(arms[i], y[i + 1] - y[i]) for i in range(0, len(y), 2)]
    return np.array([d for a, d in pairs if a == "A"]), np.array([d for a, d in pairs if a == "B"])


def rank_tail(n, m):
    """P(U >= u), all u: the Gaussian binomial coefficient by exact polynomial products and divisions."""
    poly = [1]
    for i in range(1, n + 1):
        shifted = [0] * (m + i) + poly
        poly = [a - b for a, b in itertools.zip_longest(poly, shifted, fillvalue=0)]
        quotient = []
        for at in range(len(poly) - i):
            quotient.append(poly[at] + (quotient[at - i] if at >= i else 0))
        poly = quotient
    assert len(poly) == n * m + 1 and sum(poly) == math.comb(n + m, n)
    return [float(sum(poly[u:])) / sum(poly) for u in range(n * m + 1)]


def wins(a, b, shift):
    return int(sum(1 for p in a for q in b if p - q > shift + TIE))


def responses(samples, direction="lower", scale="log"):
    v = np.asarray(samples, float)
    y = np.log(v) if scale == "log" else v
    return y if direction == "lower" else -y


def tolerance_margin(tol, direction):
    return math.log1p(tol) if direction == "lower" else -math.log1p(-tol)


def analyse(x, z, m0, m1, floor=0.0):
    """Numbers of one look; the t and p values from scipy's two-sample test where no floor is in the way."""
    k = len(x)
    tail = rank_tail(k, k)
    out = {
        "k": k, "x": list(x), "z": list(z), "est": (np.mean(x) - np.mean(z)) / 2, "gamma": (np.mean(x) + np.mean(z)) / 2,
        "df": 2 * k - 2, "hl": float(np.median(np.subtract.outer(x, z))) / 2,
        "rank_p_regression": tail[wins(x, z, 2 * m0)], "rank_p_pass": tail[wins(z, x, -2 * m1)],
    }
    if k < 2:
        return out | {"sp": None, "se": None}
    sp = math.sqrt((np.var(x, ddof=1) + np.var(z, ddof=1)) / 2)
    used = max(sp, floor)
    se = used / math.sqrt(2 * k)
    out |= {"sp": sp, "se": se, "sigma_run": sp / math.sqrt(2)}
    if se == 0:
        return out
    df, est = out["df"], out["est"]
    t0, t1 = (est - m0) / se, (m1 - est) / se
    p0, p1 = stats.t.sf(t0, df), stats.t.sf(t1, df)
    if sp >= floor and sp > 1e-9:
        for t, p, test in [(t0, p0, stats.ttest_ind(x - 2 * m0, z, alternative="greater")),
                           (t1, p1, stats.ttest_ind(z, x - 2 * m1, alternative="greater"))]:
            assert math.isclose(t, test.statistic, rel_tol=1e-7, abs_tol=1e-9), (t, test)
            assert math.isclose(p, test.pvalue, rel_tol=1e-6, abs_tol=1e-12), (p, test)
    half = stats.t.isf(0.025, df) * se
    return out | {"t_vs_m0": t0, "p_regression": p0, "t_vs_m1": t1, "p_pass": p1, "ci95": [est - half, est + half]}


def crossover_case(name, samples, arms, m0=0.0, tol=0.02, direction="lower", scale="log", floor=0.0):
    x, z = differences(arms, responses(samples, direction, scale))
    m1 = tolerance_margin(tol, direction) if scale == "log" else tol
    case = {"name": name, "samples": list(samples), "order": arms, "m0": m0, "m1": m1,
            "expected": analyse(x, z, m0, m1, floor)}
    case |= {"direction": direction} if direction != "lower" else {}
    case |= {"scale": scale} if scale != "log" else {}
    return case | ({"floor": floor} if floor else {})


def session(blocks, sd, effect, kind="thue-morse", centre=100.0, direction="lower", drift=0.0, digits=4, tail=None):
    arms = order(kind, blocks)
    e = sd * (RNG.standard_normal(4 * blocks) if tail is None else RNG.standard_t(tail, 4 * blocks))
    b = np.array([a == "B" for a in arms], float)
    log_time = e + drift * np.arange(4 * blocks) + math.log1p(effect) * b
    v = centre * np.exp(log_time if direction == "lower" else -log_time)
    return [round(float(s), digits) for s in v], arms


def crossover():
    cases = []
    for k, sd, effect, drift, kind in [(2, .01, .01, 0, "abba"), (3, .004, 0, .001, "thue-morse"), (4, .02, .05, 0, "abba"),
                                       (6, .007, -.01, .002, "thue-morse"), (9, .009, .02, 0, "thue-morse"), (14, .006, .015, 0, "thue-morse")]:
        samples, arms = session(k, sd, effect, kind, drift=drift)
        cases.append(crossover_case(f"{k} blocks, sd {sd}, effect {effect}, drift {drift}", samples, arms))
    samples, arms = session(5, .008, .03, centre=1830.0, direction="higher", digits=2)
    cases.append(crossover_case("rate, 3 % slower", samples, arms, tol=.03, direction="higher"))
    samples, arms = session(4, .008, .0, centre=55.0, direction="higher")
    cases.append(crossover_case("rate with a null margin", samples, arms, m0=.004, direction="higher"))
    ramp = [7.0 + .25 * t for t in range(12)]
    cases.append(crossover_case("ramp on the absolute scale", ramp, order("thue-morse", 3), tol=1.5, scale="abs"))
    signed = [round(float(v), 1) for v in RNG.normal(0, .4, 20)]
    cases.append(crossover_case("signed metric with ties", signed, order("abba", 5), tol=.6, scale="abs"))
    cases.append(crossover_case("signed metric, more is better", signed, order("thue-morse", 5), tol=.6, direction="higher", scale="abs"))
    floor = math.sqrt(2) * .001
    cases.append(crossover_case("constant, floored", [64.0] * 16, order("thue-morse", 4), floor=floor))
    cases.append(crossover_case("two constants, floored", [50.0 if a == "A" else 50.4 for a in order("abba", 3)], order("abba", 3), floor=floor))
    cases.append(crossover_case("one block", [31.0, 30.5, 32.0, 31.2], "ABBA"))
    return cases


def design(kmax, alpha, beta, share):
    looks = [k for k in SPARSE if k + 2 <= kmax] + [kmax]
    smallest = 1 / math.comb(2 * kmax, kmax)
    rank = [share * a if smallest <= share * a else 0.0 for a in (alpha, beta)]
    c, f = ([float(stats.t.isf((a - r) / len(looks), 2 * k - 2)) for k in looks] for a, r in zip((alpha, beta), rank))
    return {"input": {"kmax": kmax, "alpha_r": alpha, "alpha_n": beta, "rank_share": share},
            "looks": looks, "c": c, "f": f, "rank_r": rank[0], "rank_n": rank[1]}


def far(value, limit):
    assert abs(value - limit) > 1e-8, "a case stands on an edge: change its seed"
    return value > limit


def judge(x, z, m0, m1, plan, floor):
    for k, c, f in zip(plan["looks"], plan["c"], plan["f"]):
        a = analyse(x[:k], z[:k], m0, m1, floor)
        slower, within = far(a["est"] - m0, c * a["se"]), far(m1 - a["est"], f * a["se"])
        faster, by_rank = far(-a["est"] - m0, c * a["se"]), False
        if not (slower or within) and k == plan["looks"][-1]:
            slower = bool(plan["rank_r"]) and a["rank_p_regression"] <= plan["rank_r"]
            within = bool(plan["rank_n"]) and a["rank_p_pass"] <= plan["rank_n"]
            by_rank = slower or within
        if slower or within:
            verdict = ("SMALL_SLOWDOWN" if within else "REGRESSION") if slower else "IMPROVEMENT" if faster else "NO_REGRESSION"
            break
    else:
        verdict = "INCONCLUSIVE"
    return {"verdict": verdict, "k_stop": k, "runs": 4 * k, "estimate": a["est"], "decided_by_rank": by_rank, "variance_floored": a["sp"] < floor}


def verdicts():
    floor, cases = math.sqrt(2) * .0005, []
    styles = [(.006, 0, 0, None), (.012, .02, .001, None), (.012, .01, 0, None), (.004, .008, 0, None), (.0002, .015, 0, None),
              (.006, .035, 0, None), (.03, .02, 0, None), (.004, -.05, 0, None), (.006, 0, 0, 1.5), (.008, .03, 0, 1.2)]
    for cap, tol, direction in [(5, .03, "lower"), (8, .02, "higher"), (14, .01, "higher"), (14, .02, "lower"), (28, .02, "lower")]:
        plan = design(cap, .01, .05, .25)
        for number, (sd, effect, drift, tail) in enumerate(styles):
            kind = "abba" if number % 4 == 3 else "thue-morse"
            samples, arms = session(cap, sd, effect, kind, 240.0, direction, drift, tail=tail)
            x, z = differences(arms, responses(samples, direction))
            cases.append({"name": f"sd {sd}, effect {effect}, drift {drift}, tail {tail}, tolerance {tol}, cap {cap}, {direction}", "samples": samples,
                          "order": arms, "order_kind": kind, "direction": direction, "tolerance": tol, "max_blocks": cap, "alpha": .01, "beta": .05,
                          "floor_pair_sd": floor, "expected": judge(x, z, 0.0, tolerance_margin(tol, direction), plan, floor)})
    met = {(c["expected"]["verdict"], c["expected"]["decided_by_rank"]) for c in cases}
    assert {v for v, _ in met} == {"REGRESSION", "SMALL_SLOWDOWN", "NO_REGRESSION", "IMPROVEMENT", "INCONCLUSIVE"}, met
    assert any(rank for _, rank in met) and any(c["expected"]["variance_floored"] for c in cases)
    return cases


def verdicts_with_null_margin():
    floor, cases, plan = math.sqrt(2) * .0005, [], design(10, .01, .05, .25)
    for sd, effect, direction in [(.004, 0, "lower"), (.004, .006, "higher"), (.003, .013, "lower"), (.007, .03, "higher"), (.007, -.03, "lower"),
                                  (.02, .01, "lower"), (.0001, .004, "lower"), (.0001, .012, "higher"), (.003, -.008, "lower"), (.005, .02, "lower")]:
        samples, arms = session(10, sd, effect, centre=75.0, direction=direction, drift=.0005)
        x, z = differences(arms, responses(samples, direction))
        expected = {k: v for k, v in judge(x, z, .005, .02, plan, floor).items() if k in ("verdict", "k_stop", "runs")}
        cases.append({"name": f"null margin .005, sd {sd}, effect {effect}, {direction}", "kmax": 10, "order": arms, "samples": samples,
                      "direction": direction, "m0": .005, "m1": .02, "floor_pair_sd": floor, "expected": expected})
    return cases


def order_bias():
    cases = []
    for kind, (name, power), k in itertools.product(["abba", "thue-morse"], [("t", 1), ("t^2", 2), ("t^3", 3)], [1, 2, 4, 8, 16]):
        arms = order(kind, k)
        t = np.arange(4 * k, dtype=float) ** power
        b = np.array([a == "B" for a in arms])
        cases.append({"kind": kind, "drift": name, "K": k, "est": t[b].mean() - t[~b].mean()})
    return cases


def prediction(sessions, new, alpha):
    m = np.array(sessions)
    sd, n = m.std(ddof=1), len(m)
    t = (new - m.mean()) / (sd * math.sqrt(1 + 1 / n))
    limit = stats.t(n - 1, m.mean(), sd * math.sqrt(1 + 1 / n)).isf(alpha)
    return {"session_log_medians": sessions, "new_log_median": new, "alpha": alpha, "expected": {
        "S": n, "mean": m.mean(), "sd": sd, "t": t, "p_one_sided": stats.t.sf(t, n - 1), "limit": limit, "exceeds": bool(new > limit)}}


def noise_band(sds, dfs):
    nu = sum(dfs)
    s = math.sqrt(np.average(np.square(sds), weights=dfs))
    upper = s * math.sqrt(nu / stats.chi2.ppf(.2, nu))
    return {"pair_sds": sds, "dfs": dfs, "expected": {
        "nu": nu, "sp_pooled": s, "sigma_run": s / math.sqrt(2), "sp_upper80": upper, "recommended_sigma_run": upper / math.sqrt(2),
        "sp_ci95": [s * math.sqrt(nu / stats.chi2.isf(q, nu)) for q in (.025, .975)]}}


def holm_bh(p):
    """Holm as a closed test: the largest Bonferroni p-value of all subsets that hold the hypothesis."""
    n, indices = len(p), range(len(p))
    subsets = [s for r in range(1, n + 1) for s in itertools.combinations(indices, r)]
    holm = [max(min(1.0, len(s) * min(p[j] for j in s)) for s in subsets if i in s) for i in indices]
    return {"p": p, "holm": holm, "bh": [float(q) for q in stats.false_discovery_control(p)]}


def summary(values):
    v = np.array(values, float)
    mad = stats.median_abs_deviation(v)
    return {"samples": values, "expected": {
        "n": len(v), "min": v.min(), "median": np.median(v), "max": v.max(), "spread": np.ptp(v), "spread_rel": np.ptp(v) / np.median(v),
        "mad": mad, "flags": [bool(abs(a - np.median(v)) > 5 * 1.4826 * mad) for a in v]}}


def score(b, c, n, d):
    """The score statistic, with the constrained maximum of the likelihood found where its slope is zero."""
    low = max(0.0, -d)
    span = (1 - d) / 2 - low

    def slope(share):
        lost, gained = low + span * share, low + d + span * share
        return (b / lost if b else 0) + (c / gained if c else 0) - (n - b - c) / (span * (1 - share))
    q = low + span if n == b + c else low if slope(1e-15) <= 0 else low + span * optimize.brentq(slope, 1e-15, 1 - 1e-12, xtol=1e-300, rtol=1e-15)
    return 0.0 if c - b == n * d else (c - b - n * d) / math.sqrt(n * (2 * q + d - d * d))


def paired_eval(b, c, n):
    worse, different = (stats.binomtest(b, b + c, alternative=side).pvalue if b + c else 1.0 for side in ("greater", "two-sided"))
    z, gain, critical = score(b, c, n, -.01), (c - b) / n, stats.norm.isf(.025)
    items = np.repeat([-1.0, 1.0, 0.0], [b, c, n - b - c])
    edge = 1 - 1e-9
    low = optimize.brentq(lambda d: score(b, c, n, d) - critical, -edge, gain, xtol=1e-15) if b < n else -1.0
    high = optimize.brentq(lambda d: score(b, c, n, d) + critical, gain, edge, xtol=1e-15) if c < n else 1.0
    return {"b_old_right_new_wrong": b, "c_old_wrong_new_right": c, "n": n, "delta": gain, "wald_se": items.std() / math.sqrt(n),
            "mcnemar_exact_two_sided": different, "mcnemar_exact_worse": worse, "tango_z_vs_minus_1pp": z,
            "p_noninferior_1pp": stats.norm.sf(z), "p_loss_gt_1pp": stats.norm.cdf(z), "tango_ci95": [low, high]}


def unpaired_eval(right_old, right_new, n):
    old, new = (np.repeat([1.0, 0.0], [right, n - right]) for right in (right_old, right_new))
    gain, errors = new.mean() - old.mean(), [stats.sem(old), stats.sem(new)]
    se = math.sqrt(sum(np.square(errors)))
    noise = stats.norm(0, se) if se else None
    return {"acc_old": old.mean(), "acc_new": new.mean(), "n": n, "stderr_old": errors[0], "stderr_new": errors[1], "delta": gain, "se_unpaired": se,
            "z_vs_0": gain / se if se else None, "p_worse": noise.cdf(gain) if se else 1.0,
            "p_loss_gt_1pp": noise.cdf(gain + .01) if se else None, "p_noninferior_1pp": noise.sf(gain + .01) if se else None,
            "false_alarm_1pp": noise.cdf(-.01) if se else 0.0}


def paired_nll(d, weights=None):
    """Without weights from scipy's test; with them each document stands as often as its weight, and the covariance is clustered by hand."""
    v, w = np.array(d), np.ones(len(d)) if weights is None else np.array(weights, float)
    df, mean = len(v) - 1, v.sum() / w.sum()
    se = np.std(v - mean * w, ddof=1) / (math.sqrt(len(v)) * w.mean())
    t, p = mean / se, stats.t.sf(mean / se, df)
    if weights is None:
        test = stats.ttest_1samp(v, 0, alternative="greater")
        assert math.isclose(t, test.statistic, rel_tol=1e-9) and math.isclose(p, test.pvalue, rel_tol=1e-9)
    low, high = stats.t(df, mean, se).interval(.95)
    case = {"nll_diff_new_minus_old_per_doc": d, "mean": mean, "se": se, "t": t, "df": df, "p_worse": p,
            "ppl_ratio": math.exp(mean), "ppl_ratio_ci95": [math.exp(low), math.exp(high)]}
    return case | ({"weights": weights} if weights else {})


def rounded(values, digits=5):
    return [round(float(v), digits) for v in values]


def groups():
    sizes = [(2, 2), (3, 4), (4, 6), (6, 6), (9, 9), (14, 14), (28, 28), (1, 7)]
    return {
        "crossover": crossover(),
        "design": [design(k, a, b, s) for k, a, b, s in [(2, .01, .05, .25), (3, .01, .05, .25), (4, .02, .1, .25), (5, .01, .05, .25), (7, .01, .05, .25),
                   (9, .002, .05, .25), (11, .01, .05, .5), (14, .01, .05, 0.), (14, .0025, .05, .25), (18, .02, .02, .1), (22, .01, .1, .25), (28, .005, .05, .25)]],
        "verdict": verdicts_with_null_margin(),
        "verdict_more": verdicts(),
        "mw_sf": [{"n": n, "m": m, "u": u, "sf": rank_tail(n, m)[u]} for n, m in sizes for u in (n * m * 2 // 3, n * m)],
        "student_t": [{"df": d, "p_upper": p, "t": stats.t.isf(p, d)} for d in (2, 6, 26, 54, 198) for p in (1e-5, .0011, .02, .3)],
        "t_sf": [{"df": d, "t": t, "sf": stats.t.sf(t, d)} for d in (1, 2, 10, 26) for t in (-3.5, .25, 4.0, 60.0)],
        "chi2_inv": [{"df": d, "p": p, "x": stats.chi2.ppf(p, d)} for d in (4, 12, 26, 180) for p in (.025, .2, .975)],
        "f_sf": [{"d1": a, "d2": b, "f": f, "sf": stats.f.sf(f, a, b)} for a, b in [(2, 26), (12, 12), (26, 180), (54, 8)] for f in (.4, 1.7, 6.0)],
        "baseline_prediction": [prediction(rounded(RNG.normal(0, .01, s)), new, alpha) for s, alpha in [(2, .01), (3, .05), (6, .01), (10, .005), (20, .01)]
                                for new in (-.02, .015, .3)],
        "noise_band": [noise_band(rounded(RNG.uniform(.003, .02, n)), [int(d) for d in RNG.choice([2, 6, 12, 26], n)]) for n in (1, 2, 3, 4, 7, 12, 16, 20)],
        "mde_fixed_k": [{"sigma_run": s, "k": k, "alpha": a, "beta": b, "mde_log": (stats.t.isf(a, 2 * k - 2) + stats.t.isf(b, 2 * k - 2)) * s / math.sqrt(k)}
                        for s, a, b in [(.004, .01, .05), (.012, .05, .2)] for k in (2, 4, 6, 9, 14, 28)],
        "holm_bh": [holm_bh(rounded(RNG.uniform(0, .2, n) ** 2, 6)) for n in (1, 2, 3, 4, 5, 6, 8)] + [holm_bh(p) for p in ([.02, .02, .02], [1.0, 0.0], [.4, .9, .3])],
        "summary": [summary(rounded(RNG.normal(40, 1, n), 3)) for n in (1, 2, 5, 8, 13)]
                   + [summary(v) for v in ([4.0] * 6 + [4.5], [9.0, 9.1, 8.9, 9.05, 12.0, 9.0], [-3.0, -2.0, -2.5, -9.0], [1e-6, 3e-6, 2e-6])],
        "order": [{"K": k, "kind": kind, "order": order(kind, k)} for k in (1, 2, 6, 7, 14, 28) for kind in ("abba", "thue-morse")],
        "order_bias": order_bias(),
        "paired_eval": [paired_eval(*counts) for counts in [(7, 4, 250), (25, 9, 900), (18, 18, 2000), (0, 0, 199), (0, 0, 320), (6, 0, 180), (0, 7, 150), (1, 1, 40),
                        (400, 380, 12000), (900, 700, 60000), (3, 60, 500), (12, 0, 12), (0, 9, 9), (5, 1, 6), (40, 15, 200)]],
        "unpaired_eval": [unpaired_eval(*counts) for counts in [(150, 141, 198), (1000, 1013, 1319), (9600, 9330, 14042), (98, 98, 164), (80, 80, 80), (0, 0, 25),
                          (500, 480, 1000), (25, 24, 25), (4100, 4100, 5000), (1, 0, 60)]],
        "paired_nll": [paired_nll(rounded(RNG.normal(shift, sd, n), 6)) for shift, sd, n in [(0, .01, 12), (.004, .01, 40), (-.003, .02, 150), (.02, .03, 3), (.001, .05, 2), (.1, .2, 25)]]
                      + [paired_nll(rounded(RNG.normal(.3, 2, n), 4), [int(w) for w in RNG.integers(20, 900, n)]) for n in (2, 8, 60)],
    }


def plain(value):
    if isinstance(value, dict):
        return {k: plain(v) for k, v in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain(v) for v in value]
    return value.item() if isinstance(value, np.generic) else value


def main():
    meta = {"numpy": np.__version__, "scipy": scipy.__version__, "tolerance": "1e-9 relative or 1e-11 absolute; chi-square 1e-8; verdicts exact"}
    lines = [f'"_meta": {json.dumps(meta)}']
    for name, cases in groups().items():
        lines.append(f'"{name}": [\n' + ",\n".join(json.dumps(plain(c)) for c in cases) + "\n]")
    Path(__file__).with_name("vectors.json").write_text("{\n" + ",\n".join(lines) + "\n}\n")


if __name__ == "__main__":
    main()
