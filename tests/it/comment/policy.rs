//! What each answer does to a change: the table of the commit status, the check run and the headline, row by row.

use gate::model::github::{Conclusion, State};
use gate::model::judgement::{Disposition, Outcome, Ruling, Verdict};
use gate::model::plan::OnInconclusive;
use gate::model::record::Record;
use gate::render::comment::{headline, is_news, page};
use gate::render::policy::Policy;
use gate::render::status::{annotations, check, status};

use super::about;
use crate::synthetic::{Session, noisy};

fn passed() -> Record {
    Session::new().whole(noisy(0.0, 0.3, 3)).record()
}

fn regressed() -> Record {
    Session::new().whole(noisy(8.0, 0.5, 1)).record()
}

fn waived() -> Record {
    let mut record = regressed();
    let ruling = &mut record.judgement.verdicts[0];
    (ruling.verdict, ruling.outcome) = (Verdict::Waived, Outcome::Pass);
    record.judgement.outcome = Outcome::Pass;
    record
}

fn open(on_inconclusive: OnInconclusive) -> Record {
    let session = Session::new().cap(6).planned(|plan| plan.on_inconclusive = on_inconclusive);
    let record = session.whole(noisy(1.0, 1.0, 6)).record();
    assert_eq!(record.judgement.outcome, Outcome::Inconclusive);
    record
}

fn worth(disposition: Disposition, mut record: Record) -> Record {
    record.judgement.disposition = disposition;
    record
}

fn came_to(outcome: Outcome, cancelled: Option<&str>) -> Record {
    let mut record = passed();
    record.judgement.outcome = outcome;
    record.cancelled = cancelled.map(str::to_owned);
    record
}

#[test]
fn each_answer_has_its_row() {
    let rows: [(&str, Vec<Record>, State, Conclusion, &str); 13] = [
        ("pass", vec![passed()], State::Success, Conclusion::Success, "pass"),
        (
            "a candidate for promotion",
            vec![worth(Disposition::PromotionCandidate, passed())],
            State::Success,
            Conclusion::Success,
            "pass (a candidate for promotion)",
        ),
        (
            "a waiver",
            vec![passed(), waived()],
            State::Success,
            Conclusion::Success,
            "pass (waived: needs a code owner's review of gates/waivers)",
        ),
        (
            "regression",
            vec![regressed()],
            State::Failure,
            Conclusion::Failure,
            "fail: regression",
        ),
        (
            "an exploratory regression fails all the same",
            vec![worth(Disposition::Exploratory, regressed())],
            State::Failure,
            Conclusion::Failure,
            "fail: regression",
        ),
        (
            "one of several regressed",
            vec![passed(), regressed()],
            State::Failure,
            Conclusion::Failure,
            "fail: regression",
        ),
        (
            "exploratory",
            vec![worth(Disposition::Exploratory, passed())],
            State::Success,
            Conclusion::Neutral,
            "pass (exploratory: not gating)",
        ),
        (
            "exploratory beside measured",
            vec![worth(Disposition::Exploratory, passed()), passed()],
            State::Success,
            Conclusion::Success,
            "pass",
        ),
        (
            "historical",
            vec![worth(Disposition::Historical, regressed())],
            State::Success,
            Conclusion::Neutral,
            "",
        ),
        (
            "error",
            vec![came_to(Outcome::Error, None)],
            State::Error,
            Conclusion::Failure,
            "error (the question could not be put)",
        ),
        (
            "cancelled",
            vec![came_to(Outcome::Error, Some("SIGINT"))],
            State::Error,
            Conclusion::Cancelled,
            "error (the run was cancelled)",
        ),
        (
            "violation",
            vec![came_to(Outcome::Violation, None)],
            State::Failure,
            Conclusion::Failure,
            "violation",
        ),
        (
            "no report",
            vec![],
            State::Error,
            Conclusion::Failure,
            "no report (there is no report)",
        ),
    ];
    let head = "a".repeat(40);
    for (what, records, state, conclusion, description) in rows {
        let policy = Policy::of(&records);
        assert_eq!((policy.state, policy.conclusion), (state, conclusion), "{what}");
        let status = status(&records, "gate", &head, None);
        assert_eq!(status.map(|status| status.description).unwrap_or_default(), description, "{what}");
        assert_eq!(check(&records, "gate", &about()).conclusion, conclusion, "{what}");
        let blocks = page(&records, &about()).lines().next().unwrap().contains("(blocks");
        assert_eq!(blocks, state != State::Success, "{what}");
    }
}

#[test]
fn row_43_an_inconclusive_answer_does_as_the_gate_declares_and_says_so() {
    let strict = [open(OnInconclusive::Fail)];
    let advisory = [open(OnInconclusive::Advisory)];
    for (records, state, conclusion, says) in [
        (&strict, State::Failure, Conclusion::Failure, "no answer is no pass"),
        (
            &advisory,
            State::Success,
            Conclusion::Neutral,
            "the gate declares that an inconclusive answer does not block",
        ),
    ] {
        let policy = Policy::of(records);
        assert_eq!((policy.state, policy.conclusion), (state, conclusion));
        let status = status(records, "gate", &"a".repeat(40), None).unwrap();
        assert!(status.description.contains(says), "{}", status.description);
        let check = check(records, "gate", &about());
        assert!(check.title.contains(says), "{}", check.title);
        let first = page(records, &about()).lines().next().unwrap().to_owned();
        assert!(first.contains(says), "{first}");
    }
    // One gate's word does not excuse another's.
    let both = [strict, advisory].concat();
    assert_eq!(Policy::of(&both).state, State::Failure);
}

/// A record of many rulings with long names.
fn long(letter: &str, count: usize) -> Record {
    let mut record = regressed();
    record.gate.rules[0].at = "gates/perf.toml:41".to_owned();
    let model = record.judgement.verdicts[0].clone();
    let ruling = |at| Ruling {
        metric: format!("{at}{}", letter.repeat(90)),
        because: letter.repeat(5000),
        ..model.clone()
    };
    record.judgement.verdicts = (0..count).map(ruling).collect();
    record
}

#[test]
fn row_23_the_summary_of_a_check_run_is_counted_in_bytes() {
    for letter in ["a", "測", "🦀"] {
        let check = check(&[long(letter, 2000)], &letter.repeat(100), &about());
        assert!(
            check.summary.len() <= 65_535 && check.summary.len() > 50_000,
            "{}",
            check.summary.len()
        );
        assert!(check.title.len() <= 255);
        assert!(
            check
                .annotations
                .iter()
                .all(|remark| remark.title.len() <= 255 && remark.message.len() <= 4096)
        );
        let status = status(&[long(letter, 3)], "gate", &"a".repeat(40), None).unwrap();
        assert!(status.description.len() <= 140);
    }
}

#[test]
fn row_24_a_check_run_has_a_remark_on_every_row_in_batches() {
    let check = check(&[long("a", 180)], "gate", &about());
    assert_eq!(check.annotations.len(), 180);
    assert!(
        check
            .annotations
            .iter()
            .all(|remark| remark.path == "gates/perf.toml" && remark.line == 41)
    );
    let repository = gate::model::github::Repository::parse("o/r").unwrap();
    let of = |body: &serde_json::Value| body["output"]["annotations"].as_array().unwrap().len();
    let mut batches = vec![of(&check.create(&repository).body)];
    batches.extend(check.append(&repository, 7).iter().map(|request| of(&request.body)));
    assert_eq!(batches, [50, 50, 50, 30]);
}

#[test]
fn remarks_are_gravest_first_and_only_on_what_needs_eyes() {
    let mut record = regressed();
    let model = record.judgement.verdicts[0].clone();
    let ruling = |verdict: Verdict, required| Ruling {
        verdict,
        outcome: verdict.outcome(),
        required,
        ..model.clone()
    };
    record.judgement.verdicts = vec![
        ruling(Verdict::NoRegression, true),
        ruling(Verdict::Improvement, true),
        ruling(Verdict::Inconclusive, true),
        ruling(Verdict::Regression, false),
        ruling(Verdict::Regression, true),
        ruling(Verdict::New, true),
    ];
    let levels: Vec<String> = annotations(&[record])
        .iter()
        .map(|remark| serde_json::to_value(remark.level).unwrap().as_str().unwrap().to_owned())
        .collect();
    assert_eq!(levels, ["failure", "warning", "warning", "notice"]);
}

#[test]
fn what_is_news_is_what_somebody_has_to_look_at() {
    assert!(!is_news(&[passed()]));
    for records in [vec![regressed()], vec![passed(), open(OnInconclusive::Advisory)], vec![]] {
        assert!(is_news(&records));
    }
    assert!(is_news(&[Session::new().whole(noisy(-6.0, 0.3, 3)).record()]), "an improvement");
    assert_eq!(headline(&[passed(), regressed()]), "fail: regression");
}
