//! Damaged inputs: cut at every byte, and with bytes changed. Never a panic, never a part taken for the whole.

use std::fs;

use gate::adapter::foreign::Input;
use gate::adapter::{ALL, Adapter, detect};
use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::{Rng, SeedableRng};

use super::{case_files, series};

/// Inputs up to this size are cut at every byte.
const CUT_MAX_BYTES: usize = 4096;
/// Changes made to each input.
const CHANGES: usize = 200;

/// Reads as a gate does, and counts the series that `gate ingest` shows.
fn survives(adapter: &Adapter, bytes: &[u8]) -> usize {
    let wanted = [series("x:lower:ms")];
    let reading = adapter.reading(bytes, &wanted);
    assert_eq!(reading.values.len() + reading.missing.len(), 1, "exactly one figure");
    let input = Input::of(bytes);
    let _found = detect(&input);
    (adapter.read)(&input, &[]).map_or(0, |report| report.series.len())
}

#[test]
fn an_input_that_is_cut_never_panics_and_never_reads_as_whole_json() {
    for adapter in ALL {
        for file in case_files(adapter.name) {
            let bytes = fs::read(&file).unwrap();
            if bytes.len() > CUT_MAX_BYTES {
                continue;
            }
            let whole = bytes.trim_ascii();
            let is_json = serde_json::from_slice::<serde::de::IgnoredAny>(whole).is_ok();
            let step = if cfg!(debug_assertions) { 3 } else { 1 };
            for end in (0..whole.len()).step_by(step) {
                let found = survives(adapter, &bytes[..end]);
                assert!(
                    !is_json || found == 0,
                    "{}: {found} series of {end} of {} bytes",
                    file.display(),
                    whole.len()
                );
            }
        }
    }
}

#[test]
fn changed_bytes_never_panic() {
    for adapter in ALL {
        for (number, file) in case_files(adapter.name).iter().enumerate() {
            let bytes = fs::read(file).unwrap();
            if bytes.is_empty() {
                continue;
            }
            let mut random = ChaCha8Rng::seed_from_u64(number as u64);
            let place = |random: &mut ChaCha8Rng| random.next_u32() as usize % bytes.len();
            for change in 0..CHANGES {
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
                survives(adapter, &damaged);
            }
        }
    }
}
