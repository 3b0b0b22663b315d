//! `limit`: what llama-perplexity concludes with an error, against declared limits.

use crate::ingest_judged::judged;
use crate::sandbox::{Sandbox, verdict};
use crate::sources::root;

/// The example's gate with other limits.
fn limits(kld: &str, ratio: &str, same_top: &str) -> String {
    let gate = std::fs::read_to_string(root().join("gates/examples/kl-divergence.toml")).unwrap();
    gate.replace("\"0.06\"", &format!("{kld:?}"))
        .replace("\"1.03\"", &format!("{ratio:?}"))
        .replace("\"85 %\"", &format!("{same_top:?}"))
}

#[test]
fn a_limit_is_answered_no_finer_than_the_error_that_the_tool_states() {
    let sandbox = Sandbox::new();
    let data = root().join("tests/data/adapter/llama-perplexity");
    // Mean KLD 0.048210 ± 0.001950, PPL ratio 1.020300 ± 0.003469, same top token 88.250 ± 0.410 %.
    let words = [data.join("divergence.txt").display().to_string()];
    for (kld, ratio, same_top, code, verdicts) in [
        ("0.06", "1.03", "85 %", 0, ["no_regression", "no_regression", "no_regression"]),
        ("0.0515", "1.03", "85 %", 0, ["no_regression", "no_regression", "no_regression"]),
        ("0.051", "1.03", "85 %", 3, ["inconclusive", "no_regression", "no_regression"]),
        ("0.0455", "1.0147", "88.9 %", 3, ["inconclusive", "inconclusive", "inconclusive"]),
        ("0.0449", "1.03", "85 %", 1, ["regression", "no_regression", "no_regression"]),
        ("0.06", "1.014", "85 %", 1, ["no_regression", "regression", "no_regression"]),
        ("0.06", "1.03", "89 %", 1, ["no_regression", "no_regression", "regression"]),
    ] {
        let record = judged(&sandbox, &limits(kld, ratio, same_top), &words).exits(code).record();
        let found: Vec<&str> = record["judgement"]["verdicts"]
            .as_array()
            .unwrap()
            .iter()
            .map(|ruling| ruling["verdict"].as_str().unwrap())
            .collect();
        assert_eq!(found, verdicts, "{kld} {ratio} {same_top}: {record}");
    }
    let record = judged(&sandbox, &limits("0.051", "1.03", "85 %"), &words).record();
    let because = record["judgement"]["verdicts"][0]["because"].as_str().unwrap();
    assert_eq!(
        because,
        "kld (lower is better): no answer: 0.04821 ± 0.001950 is too near to at most 0.051 for its standard error."
    );
    assert_eq!(record["evidence"]["samples"][0]["standard_errors"]["kld"], 0.00195);

    // A run that is a part of the candidate's, and one without an error.
    let text = std::fs::read_to_string(data.join("divergence.txt")).unwrap();
    for (name, from, to) in [
        ("none.txt", "0.048210 ±   0.001950", "0.048210"),
        ("nan.txt", "0.048210 ±   0.001950", "0.048210 ±   nan"),
        ("zero.txt", "0.048210 ±   0.001950", "0.048210 ±   0.000000"),
    ] {
        sandbox.write(name, text.replace(from, to));
        let record = judged(&sandbox, &limits("0.06", "1.03", "85 %"), &[name.to_owned()])
            .exits(3)
            .record();
        assert_eq!(verdict(&record), "not_measured", "{name}: {record}");
    }
    sandbox.write("worse.txt", text.replace("0.048210 ±", "0.058210 ±"));
    let both = [words[0].clone(), "worse.txt".to_owned()];
    let record = judged(&sandbox, &limits("0.06", "1.03", "85 %"), &both).exits(3).record();
    let because = record["judgement"]["verdicts"][0]["because"].as_str().unwrap();
    assert!(
        because.contains("(the one of 2 runs that keeps it least): no answer: 0.05821 ±"),
        "{because}"
    );
    let record = judged(&sandbox, &limits("0.07", "1.03", "85 %"), &both).exits(0).record();
    let because = record["judgement"]["verdicts"][0]["because"].as_str().unwrap();
    assert!(because.contains("(the one of 2 runs that keeps it least): 0.05821 ±"), "{because}");
    sandbox.write("lost.txt", text.replace("0.048210 ±   0.001950", "nan ±   nan"));
    let record = judged(&sandbox, &limits("0.06", "1.03", "85 %"), &["lost.txt".to_owned()])
        .exits(1)
        .record();
    assert_eq!(verdict(&record), "candidate_failed", "{record}");
}

#[test]
fn a_limit_is_a_figure_in_the_metrics_unit() {
    let sandbox = Sandbox::new();
    sandbox.write("one.txt", "x");
    let refused = |gate: &str, says: &str| {
        judged(&sandbox, gate, &["one.txt".to_owned()]).exits(2).says(says);
    };
    refused(
        &limits("95% of base", "1.03", "85 %"),
        "a limit is a figure: write for example \"0.02\"; a share is a floor's",
    );
    refused(&limits("0.06 ms", "1.03", "85 %"), "ms does not convert to 1, the metric's unit");
    refused(&limits("0.06", "1.03", "85"), "85 has no unit: write for example \"85 %\"");
    refused(
        &limits("0.06", "1.03", "85 %").replace("at_most = \"0.06\"\n", ""),
        "a limit needs at_least or at_most, such as at_most = \"0.02\"",
    );
    refused(
        &limits("0.06", "1.03", "85 %").replace("kind    = \"limit\"\nmetric  = \"kld\"\n", "kind = \"hold\"\nmetric = \"kld\"\n"),
        "belongs to the kind floor or limit, and this rule is a hold",
    );
}
