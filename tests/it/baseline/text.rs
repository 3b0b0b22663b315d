//! What is read is written byte for byte, and what is written reads back.

use std::collections::BTreeMap;
use std::fs;

use gate::model::baseline::{BandLine, Baseline, SampleLine, parse};
use gate::model::metric::Better;
use gate::model::unit::Unit;
use proptest::prelude::*;

use crate::sources::{root, sources};

fn line(fixture: &str, metric: &str, date: &str, record: &str) -> SampleLine {
    SampleLine {
        fixture: fixture.to_owned(),
        metric: metric.to_owned(),
        unit: Unit::parse("tok/s").unwrap(),
        better: Better::Higher,
        date: date.to_owned(),
        identity: Some("9f2c41aa".to_owned()),
        record: Some(record.to_owned()),
        values: vec![152.1, 0.1 + 0.2, 1e300, 5e-324 * 1e10],
        extras: BTreeMap::new(),
    }
}

#[test]
fn right_files_are_written_as_they_were() {
    let mut files = sources(&["tests/data/baseline/right"]);
    files.extend(sources(&["baselines"]).into_iter().filter(|file| file.path.ends_with(".txt")));
    assert!(files.len() >= 4, "the right files are missing");
    for file in files {
        let name = if file.path.starts_with("baselines/") {
            file.path.as_str()
        } else {
            "gfx942.txt"
        };
        let baseline = parse(&file.text, name).unwrap_or_else(|fault| panic!("{}: {fault}", file.path));
        assert_eq!(baseline.write(), file.text, "{}", file.path);
    }
}

#[test]
fn the_documented_file_says_what_it_says() {
    let text = fs::read_to_string(root().join("tests/data/baseline/right/as-documented.txt")).unwrap();
    let baseline = parse(&text, "baselines/gfx942.txt").unwrap();
    let [current, old] = baseline.samples().cloned().collect::<Vec<_>>().try_into().unwrap();
    assert_eq!(current.values, [152.1, 152.6, 151.9, 152.4]);
    assert_eq!(
        (current.identity.as_deref(), current.record.as_deref()),
        (Some("9f2c41aa"), Some("71e03c9d5b20"))
    );
    assert!(!current.is_historical() && old.is_historical());
    assert_eq!(
        (old.stat(), old.extra("source"), old.identity.as_deref()),
        (Some("best-of-2"), Some("hipfire"), None)
    );
    let band = baseline.bands().next().unwrap();
    assert_eq!(
        (band.sd_pct, band.low, band.high, band.df, band.sessions),
        (0.71, 0.55, 0.98, 26, 4)
    );
}

#[test]
fn the_committed_figures_are_hipfires() {
    let text = fs::read_to_string(root().join("baselines/gfx942.txt")).unwrap();
    let baseline = parse(&text, "baselines/gfx942.txt").unwrap();
    assert_eq!(baseline.samples().count(), 12);
    assert!(baseline.samples().all(|line| {
        line.is_historical() && line.stat() == Some("best-of-2") && line.extra("source") == Some("hipfire") && line.date == "2026-04-28"
    }));
    let of = |fixture: &str, metric: &str| baseline.samples().find(|line| line.is_of(fixture, metric)).unwrap().values.clone();
    assert_eq!(of("9b_mq4", "gen_tok_s"), [164.0]);
    assert_eq!(of("9b_mq4_pp128", "prefill_tok_s"), [1306.3]);
    assert_eq!(of("0.8b_mq4_pp32", "prefill_tok_s"), [767.7]);
}

#[test]
fn an_inserted_line_moves_no_other() {
    let text = fs::read_to_string(root().join("tests/data/baseline/right/hand-written.txt")).unwrap();
    let before = parse(&text, "gfx942.txt").unwrap();
    for new in [
        line("", "a", "2026-11-30", "aaaaaaaaaaaa"),
        line("zz", "z", "2026-11-30", "aaaaaaaaaaaa"),
        line("ant", "err", "2026-11-30", "aaaaaaaaaaaa"),
    ] {
        let mut after = before.clone();
        after.insert(new.clone()).unwrap();
        let written = after.write();
        assert_eq!(parse(&written, "gfx942.txt").unwrap(), after);
        let without: String = written.split_inclusive('\n').filter(|line| *line != format!("{new}\n")).collect();
        assert_eq!(without, text, "some other line moved");
    }
}

#[test]
fn lines_stand_by_fixture_and_metric_the_newest_first() {
    let mut baseline = Baseline::new("gfx942");
    for (fixture, metric, date, record) in [
        ("b", "m", "2026-01-01", "000000000001"),
        ("a", "n", "2026-01-01", "000000000001"),
        ("b", "m", "2026-03-01", "000000000003"),
        ("a", "m", "2026-01-01", "000000000001"),
        ("b", "m", "2026-02-01", "000000000002"),
    ] {
        baseline.insert(line(fixture, metric, date, record)).unwrap();
    }
    let order: Vec<String> = baseline
        .samples()
        .map(|line| format!("{} {} {}", line.fixture, line.metric, line.date))
        .collect();
    assert_eq!(
        order,
        [
            "a m 2026-01-01",
            "a n 2026-01-01",
            "b m 2026-03-01",
            "b m 2026-02-01",
            "b m 2026-01-01"
        ]
    );
    let again = baseline.insert(line("b", "m", "2026-02-01", "000000000002")).unwrap_err();
    assert!(again.0.contains("in the baseline already"), "{again}");
}

#[test]
fn replacing_keeps_history_and_foreign_lines() {
    let mut baseline = Baseline::new("gfx942");
    let mut old = line("a", "m", "2025-01-01", "000000000000");
    (old.identity, old.record) = (None, None);
    old.extras.insert("status".to_owned(), "historical".to_owned());
    for kept in [old, line("b", "m", "2026-01-01", "000000000001")] {
        baseline.insert(kept).unwrap();
    }
    baseline.insert(line("a", "m", "2026-01-01", "000000000001")).unwrap();
    baseline.insert(line("a", "m", "2026-01-02", "000000000002")).unwrap();
    baseline.replace(line("a", "m", "2026-01-03", "000000000003")).unwrap();
    let dates: Vec<&str> = baseline.samples().map(|line| line.date.as_str()).collect();
    assert_eq!(dates, ["2026-01-03", "2025-01-01", "2026-01-01"]);
}

#[test]
fn bands_stand_after_samples_and_one_replaces_another() {
    let band = |sd_pct: f64| BandLine {
        fixture: "a".to_owned(),
        metric: "m".to_owned(),
        sd_pct,
        low: 0.1,
        high: 2.0,
        df: 8,
        sessions: 1,
        identity: "9f2c41aa".to_owned(),
        record: "000000000001".to_owned(),
        extras: BTreeMap::new(),
    };
    let mut baseline = Baseline::new("gfx942");
    baseline.replace_band(band(0.5)).unwrap();
    baseline.replace_band(band(0.7)).unwrap();
    baseline.insert(line("a", "m", "2026-01-01", "000000000001")).unwrap();
    let text = baseline.write();
    assert!(text.ends_with("band  a  m  0.7  0.1  2  8  1  9f2c41aa  000000000001\n"), "{text}");
    assert_eq!(baseline.bands().count(), 1);
    let kinds: Vec<&str> = text.lines().skip(2).map(|line| line.split("  ").next().unwrap()).collect();
    assert_eq!(
        kinds,
        ["# sample", "sample", "# band", "band"],
        "each kind below its head, which stands once"
    );
    assert!(baseline.replace_band(band(3.0)).unwrap_err().0.contains("not between"));
}

#[test]
fn what_would_not_read_back_is_not_written() {
    let mut baseline = Baseline::new("gfx942");
    let good = line("a", "m", "2026-01-01", "000000000001");
    let spoil = |change: &dyn Fn(&mut SampleLine)| {
        let mut bad = good.clone();
        change(&mut bad);
        bad
    };
    for bad in [
        spoil(&|line| line.values = vec![f64::NAN]),
        spoil(&|line| line.values = vec![0.0]),
        spoil(&|line| line.values.clear()),
        spoil(&|line| line.metric.clear()),
        spoil(&|line| line.date = "today".to_owned()),
        spoil(&|line| line.identity = None),
        spoil(&|line| line.identity = Some("9F2C41AA".to_owned())),
        spoil(&|line| drop(line.extras.insert("bad key".to_owned(), String::new()))),
        spoil(&|line| line.values = vec![1.5; 40_000]),
    ] {
        let before = baseline.clone();
        assert!(baseline.insert(bad.clone()).is_err(), "{bad:?}");
        assert_eq!(baseline, before);
    }
}

fn any_line() -> impl Strategy<Value = SampleLine> {
    let name = prop_oneof![any::<String>(), "[a-z0-9_.%= #-]{0,12}"];
    let metric = prop_oneof![any::<String>(), "[a-z0-9_.%= #-]{1,12}"].prop_filter("a metric needs a name", |name| !name.is_empty());
    let values = prop::collection::vec(prop_oneof![f64::MIN_POSITIVE..1e308, 0.001..1000.0], 1..20);
    let notes = prop::collection::btree_map("[a-z][a-z0-9_]{0,8}x", any::<String>(), 0..4);
    (name, metric, values, notes, 0_u64..1 << 48).prop_map(|(fixture, metric, values, extras, record)| SampleLine {
        values,
        extras,
        ..line(&fixture, &metric, "2026-11-30", &format!("{record:012x}"))
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    #[test]
    fn what_is_written_reads_back(lines in prop::collection::vec(any_line(), 0..8)) {
        let mut baseline = Baseline::new("cpu-x86_64");
        for line in lines {
            baseline.insert(line).unwrap();
        }
        let text = baseline.write();
        let back = parse(&text, "baselines/cpu-x86_64.txt").unwrap();
        prop_assert_eq!(&back, &baseline);
        prop_assert_eq!(back.write(), text);
    }

    #[test]
    fn hostile_text_is_refused_or_kept(text in "(gate-baseline 1\n)?(arch gfx942\n)?((sample|band|#|-|q4|tok/s|higher|2026-11-30|9f2c41aa|71e03c9d5b20|1[.]5|%|=|a=b|\\PC| |\t|\n| ){0,40}\n){0,3}") {
        if let Ok(baseline) = parse(&text, "gfx942.txt") {
            prop_assert_eq!(baseline.write(), text);
        }
    }
}
