//! Damaged inputs: cut at every byte, and with bytes changed. Never a panic, and never another number than the whole input gives.

use std::fs;

use gate::adapter::foreign::Input;
use gate::adapter::{ALL, Adapter, detect};
use gate::model::figure::Reading;
use gate::model::gate::declaration::Series;
use gate::model::metric::{Better, Metric};
use gate::model::report::{Process, Reported};
use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::{Rng, SeedableRng};

use super::{case_files, series};

/// Inputs up to this size are cut at every byte.
const CUT_MAX_BYTES: usize = 4096;
/// Changes made to each input, and to each that is larger.
const CHANGES: [usize; 2] = [150, 500];
/// Every so many damages the adapter is looked for as well.
const DETECT_EVERY: usize = 16;
/// How many series of an input are asked for.
const ASKED_MAX: usize = 12;
/// Formats that say neither how long they are nor that a last line ends: a number at their very end can be shorter than it was.
const WITHOUT_END: [&str; 2] = ["key-value", "csv"];

/// What a gate would ask of an output: the series that it has a value for, by their whole labels.
fn asked(adapter: &Adapter, bytes: &[u8]) -> Vec<Series> {
    let report = (adapter.read)(&Input::of(bytes), &[]).unwrap_or_default();
    let is_whole = |series: &&Reported| series.processes.iter().all(|process| matches!(process, Process::Repetitions(_)));
    let of = |(at, reported): (usize, &Reported)| {
        let unit = reported.unit.map_or("1", |unit| unit.canonical());
        let better = if reported.better == Some(Better::Higher) {
            "higher"
        } else {
            "lower"
        };
        Series {
            from: reported.label(),
            ..Series::of(Metric::parse_flag(&format!("m{at}:{better}:{unit}")).unwrap())
        }
    };
    let mut asked: Vec<Series> = report.series.iter().filter(is_whole).enumerate().map(of).take(ASKED_MAX).collect();
    asked.push(series("x:lower:ms"));
    asked
}

/// Reads as a gate does: every series gets a finite value or a reason, whatever the bytes are.
fn read(adapter: &Adapter, bytes: &[u8], asked: &[Series]) -> Reading {
    let reading = adapter.reading(bytes, asked);
    for name in asked.iter().map(|series| &series.metric.name) {
        let value = reading.values.get(name);
        assert!(value.is_some() != reading.missing.contains_key(name), "{}: {name}", adapter.name);
        assert!(value.is_none_or(|value| value.is_finite()), "{}: {name}", adapter.name);
    }
    reading
}

/// Whether every value is also the other reading's.
fn holds(reading: &Reading, other: &Reading) -> bool {
    reading.values.iter().all(|(name, value)| other.values.get(name) == Some(value))
}

/// The ends of the line before a place, and of the line in which it lies.
fn line_ends(bytes: &[u8], at: usize) -> [usize; 2] {
    let before = bytes[..at].iter().rposition(|byte| *byte == b'\n').map_or(0, |end| end + 1);
    let after = bytes[at..]
        .iter()
        .position(|byte| *byte == b'\n')
        .map_or(bytes.len(), |end| at + end + 1);
    [before, after]
}

#[test]
fn what_was_cut_gives_the_same_number_or_none() {
    for adapter in ALL {
        for file in case_files(adapter.name) {
            let bytes = fs::read(&file).unwrap();
            if bytes.len() > CUT_MAX_BYTES {
                continue;
            }
            let asked = asked(adapter, &bytes);
            let whole = read(adapter, &bytes, &asked);
            let is_json = serde_json::from_slice::<serde::de::IgnoredAny>(bytes.trim_ascii()).is_ok();
            for end in 0..bytes.trim_ascii_end().len() {
                let cut = &bytes[..end];
                let reading = read(adapter, cut, &asked);
                let told = || format!("{}, {end} of {} bytes: {:?}", file.display(), bytes.len(), reading.values);
                assert!(!is_json || reading.values.is_empty(), "{}", told());
                if !WITHOUT_END.contains(&adapter.name) && !holds(&reading, &whole) {
                    // A log of fewer lines is a log of fewer runs; the line that was cut adds nothing to it.
                    let at_lines = line_ends(&bytes, end).map(|end| read(adapter, &bytes[..end], &asked));
                    assert!(
                        at_lines.iter().any(|other| holds(&reading, other)),
                        "{}, not {:?}",
                        told(),
                        whole.values
                    );
                }
                if end % DETECT_EVERY == 0 {
                    let _found = detect(&Input::of(cut));
                }
            }
        }
    }
}

#[test]
fn changed_bytes_give_a_value_or_a_reason() {
    for adapter in ALL {
        for (number, file) in case_files(adapter.name).iter().enumerate() {
            let bytes = fs::read(file).unwrap();
            if bytes.is_empty() {
                continue;
            }
            let asked = asked(adapter, &bytes);
            let mut random = ChaCha8Rng::seed_from_u64(number as u64);
            let place = |random: &mut ChaCha8Rng| random.next_u32() as usize % bytes.len();
            let changes = CHANGES[usize::from(bytes.len() > CUT_MAX_BYTES)];
            for change in 0..changes {
                let mut damaged = bytes.clone();
                if change % 4 == 0 {
                    damaged.truncate(place(&mut random));
                } else {
                    for _ in 0..=change % 3 {
                        let at = place(&mut random);
                        if let Some(byte) = damaged.get_mut(at) {
                            *byte = random.next_u32() as u8;
                        }
                    }
                }
                read(adapter, &damaged, &asked);
                if change % DETECT_EVERY == 0 {
                    let _found = detect(&Input::of(&damaged));
                }
            }
        }
    }
}
