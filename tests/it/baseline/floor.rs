//! Floors: a median against a figure or a share of a line, unrounded.

use gate::model::baseline::SampleLine;
use gate::model::gate::{Against, Bound, Rule};
use gate::model::judgement::{Outcome, Verdict};
use gate::model::record::Record;

use super::case::{Maker, historical, line, metric, rule, ruling, used};

fn floor(at_least: Option<Bound>, at_most: Option<Bound>) -> Rule {
    Rule {
        at_least,
        at_most,
        ..rule("floor", Against::Baseline)
    }
}

fn old(value: f64) -> SampleLine {
    historical(line("q4", &metric("tg:higher:tok/s"), "2026-04-28", value), "best-of-2")
}

/// A session in which every run gives exactly one figure.
fn exactly(rule: Rule, lines: Vec<SampleLine>, base: f64, candidate: f64) -> Record {
    let mut maker = Maker::new(Some(used(lines)));
    maker.rules = vec![rule];
    let mut record = maker.steady(base, candidate);
    for sample in &mut record.evidence.samples {
        let value = if sample.arm == gate::model::sample::Arm::A {
            base
        } else {
            candidate
        };
        sample.values.insert("tg".to_owned(), value);
    }
    record.judgement = gate::judge::judge(&gate::judge::Case::from(&record));
    record
}

fn verdict(rule: Rule, lines: Vec<SampleLine>, candidate: f64) -> Verdict {
    // Without figures of its own beside it: a base arm far above every floor.
    ruling(&exactly(rule, lines, 1e6, candidate), "floor").verdict
}

#[test]
fn a_share_of_a_line_is_not_rounded() {
    let share = |share_pct| floor(Some(Bound::Historical { share_pct }), None);
    for (line, observed, expected) in [
        (14.9, 14.16, Verdict::NoRegression),
        (14.9, 14.15, Verdict::Regression),
        (14.9, 14.155, Verdict::NoRegression),
        (13.18, 12.52, Verdict::Regression),
        (13.18, 12.521, Verdict::NoRegression),
        (0.9, 0.86, Verdict::NoRegression),
        (0.9, 0.855, Verdict::NoRegression),
        (0.9, 0.854, Verdict::Regression),
    ] {
        assert_eq!(
            verdict(share(95.0), vec![old(line)], observed),
            expected,
            "{observed} against 95 % of {line}"
        );
    }
}

#[test]
fn figures_bound_from_both_sides() {
    let value = |value| Some(Bound::Value { value });
    assert_eq!(verdict(floor(value(140.0), None), vec![], 140.0), Verdict::NoRegression);
    assert_eq!(verdict(floor(value(140.0), None), vec![], 139.9), Verdict::Regression);
    assert_eq!(verdict(floor(None, value(80.0)), vec![], 80.1), Verdict::Regression);
    assert_eq!(verdict(floor(value(70.0), value(80.0)), vec![], 75.0), Verdict::NoRegression);
    let nothing = exactly(floor(None, None), vec![], 1.0, 1.0);
    assert_eq!(nothing.judgement.outcome, Outcome::Error, "a floor without a bound checks nothing");
}

#[test]
fn the_statistic_of_the_reference_is_named() {
    let record = exactly(
        floor(Some(Bound::Historical { share_pct: 95.0 }), None),
        vec![old(164.0)],
        200.0,
        160.0,
    );
    let found = ruling(&record, "floor");
    assert_eq!((found.verdict, found.estimate, found.base), (Verdict::NoRegression, None, None));
    assert!(
        found.warnings[0].contains("best-of-2") && found.warnings[0].contains("a median is compared with it"),
        "{:?}",
        found.warnings
    );
    assert!(
        found
            .because
            .contains("at least 155.8 tok/s (95 % of the historical 164.0 tok/s of 2026-04-28 (best-of-2, hipfire))"),
        "{}",
        found.because
    );
}

#[test]
fn current_lines_feed_a_floor_by_their_median_and_historical_ones_do_not() {
    let tg = metric("tg:higher:tok/s");
    let share = || floor(Some(Bound::Baseline { share_pct: 95.0 }), None);
    let current = || {
        vec![
            line("q4", &tg, "2026-11-01", 100.0),
            line("q4", &tg, "2026-11-02", 110.0),
            old(500.0),
        ]
    };
    assert_eq!(verdict(share(), current(), 99.75), Verdict::NoRegression);
    assert_eq!(verdict(share(), current(), 99.74), Verdict::Regression);
    assert_eq!(verdict(share(), vec![old(500.0)], 1.0), Verdict::NotMeasured);
    assert_eq!(
        verdict(
            floor(Some(Bound::Historical { share_pct: 95.0 }), None),
            current()[..2].to_vec(),
            1.0
        ),
        Verdict::NotMeasured
    );
    let mut stale = current();
    stale.iter_mut().for_each(|line| line.identity = Some("00000000".to_owned()));
    assert_eq!(verdict(share(), stale, 1.0), Verdict::StaleBaseline);
}

#[test]
fn a_floor_that_the_base_breaks_too_is_a_stale_baseline() {
    let share = || floor(Some(Bound::Historical { share_pct: 95.0 }), None);
    let record = exactly(share(), vec![old(100.0)], 80.0, 80.0);
    assert_eq!(
        (ruling(&record, "floor").verdict, record.judgement.outcome),
        (Verdict::StaleBaseline, Outcome::Inconclusive)
    );
    let value = floor(Some(Bound::Value { value: 95.0 }), None);
    assert_eq!(
        exactly(value, vec![], 80.0, 80.0).judgement.outcome,
        Outcome::Fail,
        "a declared figure stands whatever the base does"
    );
}

#[test]
fn an_implausible_gain_over_the_reference_is_said() {
    let mut maker = Maker::new(Some(used(vec![old(100.0)])));
    maker.metrics[0].review_above_pct = Some(50.0);
    maker.rules = vec![floor(Some(Bound::Historical { share_pct: 95.0 }), None)];
    let record = maker.steady(100.0, 225.0);
    let found = ruling(&record, "floor");
    assert!(
        found
            .warnings
            .iter()
            .any(|warning| warning.contains("suspicious improvement: a gain of +125")),
        "{:?}",
        found.warnings
    );
}

#[test]
fn lower_is_better_has_a_ceiling() {
    let time = metric("tg:lower:ms");
    let mut maker = Maker::new(Some(used(vec![historical(line("q4", &time, "2026-04-28", 80.0), "median")])));
    maker.metrics = vec![time];
    maker.rules = vec![floor(None, Some(Bound::Historical { share_pct: 105.0 }))];
    let of = |candidate: f64| ruling(&maker.steady(1.0, candidate), "floor").clone();
    assert_eq!((of(83.0).verdict, of(85.0).verdict), (Verdict::NoRegression, Verdict::Regression));
    assert!(of(83.0).warnings.is_empty(), "a median is compared with a median");
}
