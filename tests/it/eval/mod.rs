//! Scores of a candidate against those of its base: the statistics, the rule, the files.

pub mod command;
mod comparable;
mod drop;
mod outcomes;
mod paired;
mod text;

use gate::judge::drop::{Answer, Demand, Threshold, judge};
use gate::model::eval::{Aim, Key, Results, Score};

fn key(task: &str) -> Key {
    Key {
        task: task.to_owned(),
        metric: "acc".to_owned(),
        filter: "none".to_owned(),
    }
}

fn score(task: &str, value: f64) -> Score {
    Score {
        aim: Some(Aim::Higher),
        ..Score::new(key(task), value)
    }
}

fn over(items: u64, score: Score) -> Score {
    let p = score.value.unwrap();
    let stderr = Some((p * (1.0 - p) / (items - 1) as f64).sqrt());
    Score {
        items: Some(items),
        stderr,
        ..score
    }
}

fn results(scores: Vec<Score>) -> Results {
    Results {
        scores,
        ..Results::default()
    }
}

fn points(points: f64) -> Demand {
    Demand {
        threshold: Threshold::Points(points),
        ..Demand::default()
    }
}

fn of(demand: &Demand, base: Score, candidate: Score) -> Answer {
    let report = judge(demand, &results(vec![base]), &results(vec![candidate]));
    assert_eq!(report.answers.len(), 1, "{:?}", report.answers);
    let answer = report.answers.into_iter().next().unwrap();
    assert!(
        answer.because.ends_with('.') && !answer.because.contains('\n') && !answer.next.is_empty(),
        "{answer:?}"
    );
    assert!(
        !answer.because.contains("NaN") && !answer.because.contains("inf "),
        "{}",
        answer.because
    );
    answer
}

fn one_point(base: Score, candidate: Score) -> Answer {
    of(&Demand::default(), base, candidate)
}
