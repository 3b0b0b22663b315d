//! Quantiles and tail probabilities of the few distributions the decisions need.
//!
//! Every function answers `None` outside its domain, so a caller never sees a NaN or an infinity.

use statrs::distribution::{Beta, ChiSquared, ContinuousCDF, FisherSnedecor, Normal, StudentsT};

/// The value that a Student t variable with `df` degrees of freedom exceeds with probability `level` (0 < `level` < 1).
///
/// Works from the small tail itself: `1 - level` would lose the digits that matter.
pub fn t_upper(level: f64, df: f64) -> Option<f64> {
    let t = StudentsT::new(0.0, 1.0, df).ok()?;
    inside_unit(level).map(|p| -t.inverse_cdf(p)).and_then(finite)
}

/// P(T > `t`) of a Student t variable with `df` degrees of freedom; ±∞ give 0 and 1.
pub fn t_sf(t: f64, df: f64) -> Option<f64> {
    if t.is_infinite() {
        return Some(if t > 0.0 { 0.0 } else { 1.0 });
    }
    let distribution = StudentsT::new(0.0, 1.0, df).ok()?;
    finite(t).and_then(|t| finite(distribution.sf(t)))
}

/// The value below which a χ² variable with `df` degrees of freedom falls with probability `p` (good to about 1e-9).
pub fn chi2_quantile(p: f64, df: f64) -> Option<f64> {
    let chi2 = ChiSquared::new(df).ok()?;
    inside_unit(p).map(|p| chi2.inverse_cdf(p)).and_then(finite)
}

/// P(F > `f`) of an F variable with `d1` and `d2` degrees of freedom.
pub fn f_sf(f: f64, d1: f64, d2: f64) -> Option<f64> {
    let distribution = FisherSnedecor::new(d1, d2).ok()?;
    finite(f).and_then(|f| finite(distribution.sf(f)))
}

fn inside_unit(p: f64) -> Option<f64> {
    (p > 0.0 && p < 1.0).then_some(p)
}

fn finite(value: f64) -> Option<f64> {
    value.is_finite().then_some(value)
}

/// The standard normal value below which a share `p` lies.
pub fn normal_quantile(p: f64) -> Option<f64> {
    let normal = Normal::standard();
    inside_unit(p).map(|p| normal.inverse_cdf(p)).and_then(finite)
}

/// P(X > `x`) of a χ² variable with `df` degrees of freedom.
pub fn chi2_sf(x: f64, df: f64) -> Option<f64> {
    let chi2 = ChiSquared::new(df).ok()?;
    finite(x).map(|x| chi2.sf(x)).and_then(finite)
}

/// P(Z > `z`) of a standard normal variable.
pub fn normal_sf(z: f64) -> Option<f64> {
    finite(z).map(|z| Normal::standard().sf(z)).and_then(finite)
}

/// P(X ≥ `heads`) where X counts the heads of `tosses` fair coins: the regularised incomplete beta function
/// I½(heads, tosses − heads + 1) (Abramowitz and Stegun 26.5.24).
pub fn fair_coin_tail(heads: u64, tosses: u64) -> Option<f64> {
    if heads == 0 || heads > tosses {
        return Some(if heads == 0 { 1.0 } else { 0.0 });
    }
    let beta = Beta::new(heads as f64, (tosses - heads + 1) as f64).ok()?;
    finite(beta.cdf(0.5))
}
