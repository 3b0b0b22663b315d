//! Older `key=value` baselines.

use gate::model::baseline::SampleLine;
use gate::model::baseline::import::{Provenance, import_hipfire, merge};
use gate::model::baseline::{Baseline, Fault};
use gate::model::metric::Better;

fn import(text: &str) -> Result<Vec<SampleLine>, Fault> {
    let provenance = Provenance {
        date: "2026-04-28".to_owned(),
        source: Some("hipfire".to_owned()),
        stat: Some("best-of-2".to_owned()),
    };
    import_hipfire(text, "gfx942", &provenance, "speed.txt")
}

#[test]
fn the_longest_suffix_decides_unit_and_direction() {
    for (key, fixture, metric, unit, better) in [
        (
            "9b_mq4_pp128_prefill_tok_s",
            "9b_mq4_pp128",
            "prefill_tok_s",
            "tok/s",
            Better::Higher,
        ),
        ("9b_mq4_gen_tok_s", "9b_mq4", "gen_tok_s", "tok/s", Better::Higher),
        ("27b_3.5_dflash_lru_tok_s", "27b_3.5_dflash_lru", "tok_s", "tok/s", Better::Higher),
        ("27b_3.5_dflash_lru_tau", "27b_3.5_dflash_lru", "tau", "count", Better::Higher),
        ("27b_3.5_dflash_lru_ttft_ms", "27b_3.5_dflash_lru", "ttft_ms", "ms", Better::Lower),
        ("sft_s_per_step", "sft", "s_per_step", "s/step", Better::Lower),
        ("sft_mfu", "sft", "mfu", "1", Better::Higher),
        ("load_s", "", "load_s", "s", Better::Lower),
        ("copy_bw_gib_s", "copy", "bw_gib_s", "GiB/s", Better::Higher),
        ("7b_peak_hbm_gb", "7b_peak", "hbm_gb", "GB", Better::Lower),
        ("7b_watts", "7b", "watts", "W", Better::Lower),
        ("tok_s", "", "tok_s", "tok/s", Better::Higher),
    ] {
        let lines = import(&format!("{key}=0.5\n")).unwrap_or_else(|fault| panic!("{key}: {fault}"));
        let [line] = lines.try_into().unwrap();
        assert_eq!(
            (line.fixture.as_str(), line.metric.as_str(), line.unit.canonical(), line.better),
            (fixture, metric, unit, better),
            "{key}"
        );
        assert!(line.is_historical() && line.identity.is_none() && line.record.is_none());
    }
}

#[test]
fn comments_and_blank_lines_say_nothing() {
    let lines = import("# 7b_gen_tok_s=1\n\n  7b_gen_tok_s = 164.0  \n#=\n").unwrap();
    assert_eq!(lines.len(), 1);
    assert_eq!(lines[0].values, [164.0]);
    let mut crlf = import("7b_gen_tok_s=164.0\r\n").unwrap();
    assert_eq!(crlf.remove(0).values, [164.0]);
}

#[test]
fn each_wrong_line_has_its_place() {
    for (text, place, what) in [
        (
            "a_tok_s=1\na_tok_s=2\n",
            "speed.txt:2:1",
            "duplicate: line 1 has the key a_tok_s already",
        ),
        ("\na_parsec=1\n", "speed.txt:2:1", "ends in no known unit: known are _tok_s"),
        ("a_tok_s=nan\n", "speed.txt:1:9", "not a plain decimal number"),
        ("a_tok_s=1,0\n", "speed.txt:1:9", "not a plain decimal number"),
        ("a_tok_s=1e400\n", "speed.txt:1:9", "not a plain decimal number"),
        ("a_tok_s=0x10\n", "speed.txt:1:9", "not a plain decimal number"),
        ("a_tok_s=\n", "speed.txt:1:9", "not a plain decimal number"),
        ("a_tok_s=0.0\n", "speed.txt:1:9", "zero or less"),
        ("a_tok_s=-1\n", "speed.txt:1:9", "zero or less"),
        ("  a_tok_s==1\n", "speed.txt:1:3", "exactly one ="),
        ("a_tok_s 1\n", "speed.txt:1:1", "exactly one ="),
        ("a_mfu=56.2\n", "speed.txt:1:7", "write 40 % as 0.4"),
        ("# nothing\n", "speed.txt:1:1", "no line of the form key=value"),
    ] {
        let fault = import(text).unwrap_err().to_string();
        assert!(
            fault.starts_with(&format!("{place}: ")) && fault.contains(what),
            "{text:?}: {fault}"
        );
    }
}

#[test]
fn an_import_is_whole_or_nothing_and_happens_once() {
    let lines = import("b_tok_s=2\na_tok_s=1\n").unwrap();
    let once = merge(&Baseline::new("gfx942"), lines.clone()).unwrap();
    let fixtures: Vec<&str> = once.samples().map(|line| line.fixture.as_str()).collect();
    assert_eq!(fixtures, ["a", "b"]);
    assert!(merge(&once, lines).unwrap_err().0.contains("in the baseline already"));
}
