//! The rule: a task falls by more than the tolerance, or it does not.

use gate::judge::drop::{Demand, Report, Test, Threshold, judge};
use gate::model::eval::Score;
use gate::model::judgement::{Outcome, Verdict};

use super::{of, one_point, over, points, results, score};

/// O-29: nothing is rounded before it is compared.
#[test]
fn exactly_the_tolerance_passes_and_a_little_more_fails() {
    for (items, base, candidate, tolerance, fails) in [
        // The traps of binary fractions: 100·(0.75 − 0.74) is 1.0000000000000009.
        (None, 0.75, 0.74, 1.0, false),
        (None, 0.75, 0.739_9, 1.0, true),
        (None, 0.75, 0.739_999_999_999_999_9, 1.0, false),
        (Some(8), 0.75, 0.74, 1.0, false),
        (Some(100), 0.75, 0.74, 1.0, false),
        (Some(1000), 0.75, 0.739, 1.0, true),
        (Some(1000), 0.29, 0.28, 1.0, false),
        (Some(300), 1.0, 298.0 / 300.0, 2.0 / 3.0, false),
        (Some(300), 1.0, 297.0 / 300.0, 1.0, false),
        (Some(300), 1.0, 296.0 / 300.0, 1.0, true),
        (Some(7), 5.0 / 7.0, 4.0 / 7.0, 14.0, true),
        (Some(100_000), 0.5, 0.489_99, 1.0, true),
        (Some(10_000), 0.5, 0.497_1, 0.29, false),
        (Some(10_000), 0.5, 0.497_0, 0.29, true),
        (None, 0.97, 0.94, 3.0, false),
        (None, 0.5, 0.5, 0.0, false),
        (None, 0.5, 0.499_999, 0.0, true),
    ] {
        let [a, b] = [base, candidate].map(|value| Score {
            items,
            ..score("t", value)
        });
        let answer = of(&points(tolerance), a, b);
        let expected = if fails { Verdict::Regression } else { Verdict::NoRegression };
        assert_eq!(answer.verdict, expected, "{base} to {candidate}, {items:?}: {}", answer.because);
    }
}

#[test]
fn ties_hold_for_every_count_of_every_size() {
    for items in [100_u64, 164, 198, 200, 541, 1319, 14_042] {
        let share = |count: u64| count as f64 / items as f64;
        for count in (items / 10..items).step_by((items / 50) as usize) {
            let allowed = items / 100;
            let tolerance = 100.0 * share(allowed);
            for (lost, verdict) in [(allowed, Verdict::NoRegression), (allowed + 1, Verdict::Regression)] {
                let [a, b] = [count, count - lost].map(|count| over(items, score("t", share(count))));
                let answer = of(&points(tolerance), a, b);
                assert_eq!(answer.verdict, verdict, "{count} - {lost} of {items}: {}", answer.because);
            }
        }
    }
}

#[test]
fn what_is_shown_never_contradicts_the_verdict() {
    for (drop, shown, words) in [
        (0.01, "a drop of 1.00 pp", "of 1 pp that is allowed"),
        (0.010_04, "a drop of 1.004 pp", "more than the 1 pp that is allowed"),
        (0.010_000_04, "a drop of 1.000004 pp", "more than the 1 pp"),
        (0.009_996, "a drop of 0.9996 pp", "of 1 pp that is allowed"),
        (-0.02, "a gain of 2.00 pp", ""),
        (0.0, "no better and no worse", ""),
    ] {
        let answer = one_point(score("t", 0.75), score("t", 0.75 - drop));
        assert!(
            answer.because.contains(shown) && answer.because.contains(words),
            "{drop}: {}",
            answer.because
        );
    }
    // Base and candidate are shown with the digits that their difference needs.
    let answer = one_point(score("t", 0.75), score("t", 0.739_96));
    assert!(
        answer.because.contains("75.000 % in the base, 73.996 % in the candidate"),
        "{}",
        answer.because
    );
}

#[test]
fn a_sentence_says_how_finely_anything_can_be_told() {
    // O-07: points are not percent.
    let answer = one_point(over(1319, score("mmlu", 0.88)), over(1319, score("mmlu", 0.85)));
    insta::assert_snapshot!(answer.because, @"mmlu acc: 88.00 % in the base, 85.00 % in the candidate: a drop of 3.00 pp (-3.41 % of the base), more than the 1 pp that is allowed; n = 1319, one answer is 0.08 pp, standard error 0.9 pp in the base, 0.98 pp in the candidate, 1.33 pp of the difference.");
    let answer = one_point(
        over(164, score("humaneval", 82.0 / 164.0)),
        over(164, score("humaneval", 79.0 / 164.0)),
    );
    assert!(answer.because.ends_with("; inside one standard error."), "{}", answer.because);
    assert_eq!(answer.verdict, Verdict::Regression, "the rule is the rule");
    assert!(answer.false_alarm.is_some_and(|chance| (chance - 0.43).abs() < 0.01), "{answer:?}");
    let answer = one_point(over(50, score("t", 0.5)), over(50, score("t", 0.5)));
    assert!(
        answer.notes.contains(&"with 50 items a single answer fails the rule".to_owned()),
        "{answer:?}"
    );
    assert!(
        !answer.because.contains("inside one standard error"),
        "no change is no change: {}",
        answer.because
    );
}

#[test]
fn a_score_without_an_error_is_judged_and_says_so() {
    // O-01: "N/A".
    let answer = one_point(score("t", 0.5), score("t", 0.5));
    assert_eq!(
        (answer.verdict, answer.se_pp, answer.false_alarm),
        (Verdict::NoRegression, None, None)
    );
    assert!(
        answer
            .notes
            .iter()
            .any(|note| note == "the standard error of the base is not reported"),
        "{answer:?}"
    );
    let sure = Score {
        stderr: Some(0.0),
        ..score("t", 1.0)
    };
    let answer = one_point(sure.clone(), Score { value: Some(0.97), ..sure });
    assert_eq!((answer.verdict, answer.se_pp), (Verdict::Regression, None));
    assert!(
        answer.notes.iter().any(|note| note.contains("does not make the score exact")),
        "{answer:?}"
    );
}

#[test]
fn every_failing_task_is_named_the_worst_first() {
    let base = ["a", "b", "c", "d", "e", "f"].map(|task| score(task, 0.8)).to_vec();
    let candidate = vec![
        score("a", 0.78),
        score("b", 0.8),
        score("c", 0.5),
        score("d", 0.78),
        score("e", 0.9),
        score("g", 0.1),
    ];
    let report = judge(&Demand::default(), &results(base), &results(candidate));
    let failing: Vec<&str> = report.failing().map(|answer| answer.key.task.as_str()).collect();
    assert_eq!(failing, ["c", "a", "d"]);
    let all: Vec<&str> = report.answers.iter().map(|answer| answer.key.task.as_str()).collect();
    assert_eq!(all, ["c", "a", "d", "f", "b", "e", "g"]);
    assert_eq!(report.outcome(), Outcome::Fail, "any task, and never the mean");
}

#[test]
fn a_rule_that_is_switched_off_is_no_pass() {
    for (threshold_pct, expected) in [
        (-1.0, Threshold::Points(1.0)),
        (-2.0, Threshold::Points(2.0)),
        (-0.0, Threshold::Points(0.0)),
        (-99.9, Threshold::Points(99.9)),
        (-100.0, Threshold::Disabled),
        (-1000.0, Threshold::Disabled),
    ] {
        assert_eq!(Threshold::of_recipe(threshold_pct), Ok(expected));
    }
    assert!(Threshold::of_recipe(1.0).unwrap_err().contains("demands a gain: write -1"));
    assert!(Threshold::of_recipe(f64::NAN).unwrap_err().contains("not a finite number"));
    let off = Demand {
        threshold: Threshold::Disabled,
        ..Demand::default()
    };
    for (base, candidate, words) in [
        (score("t", 0.9), score("t", 0.1), "a drop of 80.00 pp"),
        (score("t", 0.9), score("t", 0.95), "a gain of 5.00 pp"),
        (score("t", 0.9), score("t", 95.0), "the scale differs"),
    ] {
        let answer = of(&off, base, candidate);
        assert_eq!(
            (answer.verdict, answer.verdict.outcome()),
            (Verdict::RuleDisabled, Outcome::Inconclusive)
        );
        assert!(
            answer.because.starts_with("The rule is switched off") && answer.because.contains(words),
            "{answer:?}"
        );
        assert!(!answer.because.contains("allowed"), "{answer:?}");
    }
}

#[test]
fn over_many_tasks_noise_is_counted() {
    let tasks: Vec<Score> = (0..12)
        .map(|task| over(1319, score(&format!("t{task}"), 0.75)))
        .chain([score("u", 0.5)])
        .collect();
    let Report { from_noise, noise, .. } = judge(&Demand::default(), &results(tasks.clone()), &results(tasks));
    assert_eq!(from_noise.tasks, 12);
    assert!((from_noise.expected - 12.0 * 0.277).abs() < 0.01, "{from_noise:?}");
    insta::assert_snapshot!(noise.unwrap(), @"if nothing had changed, noise alone would fail 3.3 of 12 tasks on average, and at least one with a chance of 97.95 %; the noise of 1 task more is not known");
}

#[test]
fn a_paired_failure_needs_outcomes() {
    let paired = Demand {
        test: Test::Paired,
        ..Demand::default()
    };
    let answer = of(&paired, over(1319, score("t", 0.75)), over(1319, score("t", 0.7)));
    assert_eq!(answer.verdict, Verdict::Inconclusive);
    assert!(answer.because.contains("not at hand on both sides"), "{}", answer.because);
    assert_eq!(of(&paired, score("t", 0.75), score("t", 0.745)).verdict, Verdict::NoRegression);
}
