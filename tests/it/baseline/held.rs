//! Holding the level of the accepted sessions.

use gate::judge::{Case, judge, same};
use gate::model::baseline::{Baseline, BaselineUse, SampleLine, Source};
use gate::model::gate::Against;
use gate::model::judgement::{Disposition, Outcome, Verdict};
use gate::model::record::Record;
use gate::model::sample::Arm;

use super::case::{ARCH, Maker, base_build, historical, line, metric, rule, ruling, tolerance, used};

/// Accepted sessions of `tg` of `q4`, one a day, the last on 2026-11-20.
fn sessions(values: &[f64]) -> Vec<SampleLine> {
    let metric = metric("tg:higher:tok/s");
    let first = 21 - values.len();
    let line = |(day, value): (usize, &f64)| line("q4", &metric, &format!("2026-11-{day:02}"), *value);
    (first..).zip(values).map(line).collect()
}

const FIVE: [f64; 5] = [99.0, 100.0, 101.0, 100.5, 99.5];

fn verdict(record: &Record) -> (Verdict, Outcome, Disposition) {
    let ruling = ruling(record, "hold");
    (ruling.verdict, record.judgement.outcome, record.judgement.disposition)
}

/// The candidate alone is judged: the base arm is of another build, and stands where the sessions do.
fn against(values: &[f64], candidate: f64) -> Record {
    Maker::new(Some(used(sessions(values)))).steady(100.0, candidate)
}

#[test]
fn ten_percent_are_seen_and_the_same_level_holds() {
    let record = against(&FIVE, 90.0);
    assert_eq!(verdict(&record), (Verdict::Regression, Outcome::Fail, Disposition::RejectedNull));
    let found = ruling(&record, "hold");
    let estimate = found.estimate.unwrap();
    assert!((-10.2..-9.8).contains(&estimate), "{estimate}");
    let [low, high] = found.interval.unwrap();
    assert!(low < estimate && estimate < high && high < -5.0, "{low} {high}");
    assert_eq!((found.base.unwrap().n, found.tolerance), (5, 5.0), "sessions are the unit");
    assert!(found.because.contains("against 5 accepted sessions"), "{}", found.because);

    for candidate in [97.0, 100.0, 103.0] {
        let record = against(&FIVE, candidate);
        assert_eq!(
            verdict(&record),
            (Verdict::NoRegression, Outcome::Pass, Disposition::Measured),
            "at {candidate}"
        );
    }
    assert_eq!(verdict(&against(&FIVE, 110.0)).0, Verdict::Improvement);
}

#[test]
fn a_regression_needs_the_t_and_the_tolerance() {
    let quiet = [100.0, 100.1, 99.9, 100.05, 99.95];
    assert_eq!(
        verdict(&against(&quiet, 97.0)),
        (Verdict::SmallSlowdown, Outcome::Pass, Disposition::Measured),
        "t alone"
    );
    let wild = [90.0, 100.0, 110.0];
    assert_eq!(verdict(&against(&wild, 92.0)).0, Verdict::Inconclusive, "the tolerance alone");
    assert_eq!(verdict(&against(&quiet, 94.0)).0, Verdict::Regression, "both");
    let same = [100.0; 3];
    assert_eq!(
        verdict(&against(&same, 100.0)).0,
        Verdict::NoRegression,
        "sessions without any spread"
    );
    assert_eq!(verdict(&against(&same, 94.0)).0, Verdict::Regression);
}

#[test]
fn lower_is_better_and_absolute_tolerances_count_the_same_way() {
    let time = metric("t:lower:ms");
    let lines: Vec<SampleLine> = (1..6)
        .map(|day| line("q4", &time, &format!("2026-11-{day:02}"), 100.0 + f64::from(day % 2)))
        .collect();
    let mut maker = Maker::new(Some(used(lines)));
    maker.metrics = vec![metric("t:lower:s")];
    let judged = |maker: &Maker, candidate: f64| maker.steady(0.1, candidate);
    assert_eq!(
        verdict(&judged(&maker, 0.110)).0,
        Verdict::Regression,
        "milliseconds compare with seconds"
    );
    assert_eq!(verdict(&judged(&maker, 0.090)).0, Verdict::Improvement);
    maker.rules[0].tolerance = tolerance("20 ms");
    let record = judged(&maker, 0.110);
    assert_eq!(verdict(&record).0, Verdict::SmallSlowdown);
    assert_eq!(ruling(&record, "hold").tolerance, 0.02);
    assert_eq!(verdict(&judged(&maker, 0.125)).0, Verdict::Regression);
}

#[test]
fn fewer_than_three_sessions_advise_and_never_fail() {
    for count in [1, 2] {
        let record = against(&FIVE[..count], 50.0);
        assert_eq!(
            verdict(&record),
            (Verdict::Advisory, Outcome::Inconclusive, Disposition::Measured),
            "{count} sessions"
        );
        let found = ruling(&record, "hold");
        assert!((found.estimate.unwrap() + 50.0).abs() < 1.0, "the ratio is shown");
        assert_eq!(found.interval, None);
    }
    let mut maker = Maker::new(Some(used(sessions(&FIVE[..1]))));
    maker.rules[0].required = false;
    maker.rules.push(rule("hold", Against::Base));
    let record = maker.steady(100.0, 100.0);
    assert_eq!(verdict(&record), (Verdict::Advisory, Outcome::Pass, Disposition::Measured));
}

#[test]
fn without_a_current_line_the_answer_is_not_measured_and_names_the_command() {
    let absent = BaselineUse {
        digest: None,
        ..used(Vec::new())
    };
    let foreign = BaselineUse {
        file: "baselines/gfx942.txt".to_owned(),
        arch: "gfx942".to_owned(),
        ..used(sessions(&FIVE))
    };
    let old = used(vec![historical(sessions(&FIVE[..1]).remove(0), "best-of-2")]);
    for (used, why) in [
        (absent, "there is no file baselines/cpu-x86_64.txt"),
        (foreign, "baselines/gfx942.txt is of gfx942"),
        (
            old,
            "only the historical 99.00 tok/s of 2026-11-20 (best-of-2, hipfire), which is no reference for a claim",
        ),
        (used(Vec::new()), "has no session of it"),
    ] {
        let record = Maker::new(Some(used)).steady(100.0, 100.0);
        assert_eq!(
            verdict(&record),
            (Verdict::NotMeasured, Outcome::Inconclusive, Disposition::Measured),
            "{why}"
        );
        let found = ruling(&record, "hold");
        assert!(
            found.because.contains("No current line for cpu-x86_64") && found.because.contains(why),
            "{}",
            found.because
        );
        let commands = [
            "`gate perf --gate gates/x.toml`",
            "`gate baseline accept last --baseline baselines/cpu-x86_64.txt`",
        ];
        assert!(commands.iter().all(|command| found.next.contains(command)), "{}", found.next);
        assert_eq!(found.estimate, None);
    }
    let record = Maker::new(None).steady(100.0, 100.0);
    assert!(ruling(&record, "hold").because.contains("none was named"));
}

#[test]
fn another_identity_is_stale_and_never_a_number() {
    let mut lines = sessions(&FIVE);
    lines.iter_mut().for_each(|line| line.identity = Some("00000000".to_owned()));
    let record = Maker::new(Some(used(lines))).steady(100.0, 50.0);
    assert_eq!(
        verdict(&record),
        (Verdict::StaleBaseline, Outcome::Inconclusive, Disposition::Measured)
    );
    let found = ruling(&record, "hold");
    assert_eq!((found.estimate, found.interval, found.base), (None, None, None));
    assert!(found.because.contains("identity 00000000"), "{}", found.because);

    let mut maker = Maker::new(Some(used(sessions(&FIVE))));
    maker.identity.config.clear();
    let record = maker.steady(100.0, 50.0);
    assert_eq!(verdict(&record).0, Verdict::StaleBaseline, "what is unknown equals nothing");
    assert!(ruling(&record, "hold").because.contains("config (not recorded)"));
}

#[test]
fn the_accepted_build_elsewhere_is_a_shifted_environment() {
    let mut lines = sessions(&FIVE);
    lines[2].extras.insert("binary".to_owned(), base_build());
    let mut maker = Maker::new(Some(used(lines)));
    maker.rules.push(rule("hold", Against::Base));
    maker.rules[0].required = false;
    for base in [85.0, 115.0] {
        let record = maker.steady(base, base);
        let found = ruling(&record, "hold");
        assert_eq!((found.verdict, found.estimate), (Verdict::EnvironmentShift, None));
        assert_eq!(
            record.judgement.outcome,
            Outcome::Pass,
            "what was compared within the session stands"
        );
        assert_eq!(record.judgement.disposition, Disposition::RejectedNull, "a confounder");
    }
    let record = maker.steady(100.0, 90.0);
    assert_eq!(ruling(&record, "hold").verdict, Verdict::Regression, "the environment is as it was");
}

#[test]
fn another_build_below_the_baseline_is_a_warning() {
    let mut maker = Maker::new(Some(used(sessions(&FIVE))));
    maker.rules.push(rule("hold", Against::Base));
    maker.rules[0].required = false;
    let record = maker.steady(85.0, 85.0);
    let found = ruling(&record, "hold");
    assert_eq!(found.verdict, Verdict::Regression);
    let warning = found
        .warnings
        .iter()
        .find(|warning| warning.starts_with("base_below_baseline"))
        .expect("no warning");
    assert!(warning.contains("not this change") && warning.contains("-14.99 %"), "{warning}");
    assert_eq!(record.judgement.outcome, Outcome::Pass, "beside a base arm the rule advises");
    assert_eq!(record.judgement.disposition, Disposition::Measured);
}

#[test]
fn age_creep_and_suspicious_gains_are_said() {
    let warnings = |record: &Record| ruling(record, "hold").warnings.join("\n");
    let mut old = used(sessions(&FIVE));
    old.today = "2026-12-21".to_owned();
    let said = warnings(&Maker::new(Some(old.clone())).steady(100.0, 100.0));
    assert!(said.contains("31 days old (2026-11-20, more than 30 days)"), "{said}");
    old.today = "2026-12-20".to_owned();
    assert!(!warnings(&Maker::new(Some(old)).steady(100.0, 100.0)).contains("days old"));

    let plain = against(&FIVE, 100.0);
    let because = &ruling(&plain, "hold").because;
    assert!(
        because.contains("since the anchor, the session of 2026-11-16 with 99.00") && !warnings(&plain).contains("creep"),
        "{because}"
    );
    let crept = warnings(&against(&[100.0, 98.0, 96.0, 94.0], 93.0));
    assert!(
        crept.contains("creep: -6.95 %") && crept.contains("the session of 2026-11-17 with 100.0"),
        "{crept}"
    );
    let mut anchored = sessions(&[94.0, 95.0, 94.5]);
    anchored[0].extras.insert("anchor".to_owned(), "2026-01-02@102".to_owned());
    let said = warnings(&Maker::new(Some(used(anchored))).steady(94.0, 94.0));
    assert!(said.contains("creep: -7.8") && said.contains("2026-01-02 with 102.0"), "{said}");

    let mut maker = Maker::new(Some(used(sessions(&FIVE))));
    maker.metrics[0].review_above_pct = Some(30.0);
    assert!(!warnings(&maker.steady(100.0, 129.0)).contains("suspicious"));
    assert!(warnings(&maker.steady(100.0, 131.0)).contains("suspicious improvement: a gain of +31.0"));
    maker.rules = vec![rule("hold", Against::Base)];
    let record = maker.steady(100.0, 131.0);
    assert!(
        record.judgement.verdicts[0]
            .warnings
            .iter()
            .any(|warning| warning.contains("suspicious improvement"))
    );
    assert_eq!(record.judgement.outcome, Outcome::Pass);
}

#[test]
fn a_new_metric_is_noted_and_a_renamed_one_is_asked_about() {
    let mut maker = Maker::new(Some(used(sessions(&FIVE))));
    maker.metrics.push(metric("z:higher:tok/s"));
    let of = |record: &Record, name: &str| {
        record
            .judgement
            .verdicts
            .iter()
            .find(|ruling| ruling.metric == name)
            .unwrap()
            .clone()
    };
    let record = maker.steady(100.0, 100.0);
    assert_eq!((of(&record, "z").verdict, record.judgement.outcome), (Verdict::New, Outcome::Pass));

    let mut lines = sessions(&FIVE);
    lines.push(line("q4", &metric("y:higher:tok/s"), "2026-11-20", 100.0));
    maker.baseline = Some(used(lines));
    let record = maker.steady(100.0, 101.0);
    let found = of(&record, "z");
    assert_eq!((found.verdict, record.judgement.outcome), (Verdict::New, Outcome::Inconclusive));
    assert!(
        found.because.contains("y of q4 has gone") && found.because.contains("renamed?"),
        "{}",
        found.because
    );
    let value = |_: &str, name: &str, _: Arm| if name == "z" { 50.0 } else { 100.0 };
    let record = maker.session(&value);
    assert_eq!(record.judgement.outcome, Outcome::Pass, "other figures are no rename");
    assert!(of(&record, "z").warnings[0].contains("not measured here: y of q4"));
}

#[test]
fn a_direction_or_unit_of_its_own_does_not_compare() {
    for flag in ["tg:lower:tok/s", "tg:higher:req/s"] {
        let mut maker = Maker::new(Some(used(sessions(&FIVE))));
        maker.metrics = vec![metric(flag)];
        assert_eq!(verdict(&maker.steady(100.0, 100.0)).0, Verdict::Incomparable, "{flag}");
    }
}

#[test]
fn beside_a_base_arm_the_session_is_no_longer_for_it() {
    let mut maker = Maker::new(Some(used(sessions(&FIVE))));
    maker.blocks = 14;
    let alone = maker.steady(100.0, 92.0);
    assert_eq!(alone.evidence.samples.len(), 16, "four blocks where no other rule says how many");
    maker.rules = vec![rule("hold", Against::Base)];
    let base = maker.steady(100.0, 92.0);
    maker.rules.push(rule("hold", Against::Baseline));
    let both = maker.steady(100.0, 92.0);
    assert_eq!(both.evidence.samples, base.evidence.samples);
    assert_eq!(
        both.judgement.verdicts[0], base.judgement.verdicts[0],
        "the error rates of the base's rule are its own"
    );
    assert_eq!(ruling(&both, "hold").verdict, Verdict::Regression);
}

#[test]
fn without_a_base_arm_every_planned_run_is_taken() {
    let mut maker = Maker::new(Some(used(sessions(&FIVE))));
    (maker.alone, maker.blocks) = (true, 8);
    maker.rules.push(rule("hold", Against::Base));
    let record = maker.steady(0.0, 90.0);
    assert_eq!(
        record.evidence.samples.len(),
        8,
        "one run a block, and no rule of the base arm ends it early"
    );
    assert!(record.evidence.samples.iter().all(|sample| sample.arm == Arm::B));
    assert_eq!(verdict(&record), (Verdict::Regression, Outcome::Fail, Disposition::RejectedNull));
    assert_eq!(
        verdict(&maker.steady(0.0, 100.0)),
        (Verdict::NoRegression, Outcome::Pass, Disposition::Measured)
    );
    maker.baseline = Some(used(sessions(&FIVE[..2])));
    assert_eq!(
        verdict(&maker.steady(0.0, 100.0)),
        (Verdict::Advisory, Outcome::Inconclusive, Disposition::Measured)
    );
}

#[test]
fn a_record_is_judged_again_without_the_file() {
    let record = against(&FIVE, 94.4);
    let back: Record = serde_json::from_str(&record.line().unwrap()).unwrap();
    assert_eq!(
        back,
        Record {
            judgement: back.judgement.clone(),
            ..record.clone()
        }
    );
    same(&record.judgement, &judge(&Case::from(&back))).unwrap();
}

#[test]
fn only_lines_that_may_matter_go_into_the_record() {
    let mut baseline = Baseline::new(ARCH);
    let (tg, pp) = (metric("tg:higher:tok/s"), metric("pp:higher:tok/s"));
    for (fixture, metric) in [("q4", &tg), ("q4", &pp), ("q8", &tg), ("q8", &pp)] {
        baseline.insert(line(fixture, metric, "2026-11-01", 1.0)).unwrap();
    }
    let record = Maker::new(None).steady(1.0, 1.0);
    let source = Source {
        file: format!("baselines/{ARCH}.txt"),
        digest: Some("b3:00".to_owned()),
        from: Some("1a2b3c4".to_owned()),
        today: "2026-11-30".to_owned(),
        stale_after_days: 30,
    };
    let used = BaselineUse::select(Some(&baseline), source.clone(), &record.gate, &record.plan.cells);
    let kept: Vec<(&str, &str)> = used
        .lines
        .iter()
        .map(|line| (line.fixture.as_str(), line.metric.as_str()))
        .collect();
    assert_eq!(kept, [("q4", "pp"), ("q4", "tg"), ("q8", "tg")]);
    let absent = BaselineUse::select(None, Source { digest: None, ..source }, &record.gate, &record.plan.cells);
    assert_eq!((absent.arch.as_str(), absent.lines.len()), (ARCH, 0));
}
