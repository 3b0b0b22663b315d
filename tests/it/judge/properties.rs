//! What holds for any session, by seeded chance.

use std::collections::HashSet;

use gate::judge::{Case, judge, same};
use gate::model::judgement::{Step, Verdict};
use gate::model::record::{Record, seal};
use gate::model::sample::{Sample, Slot};
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use rand_distr::StandardNormal;
use serde_json::{Value, json};

use crate::synthetic::{Reports, Session, metric, noisy, rule, spread};

/// A gate with two fixtures and three metrics under three kinds of rule, and a program with a temper of its own.
fn wild(seed: u64) -> Session {
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    let exact = gate::model::gate::Rule {
        metric: "bytes".to_owned(),
        ..rule("exact")
    };
    let held = gate::model::gate::Rule {
        metric: if rng.random_bool(0.5) { "t".to_owned() } else { "*".to_owned() },
        ..rule("hold")
    };
    let metrics = vec![
        metric("t:lower:ms", "2%"),
        metric("u:higher:tok/s", "3%"),
        metric("bytes:lower:B", "1%"),
    ];
    let fixtures: &[&str] = if rng.random_bool(0.5) { &["p", "q"] } else { &[""] };
    let cap = rng.random_range(2..=14);
    let [failing, voiding, lacking] = [0.25, 0.06, 0.002].map(|most| rng.random_range(0.0..most));
    let (effect, sd) = (rng.random_range(-0.05..0.08), 10_f64.powf(rng.random_range(-3.5..-1.3)));
    let warmups = rng.random_range(0..=2);
    let session = Session::of(metrics, vec![held, exact, spread("60%")])
        .fixtures(fixtures)
        .cap(cap)
        .planned(|plan| plan.warmup_runs = warmups);
    session.whole(|slot, sample| program(&mut rng, slot, sample, [failing, voiding, lacking, effect, sd]))
}

fn program(rng: &mut ChaCha8Rng, slot: &Slot, sample: &mut Sample, [failing, voiding, lacking, effect, sd]: [f64; 5]) {
    let effect = if slot.arm == gate::model::sample::Arm::B { effect } else { 0.0 };
    let mut value = |base: f64| base * (1.0 + effect + sd * rng.sample::<f64, _>(StandardNormal)).max(0.1);
    sample.prints("t", value(100.0));
    sample.prints("u", value(50.0));
    sample.prints("bytes", 4096.0);
    if rng.random_bool(failing) {
        sample.exits(1);
    }
    if rng.random_bool(voiding) && !slot.warmup {
        sample.voided(rng.random_bool(0.7));
    }
    if rng.random_bool(lacking) {
        sample.lacks("u");
    }
}

#[test]
fn a_settled_ruling_never_changes_and_a_session_always_ends() {
    let mut met = HashSet::new();
    for seed in 0..60 {
        // That it ends, that no slot is asked for twice and that samples stand in order is asserted while it is built.
        let session = wild(seed);
        let whole = session.judge();
        met.extend(whole.verdicts.iter().map(|ruling| ruling.verdict.word()));
        let samples = session.0.evidence.samples.clone();
        let mut settled: Vec<Option<Value>> = vec![None; whole.verdicts.len()];
        for taken in 0..=samples.len() {
            let mut prefix = session.clone();
            prefix.0.evidence.samples.truncate(taken);
            let judgement = prefix.judge();
            match (&judgement.step, samples.get(taken)) {
                (Step::Run(slot), Some(next)) => {
                    assert_eq!(
                        (slot.block, slot.position, slot.attempt, slot.arm),
                        (next.block, next.position, next.attempt, next.arm)
                    );
                }
                (step, next) => assert!(*step == Step::Stop && next.is_none(), "seed {seed} after {taken}: {step:?}"),
            }
            for (frozen, ruling) in settled.iter_mut().zip(&judgement.verdicts) {
                let now = serde_json::to_value(ruling).unwrap();
                match frozen {
                    Some(was) => assert_eq!(*was, now, "seed {seed}: a settled ruling changed after {taken} samples"),
                    None if !ruling.because.starts_with("No answer on ") => *frozen = Some(now),
                    None => {}
                }
            }
        }
    }
    for verdict in [
        Verdict::Regression,
        Verdict::NoRegression,
        Verdict::CandidateFailed,
        Verdict::NotMeasured,
        Verdict::Inconclusive,
    ] {
        assert!(met.contains(verdict.word()), "{verdict} never came up: {met:?}");
    }
}

#[test]
fn told_of_samples_a_few_at_a_time_the_runner_asks_for_what_a_judgement_of_them_all_asks_for() {
    let mut rng = ChaCha8Rng::seed_from_u64(11);
    for seed in 0..120 {
        let mut whole = wild(seed);
        let mut samples = std::mem::take(&mut whole.0.evidence.samples);
        // Some sessions are resumed from a file that holds what no plan asked for, or are of a program under a profiler.
        for _ in 0..rng.random_range(0..3) {
            let at = rng.random_range(0..samples.len().max(1));
            match (rng.random_range(0..4), samples.get_mut(at)) {
                (0, Some(sample)) => sample.position += 1,
                (1, Some(sample)) => sample.profiled = true,
                (2, Some(sample)) => "nowhere".clone_into(&mut sample.cell.fixture),
                (3, Some(_)) => samples.swap(0, at),
                _ => {}
            }
        }
        let [mut each, mut some] = [whole.steps(), whole.steps()];
        for taken in 0..=samples.len() {
            whole.0.evidence.samples = samples[..taken].to_vec();
            let case = Case::from(&whole.0);
            let expected = judge(&case).step;
            assert_eq!(each.next(&case), expected, "seed {seed} after {taken}, one at a time");
            assert_eq!(each.next(&case), expected, "seed {seed} after {taken}, asked again");
            assert_eq!(whole.steps().next(&case), expected, "seed {seed} after {taken}, resumed");
            if rng.random_bool(0.3) {
                assert_eq!(some.next(&case), expected, "seed {seed} after {taken}, a few at a time");
            }
        }
        let ended = whole.ended(gate::model::evidence::Ended::SessionLimit { limit_s: 1.0 });
        assert_eq!(each.next(&Case::from(&ended.0)), Step::Stop);
    }
}

#[test]
fn a_record_survives_json_and_gives_its_judgement_again() {
    for seed in 0..60 {
        let record = wild(seed).record();
        let text = record.line().unwrap();
        let again: Record = serde_json::from_str(&text).unwrap();
        let step = Step::default();
        assert_eq!(
            Record {
                judgement: gate::model::judgement::Judgement {
                    step,
                    ..record.judgement.clone()
                },
                ..record.clone()
            },
            again
        );
        assert_eq!(again.line().unwrap(), text, "seed {seed}");
        let value: Value = serde_json::from_str(&text).unwrap();
        assert_eq!(seal(&value), again.seal, "seed {seed}: the seal does not verify");
        assert_eq!(same(&again.judgement, &judge(&Case::from(&again))), Ok(()), "seed {seed}");
    }
}

/// Every place in a JSON value that holds no object or list.
fn leaves(value: &Value, at: &str, found: &mut Vec<String>) {
    match value {
        Value::Object(fields) => fields
            .iter()
            .for_each(|(name, value)| leaves(value, &format!("{at}/{}", name.replace('~', "~0").replace('/', "~1")), found)),
        Value::Array(items) => items
            .iter()
            .enumerate()
            .for_each(|(index, value)| leaves(value, &format!("{at}/{index}"), found)),
        _ => found.push(at.to_owned()),
    }
}

/// Another value of the same kind.
fn changed(value: &Value, rng: &mut ChaCha8Rng) -> Value {
    match value {
        Value::Number(number) if number.is_f64() => json!(number.as_f64().unwrap() * rng.random_range(1.1..1.5) + 0.5),
        Value::Number(number) => json!(number.as_i64().unwrap() + 1),
        Value::Bool(was) => json!(!was),
        Value::String(was) => json!(format!("{was}x")),
        _ => json!(1.0),
    }
}

#[test]
fn any_changed_byte_breaks_the_seal_and_a_changed_judgement_is_not_what_its_evidence_gives() {
    let mut rng = ChaCha8Rng::seed_from_u64(7);
    let record = Session::new().whole(noisy(8.0, 0.3, 1)).record();
    let value = serde_json::to_value(&record).unwrap();
    let mut places = Vec::new();
    leaves(&value, "", &mut places);
    places.retain(|place| place != "/seal");
    assert!(places.len() > 200, "{}", places.len());
    let sentences = ["/because", "/next", "/warnings", "/disposition_because", "/judgement/engine"];
    for place in &places {
        let mut forged = value.clone();
        let leaf = forged.pointer_mut(place).unwrap();
        *leaf = changed(leaf, &mut rng);
        assert_ne!(seal(&forged), record.seal, "{place} is outside the seal");
        let is_judged = place.starts_with("/judgement/") && !sentences.iter().any(|sentence| place.contains(sentence));
        let Ok(forged) = serde_json::from_value::<Record>(forged) else {
            continue;
        };
        if is_judged {
            assert!(
                same(&forged.judgement, &judge(&Case::from(&forged))).is_err(),
                "{place} can be forged"
            );
        }
    }
}

#[test]
fn a_forged_sample_that_matters_gives_another_judgement() {
    let record = Session::new().whole(noisy(8.0, 0.3, 1)).record();
    let measured = record.evidence.samples.iter().position(|sample| !sample.warmup).unwrap();
    for at in measured..record.evidence.samples.len() {
        let mut forged = record.clone();
        let value = forged.evidence.samples[at].values.get_mut("t").unwrap();
        *value *= 1.000_1;
        let why = same(&forged.judgement, &judge(&Case::from(&forged)));
        assert!(why.is_err(), "sample {at} can be forged");
    }
    for dropped in [1, 4] {
        let mut forged = record.clone();
        let kept = forged.evidence.samples.len() - dropped;
        forged.evidence.samples.truncate(kept);
        assert!(
            same(&forged.judgement, &judge(&Case::from(&forged))).is_err(),
            "{dropped} samples can be left out"
        );
    }
}

#[test]
fn every_stored_word_can_be_told_from_every_other() {
    let record = Session::new().whole(noisy(8.0, 0.3, 1)).record();
    for verdict in Verdict::ALL.into_iter().filter(|verdict| *verdict != Verdict::Regression) {
        let mut forged = record.judgement.clone();
        forged.verdicts[0].verdict = verdict;
        let why = same(&forged, &record.judgement).unwrap_err();
        assert!(
            why.contains(&format!("stored as {verdict} after")) && why.contains("judged as regression after"),
            "{why}"
        );
    }
}
