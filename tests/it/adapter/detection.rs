//! Content tells the adapter, by two signs and no other; names never do.

use std::fs;

use gate::adapter::foreign::Input;
use gate::adapter::{ALL, detect};

use super::case_files;
use crate::sources::root;

/// A document in which two formats stand: lm-eval's results, and scores that only the trainer has.
const TWO_THINGS: &str = "mindxtrain/scores-beside-results.json";

fn refusal(bytes: &[u8]) -> String {
    detect(&Input::of(bytes)).unwrap_err().0
}

#[test]
fn every_case_is_known_by_its_own_adapter_or_by_none() {
    for adapter in ALL.iter().filter(|adapter| adapter.signs.is_some()) {
        let mut known = 0;
        for file in case_files(adapter.name) {
            let bytes = fs::read(&file).unwrap();
            let input = Input::of(&bytes).partial(true);
            match detect(&input) {
                Ok(found) => {
                    assert_eq!(found.name, adapter.name, "{}", file.display());
                    known += 1;
                }
                Err(refused) => {
                    let is_two_things = file.ends_with(TWO_THINGS);
                    assert_eq!(refused.0.contains("could be"), is_two_things, "{}: {refused}", file.display());
                }
            }
        }
        assert!(known > 0, "{}: no case is known", adapter.name);
    }
}

#[test]
fn case_o_28_each_kind_of_nothing_has_its_own_words() {
    let sentences = [
        (&b""[..], "is empty"),
        (b" \n\n", "only blanks"),
        (br#"{"error": "Failed"}"#, "JSON with the keys error"),
        (b"{\"a\":1}\n{\"b\":2}\n", "JSON with the keys a"),
        (br#"[{"x": 1}]"#, "array of objects with the keys x"),
        (b"[]", "an array without results"),
        (b"hello\nworld\n", "text that begins \"hello\""),
        (b"[{\"build_commit\": \"x\", ", "truncated"),
        (
            b"init\nError: failed to start container\n",
            "looks like a crash: \"Error: failed to start container\"",
        ),
    ];
    for (bytes, words) in sentences {
        let told = refusal(bytes);
        assert!(told.contains(words), "{:?}: {told}", String::from_utf8_lossy(bytes));
    }
}

#[test]
fn what_two_adapters_know_is_refused_with_their_names() {
    let bytes = fs::read(root().join("tests/data/adapter").join(TWO_THINGS)).unwrap();
    assert_eq!(refusal(&bytes), "could be lm-eval or mindxtrain: choose with --adapter");
}

#[test]
fn one_sign_alone_is_none() {
    for one_sign in [
        &b"{\"results\": {\"a\": {\"acc\": 0.5}}}"[..],
        b"{\"results\": [{\"command\": \"a\"}]}",
        b"{\"benchmarks\": [{\"time_unit\": \"ns\"}]}",
        b"[{\"build_commit\": \"a\"}]",
        b"{\"elapsed_time\": 1.0, \"num_requests\": 2}",
        b"{\"tok_per_s\": 1.0}\n",
        b"{\"decode_tok_s\": 1.0}\n",
        b"Final result: 1\n",
        b"a_tok_s=1\n",
    ] {
        let told = refusal(one_sign);
        assert!(told.starts_with("no adapter knows this format"), "{told}");
    }
}
