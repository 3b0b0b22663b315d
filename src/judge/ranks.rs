//! Rank methods: the exact Mann–Whitney distribution, the Hodges–Lehmann estimate, and p-values of many tests at once.

use std::sync::OnceLock;

use super::summary::median;

/// Differences up to this size are ties; a tie counts for nobody, which is conservative for whatever is to be rejected.
const TIE: f64 = 1e-12;

/// The largest n + m whose arrangement counts are all exact in a double: C(56, 28) ≈ 7.6e15 < 2⁵³.
const LARGEST_EXACT: usize = 56;

/// P(U ≥ u) for every u from 0 to `n * m`, where U counts the pairs that the first of two exchangeable groups (sizes `n`
/// and `m`) wins, without ties. `None` for an empty group or n + m > 56.
///
/// The counts follow N(i,j)\[u\] = N(i−1,j)\[u−j\] + N(i,j−1)\[u\] (Mann and Whitney 1947).
pub fn survival(n: usize, m: usize) -> Option<Vec<f64>> {
    if n == 0 || m == 0 || n + m > LARGEST_EXACT {
        return None;
    }
    let cells = n * m + 1;
    let mut certain = vec![0.0; cells];
    certain[0] = 1.0;
    let mut rows = vec![certain; m + 1];
    for _ in 0..n {
        for j in 1..=m {
            for u in (0..cells).rev() {
                let first_wins = if u >= j { rows[j][u - j] } else { 0.0 };
                rows[j][u] = first_wins + rows[j - 1][u];
            }
        }
    }
    let mut tail = rows.swap_remove(m);
    for u in (0..cells - 1).rev() {
        tail[u] += tail[u + 1];
    }
    let all = tail[0];
    Some(tail.into_iter().map(|count| count / all).collect())
}

/// The same for two groups of `n` each, at most 28: computed when it is first asked for, since most sessions never reach the rank look.
pub fn survival_of_equal(n: usize) -> Option<&'static [f64]> {
    static TABLES: [OnceLock<Vec<f64>>; LARGEST_EXACT / 2 + 1] = [const { OnceLock::new() }; LARGEST_EXACT / 2 + 1];
    let table = TABLES.get(n)?.get_or_init(|| survival(n, n).unwrap_or_default());
    (!table.is_empty()).then_some(table)
}

/// The smallest p-value of two groups of `n` each, 1/C(2n, n); `None` where [`survival_of_equal`] has none.
pub fn smallest_p(n: usize) -> Option<f64> {
    let arrangements = |n: usize| (1..=n).fold(1_u64, |count, i| count * (n + i) as u64 / i as u64);
    (1..=LARGEST_EXACT / 2).contains(&n).then(|| 1.0 / arrangements(n) as f64)
}

/// P(U ≥ `u`) for groups of `n` and `m`; see [`survival`]. Beyond `n * m` it is 0.
pub fn sf(n: usize, m: usize, u: usize) -> Option<f64> {
    survival(n, m).map(|tail| tail.get(u).copied().unwrap_or(0.0))
}

/// How many pairs (i, j) have x_i − z_j > `shift` by more than a tie.
pub fn wins(x: &[f64], z: &[f64], shift: f64) -> usize {
    x.iter().map(|a| z.iter().filter(|b| a - shift - **b > TIE).count()).sum()
}

/// The Hodges–Lehmann estimate of a crossover's effect: the median over all (i, j) of (x_i − z_j)/2; `None` for no pair.
pub fn hodges_lehmann(x: &[f64], z: &[f64]) -> Option<f64> {
    let mut halves: Vec<f64> = x.iter().flat_map(|a| z.iter().map(move |b| 0.5 * (a - b))).collect();
    median(&mut halves)
}

/// Holm's step-down adjusted p-values, in the given order: reject where the value is at most the family's level.
pub fn holm(p: &[f64]) -> Vec<f64> {
    let mut adjusted = vec![0.0; p.len()];
    let mut reached = 0.0_f64;
    for (rank, &at) in ascending(p).iter().enumerate() {
        reached = reached.max(p[at] * (p.len() - rank) as f64).min(1.0);
        adjusted[at] = reached;
    }
    adjusted
}

/// Benjamini–Hochberg adjusted p-values (q-values), in the given order.
pub fn benjamini_hochberg(p: &[f64]) -> Vec<f64> {
    let mut adjusted = vec![0.0; p.len()];
    let mut reached = 1.0_f64;
    for (rank, &at) in ascending(p).iter().enumerate().rev() {
        reached = reached.min(p[at] * p.len() as f64 / (rank + 1) as f64);
        adjusted[at] = reached;
    }
    adjusted
}

fn ascending(p: &[f64]) -> Vec<usize> {
    let mut order: Vec<usize> = (0..p.len()).collect();
    order.sort_by(|&a, &b| p[a].total_cmp(&p[b]));
    order
}
