//! The embedded workload, run as a user runs it and read as the gate reads it.

use std::process::Command;

use gate::adapter::key_value::KEY_VALUE;
use gate::model::figure::Reading;
use gate::model::gate::declaration::Series;
use gate::model::metric::Metric;

fn gate(arguments: &str) -> std::process::Output {
    Command::new(env!("CARGO_BIN_EXE_gate"))
        .arg("workload")
        .args(arguments.split(' '))
        .output()
        .unwrap()
}

/// Runs the workload and reads every series that it documents.
fn read(arguments: &str, series: &[&str]) -> Reading {
    let output = gate(arguments);
    assert!(output.status.success(), "{arguments}: {}", String::from_utf8_lossy(&output.stderr));
    let wanted: Vec<Series> = series.iter().map(|flag| Series::of(Metric::parse_flag(flag).unwrap())).collect();
    let reading = KEY_VALUE.reading(&output.stdout, &wanted);
    assert!(reading.missing.is_empty(), "{arguments}: {:?}", reading.missing);
    reading
}

#[test]
fn equal_arguments_do_equal_work() {
    let iterations = |arguments: &str| {
        let reading = read(arguments, &["spin_ms:lower:ms", "cpu_ms:lower:ms", "iterations:lower:count"]);
        assert!(reading.values["spin_ms"] > 0.0 && reading.values["cpu_ms"] > 0.0);
        reading.values["iterations"]
    };
    let work = iterations("spin --ms 2");
    assert_eq!(work, iterations("spin --ms 2"));
    assert_eq!(work * 1.5, iterations("spin --ms 3"));
    assert_eq!(work * 1.08, iterations("spin --ms 2 --slow 8%"));
    assert_eq!(
        iterations("spin --ms 2 --sd 5% --seed 4"),
        iterations("spin --ms 2 --sd 5% --seed 4")
    );
    assert_ne!(
        iterations("spin --ms 2 --sd 5%"),
        iterations("spin --ms 2 --sd 5%"),
        "without a seed every run draws its own"
    );
}

#[test]
fn triad_reports_a_bandwidth() {
    let reading = read(
        "triad --ms 5",
        &["triad_gb_s:higher:GB/s", "triad_ms:lower:ms", "iterations:lower:count"],
    );
    let (gb_per_s, ms) = (reading.values["triad_gb_s"], reading.values["triad_ms"]);
    let bytes = reading.values["iterations"] * 24.0;
    assert!(
        (gb_per_s * 1e9 * ms / 1e3 / bytes - 1.0).abs() < 0.01,
        "{gb_per_s} GB/s over {ms} ms are not {bytes} bytes"
    );
}

#[test]
fn bad_amounts_are_usage_errors() {
    for (arguments, word) in [
        ("spin --ms 0", "0 is not in 1..=600000"),
        ("spin --ms 600001", "600001 is not in"),
        ("spin", "--ms"),
        ("spin --ms 1 --slow 8", "say 8% (relative)"),
        ("triad --ms 1 --sd 1ms", "want a percentage"),
    ] {
        let output = gate(arguments);
        let errors = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{arguments}: {errors}");
        assert!(errors.contains(word), "{arguments}: {errors}");
        assert!(output.stdout.is_empty(), "{arguments}: nothing is measured");
    }
}
