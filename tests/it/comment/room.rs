//! Pages that are too large: what is left out, what never is, and that the page says so.

use gate::model::github::{Draft, Key, Marker, Run};
use gate::model::judgement::{Outcome, Ruling, Verdict};
use gate::model::record::Record;
use gate::render::comment::page;

use super::about;
use crate::synthetic::{Session, noisy};

/// A record of many benchmarks: rulings of these verdicts, as many as said, with these names.
fn many(kinds: &[(Verdict, usize)], name: impl Fn(usize) -> String) -> Record {
    let mut record = Session::new().whole(noisy(8.0, 0.5, 1)).record();
    let model = record.judgement.verdicts[0].clone();
    let verdicts = kinds.iter().flat_map(|&(verdict, count)| std::iter::repeat_n(verdict, count));
    let ruling = |(at, verdict): (usize, Verdict)| Ruling {
        metric: name(at),
        verdict,
        outcome: verdict.outcome(),
        ..model.clone()
    };
    record.judgement.verdicts = verdicts.enumerate().map(ruling).collect();
    record.judgement.outcome = record
        .judgement
        .verdicts
        .iter()
        .map(|ruling| ruling.outcome)
        .max()
        .unwrap_or(Outcome::Inconclusive);
    record
}

/// The text as it is sent, behind a marker.
fn sent(records: &[Record]) -> String {
    let head = "9e8d7c6b".repeat(5);
    let marker = |head: &str, number| Marker {
        key: Key::parse(&"k".repeat(40)).unwrap(),
        run: Run {
            number,
            attempt: u32::MAX,
            id: u64::MAX,
        },
        head: head.to_owned(),
        before: None,
    };
    let draft = Draft {
        marker: marker(&head, u64::MAX),
        body: page(records, &about()),
        may_create: true,
    };
    draft.text(Some(&marker(&"0".repeat(64), 1)))
}

/// The lines that are seen before anything is unfolded.
fn seen(text: &str) -> Vec<&str> {
    let mut folded = false;
    let mut seen = Vec::new();
    for line in text.lines() {
        let drawn = !line.is_empty() && !line.starts_with("<!--") && !line.starts_with("| ---");
        if drawn && line != "</details>" && !folded {
            seen.push(line);
        }
        folded = (folded || line.starts_with("<details>")) && line != "</details>";
    }
    seen
}

fn is_whole(text: &str) {
    assert_eq!(text.matches("<details>").count(), text.matches("</details>").count());
    let rows = text.lines().filter(|line| line.starts_with('|'));
    for row in rows {
        let bars = row.replace("\\|", "").matches('|').count();
        assert!(row.ends_with('|') && [5, 7, 10].contains(&bars), "a row that is cut: {row}");
    }
}

/// O-32: 2,000 benchmarks.
#[test]
fn row_21_a_large_body_is_cut_at_rows_and_keeps_every_regression() {
    let kinds = [
        (Verdict::NoRegression, 1700),
        (Verdict::Regression, 150),
        (Verdict::Improvement, 150),
    ];
    let record = many(&kinds, |at| format!("bench_{at:04}/size:4096/threads:8"));
    let text = sent(&[record]);
    assert!(text.len() <= 60_000, "{}", text.len());
    assert!(text.len() > 50_000, "the room is used: {}", text.len());
    for at in 1700..1850 {
        assert!(text.contains(&format!("bench_{at}/")), "regression {at} was left out");
    }
    let notice = text
        .lines()
        .find(|line| line.starts_with("**Cut to fit"))
        .expect("a visible notice");
    assert!(seen(&text).contains(&notice), "{notice}");
    assert!(
        notice.contains("rows within band") && notice.contains("[summary of the run](https://"),
        "{notice}"
    );
    assert!(!notice.contains("failed"), "{notice}");
    assert!(
        text.contains("150 failed · 150 improved · 1700 within band"),
        "the counts are whole"
    );
    is_whole(&text);
}

#[test]
fn row_22_letters_of_several_bytes_are_never_cut() {
    let kinds = [
        (Verdict::Regression, 300),
        (Verdict::Inconclusive, 300),
        (Verdict::NoRegression, 700),
    ];
    for padding in 0..8 {
        let record = many(&kinds, |at| format!("{}測試🦀é|`<b>-{at}", "x".repeat(padding)));
        let text = sent(&[record]);
        assert!(text.len() <= 60_000 && std::str::from_utf8(text.as_bytes()).is_ok());
        is_whole(&text);
    }
}

#[test]
fn row_21_two_thousand_regressions_are_brief_before_any_is_left_out() {
    let brief = many(&[(Verdict::Regression, 1000)], |at| format!("b{at:04}"));
    let text = sent(&[brief]);
    for at in 0..1000 {
        assert!(text.contains(&format!("`b{at:04}`")), "regression {at} was left out");
    }
    assert!(text.len() <= 60_000 && seen(&text).len() <= 25);
    is_whole(&text);
    // Where not even their names fit, the page says how many are missing.
    let long = many(&[(Verdict::Regression, 2000)], |at| format!("{at:04}{}", "y".repeat(90)));
    let text = sent(&[long]);
    assert!(text.len() <= 60_000, "{}", text.len());
    let shown = (0..2000).filter(|at| text.contains(&format!("`{at:04}y"))).count();
    let notice = text
        .lines()
        .find(|line| line.starts_with("**Cut to fit"))
        .expect("a visible notice");
    assert!(
        notice.contains(&format!("{} rows of rules that failed", 2000 - shown)),
        "{shown} are shown: {notice}"
    );
    assert!(shown > 300 && text.contains("2000 failed"), "{shown}");
    is_whole(&text);
}

#[test]
fn at_most_25_lines_are_seen() {
    let all = [
        (Verdict::Improvement, 30),
        (Verdict::Inconclusive, 30),
        (Verdict::NotMeasured, 30),
        (Verdict::SmallSlowdown, 30),
        (Verdict::Regression, 30),
        (Verdict::NoRegression, 2000),
    ];
    let mut record = many(&all, |at| format!("bench_{at}"));
    record.context.banners = vec!["this change edits gates/perf.toml".to_owned(); 5];
    for records in [vec![record.clone()], vec![record; 5]] {
        let text = sent(&records);
        let seen = seen(&text);
        assert!((15..=25).contains(&seen.len()), "{}:\n{}", seen.len(), seen.join("\n"));
        assert!(text.len() <= 60_000);
        is_whole(&text);
    }
}

#[test]
fn regressions_stand_before_missing_before_inconclusive_before_improvements() {
    let kinds = [
        (Verdict::Improvement, 1),
        (Verdict::Inconclusive, 1),
        (Verdict::NotMeasured, 1),
        (Verdict::CandidateFailed, 1),
        (Verdict::SmallSlowdown, 1),
        (Verdict::Regression, 1),
    ];
    let mut record = many(&kinds, |at| format!("b{at}"));
    record.judgement.verdicts[3].estimate = None;
    let mut advisory = record.judgement.verdicts[5].clone();
    (advisory.required, advisory.metric) = (false, "b6".to_owned());
    record.judgement.verdicts.insert(0, advisory);
    let text = sent(&[record]);
    let table: Vec<&str> = text.lines().filter(|line| line.starts_with("| `b")).take(7).collect();
    let order: Vec<&str> = table.iter().map(|row| &row[3..5]).collect();
    assert_eq!(order, ["b3", "b5", "b6", "b2", "b1", "b4", "b0"], "{table:#?}");
}

#[test]
fn the_same_records_give_the_same_page() {
    let record = many(&[(Verdict::Regression, 20), (Verdict::NoRegression, 20)], |at| format!("b{at}"));
    let again = record.clone();
    assert_eq!(sent(&[record]), sent(&[again]));
}
