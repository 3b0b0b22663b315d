//! llama-perplexity: a number that runs along is no result, and a number that was cut is another one.

use gate::adapter::find;
use gate::model::report::Process;

use super::cases::{bytes, figures, of, refusal, report};
use super::told::read;

#[test]
fn an_estimate_tells_on_how_many_chunks_it_rests() {
    let ppl = of(&report("llama-perplexity/estimate.txt"), "PPL");
    assert_eq!((ppl.processes, ppl.stderr), (vec![Process::of(vec![8.2764])], Some(0.14021)));
    assert_eq!((ppl.detail["chunks"].as_str(), ppl.detail["n_ctx"].as_str()), ("6", "512"));
    let prefixed = of(&report("llama-perplexity/estimate-with-log-prefix.txt"), "PPL");
    assert_eq!(prefixed.stderr, Some(0.14021), "a log prefix changes nothing");
    let alone = of(&report("llama-perplexity/estimate-standard-error-only.txt"), "PPL");
    assert!(!alone.detail.contains_key("chunks"), "nobody told how many were run");
}

#[test]
fn what_ran_so_far_is_no_result() {
    for (case, words) in [
        ("estimate-killed.txt", "3 of 6 chunks"),
        ("estimate-standard-output-only.txt", "2>&1"),
        ("estimate-cut-in-the-error.txt", "has no end"),
        ("divergence-few-tokens.txt", "means so far"),
        ("hellaswag-killed.txt", "4 of 5 tasks"),
        ("multiple-choice-killed.txt", "3 of 4 tasks"),
        ("winogrande-few-tasks.txt", "below 100"),
    ] {
        let told = refusal(&format!("llama-perplexity/{case}"));
        assert!(told.contains(words), "{case}: {told}");
    }
}

#[test]
fn a_row_that_was_cut_is_never_read_as_a_shorter_number() {
    let case = "llama-perplexity/divergence-cut.txt";
    assert!(refusal(case).contains("truncated"), "it ends in `Same top p: 8`");
    let partial = read(find("llama-perplexity").unwrap(), &bytes(case), true).unwrap();
    assert!(partial.series.iter().all(|series| series.name != "Same top p"));
    assert_eq!(of(&partial, "Mean KLD").processes, [Process::of(vec![0.04821])]);
    assert!(
        partial.notes.contains(&"the last line has no end and was left out".to_owned()),
        "{:?}",
        partial.notes
    );
}

#[test]
fn statistics_say_their_unit_and_direction_or_neither() {
    let flags = [
        ("kld:lower:1", "Mean KLD"),
        ("top:higher:%", "Same top p"),
        ("ratio:lower:1", "Mean PPL(Q)/PPL(base)"),
        ("shift:higher:pp", "Mean \u{394}p"),
        ("wrong:higher:1", "Mean KLD"),
        ("absent:lower:1", "Maximum KLD"),
    ];
    let reading = figures("llama-perplexity/divergence-of-a-fork.txt", &flags);
    let values = ["kld", "top", "ratio", "shift"].map(|name| reading.values[name]);
    assert_eq!(values, [0.04821, 88.25, 1.0203, -0.512]);
    assert!(reading.missing["wrong"].why.contains("lower is better"), "{reading:?}");
    assert_eq!(reading.missing["absent"].why, "no such series", "forks leave rows out");
    let whole = of(&report("llama-perplexity/divergence.txt"), "Mean KLD");
    assert_eq!((whole.stderr, whole.detail["chunks"].as_str()), (Some(0.00195), "3"));
}

#[test]
fn a_divergence_that_is_no_number_leaves_the_others() {
    let flags = [("kld:lower:1", "Mean KLD"), ("top:higher:%", "Same top p")];
    let reading = figures("llama-perplexity/divergence-not-finite.txt", &flags);
    assert_eq!(reading.missing["kld"].why, "not a finite number");
    assert_eq!(reading.values["top"], 88.25);
    let reading = figures("llama-perplexity/estimate-not-finite.txt", &[("p:lower:1", "PPL")]);
    assert_eq!(reading.missing["p"].why, "not a finite number (nan) from chunk 2 on");
}

#[test]
fn scores_are_shares_of_tasks() {
    for (case, label, share, n) in [
        ("hellaswag.txt", "acc_norm[task=hellaswag]", 0.8, 5),
        ("winogrande-standard-error-only.txt", "acc[task=winogrande]", 0.712707, 1267),
        ("multiple-choice.txt", "acc[task=multiple_choice]", 0.75, 4),
    ] {
        let score = of(&report(&format!("llama-perplexity/{case}")), label);
        assert_eq!((score.processes, score.n), (vec![Process::of(vec![share])], Some(n)), "{case}");
    }
    let one = of(
        &report("llama-perplexity/multiple-choice-one-task.txt"),
        "acc[task=multiple_choice]",
    );
    assert_eq!(one.stderr, None, "an error of nan is none");
}
