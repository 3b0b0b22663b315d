//! Baselines of scores: what is read is written byte for byte, what is written reads back, and what is wrong is refused with its place.

use std::collections::BTreeMap;
use std::fs;

use gate::model::baseline::FILE_MAX_BYTES;
use gate::model::eval::baseline::{EvalBaseline, Model, ScoreLine, parse, parse_bytes};
use gate::model::eval::{Aim, Extent, Group, Key, Score, Setup};
use proptest::prelude::*;

use crate::sources::{root, sources};

fn model() -> Model {
    Model {
        id: "Qwen/Qwen3-8B".to_owned(),
        digest: "3f9a01c7be55".to_owned(),
    }
}

fn line(task: &str, date: &str, record: &str) -> ScoreLine {
    ScoreLine {
        score: Score {
            aim: Some(Aim::Higher),
            ..Score::new(super::key(task), 0.1 + 0.2)
        },
        date: date.to_owned(),
        record: record.to_owned(),
        extras: BTreeMap::new(),
    }
}

#[test]
fn right_files_are_written_as_they_were() {
    let files = sources(&["tests/data/eval/right"]);
    assert!(files.len() >= 2, "the right files are missing");
    for file in files {
        let baseline = parse(&file.text, "eval/q.txt").unwrap_or_else(|fault| panic!("{}: {fault}", file.path));
        assert_eq!((baseline.write(), &baseline.model), (file.text, &model()), "{}", file.path);
    }
}

#[test]
fn a_file_says_what_it_says() {
    let read = |name: &str| {
        let text = fs::read_to_string(root().join("tests/data/eval/right").join(name)).unwrap();
        parse(&text, name).unwrap()
    };
    let documented = read("as-documented.txt");
    let [arc, gsm] = documented.scores().collect::<Vec<_>>().try_into().unwrap();
    assert_eq!(
        (gsm.score.key.to_string().as_str(), gsm.score.value),
        ("gsm8k exact_match (strict-match)", Some(0.7551))
    );
    assert_eq!(
        (gsm.score.items, gsm.score.of, gsm.score.stderr),
        (Some(1319), Some(1319), Some(0.0118))
    );
    assert_eq!((gsm.score.aim, gsm.score.extent), (Some(Aim::Higher), Some(Extent::One)));
    let setup = &gsm.score.setup;
    assert_eq!(
        (setup.few_shot, setup.task_version.as_deref(), setup.harness.as_deref()),
        (Some(5), Some("3"), Some("lm_eval-0.4.9"))
    );
    assert_eq!(
        (setup.chat_template.as_deref(), setup.limit.as_deref()),
        (Some("chatml"), Some("none"))
    );
    assert!(gsm.extras.is_empty() && !gsm.score.is_limited());
    assert_eq!(arc.score.setup.config["dtype"], "bfloat16");
    assert_eq!(documented.groups().next().unwrap().members, ["mmlu_anatomy", "mmlu_virology"]);

    let by_hand = read("hand-written.txt");
    let [zeta, persona] = by_hand.scores().collect::<Vec<_>>().try_into().unwrap();
    assert_eq!(
        (zeta.score.extent, zeta.score.items, &zeta.score.setup),
        (None, None, &Setup::default()),
        "- is not stated"
    );
    assert_eq!(
        (persona.score.key.task.as_str(), persona.score.aim),
        ("persona x", Some(Aim::Target(50.0)))
    );
    assert_eq!(persona.extras["note"], "by hand");
}

#[test]
fn each_wrong_file_has_its_place_and_its_sentence() {
    let folder = root().join("tests/data/eval/wrong");
    let entries = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let files: Vec<_> = entries
        .filter(|path| path.extension().is_some_and(|found| found == "txt"))
        .collect();
    let mut wrong = Vec::new();
    for path in &files {
        let expected = fs::read_to_string(path.with_extension("expected")).unwrap();
        let found = match parse_bytes(&fs::read(path).unwrap(), "eval/q.txt") {
            Ok(_) => "was read".to_owned(),
            Err(fault) => fault.to_string(),
        };
        let (place, what) = expected.trim().split_once(": ").unwrap();
        if !found.starts_with(&format!("{place}: ")) || !found.contains(what) || found.contains('\n') {
            wrong.push(format!("{}:\n  wanted {expected}  found  {found}", path.display()));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert!(files.len() >= 35, "only {} wrong files", files.len());
    let large = "#\n".repeat(FILE_MAX_BYTES / 2 + 1);
    assert!(parse(&large, "q.txt").unwrap_err().what.contains("at most 67108864 are read"));
}

#[test]
fn an_inserted_line_moves_no_other() {
    let text = fs::read_to_string(root().join("tests/data/eval/right/hand-written.txt")).unwrap();
    let before = parse(&text, "q.txt").unwrap();
    for task in ["a", "persona x", "zz"] {
        let mut after = before.clone();
        let new = line(task, "2026-11-30", "bbbbbbbbbbbb");
        after.insert(new.clone()).unwrap();
        let written = after.write();
        assert_eq!(parse(&written, "q.txt").unwrap(), after);
        let without: String = written.split_inclusive('\n').filter(|line| *line != format!("{new}\n")).collect();
        assert_eq!(without, text, "some other line moved");
    }
}

#[test]
fn runs_of_a_score_are_added_or_replaced() {
    let mut baseline = EvalBaseline::new(model()).unwrap();
    for (task, date, record) in [
        ("b", "2026-11-29", "bbbbbbbbbbbb"),
        ("a", "2026-11-30", "aaaaaaaaaaaa"),
        ("b", "2026-11-30", "cccccccccccc"),
    ] {
        baseline.insert(line(task, date, record)).unwrap();
    }
    let records = |baseline: &EvalBaseline| baseline.scores().map(|line| line.record[..1].to_owned()).collect::<String>();
    assert_eq!(records(&baseline), "acb", "by task, the newest first");
    assert_eq!(baseline.runs(&super::key("b")).count(), 2);
    let twice = baseline.insert(line("b", "2026-12-01", "cccccccccccc")).unwrap_err();
    assert!(twice.0.contains("b acc: this run is in the baseline already"), "{twice}");
    baseline.replace(line("b", "2026-12-01", "dddddddddddd")).unwrap();
    assert_eq!(records(&baseline), "ad");
    let group = |members: &[&str]| Group {
        name: "g".to_owned(),
        members: members.iter().map(|&name| name.to_owned()).collect(),
    };
    baseline.replace_group(group(&["a"])).unwrap();
    baseline.replace_group(group(&["a", "b"])).unwrap();
    assert_eq!(baseline.groups().cloned().collect::<Vec<_>>(), [group(&["a", "b"])]);
    assert_eq!(parse(&baseline.write(), "q.txt").unwrap(), baseline);
}

#[test]
fn what_would_not_read_back_is_not_written() {
    let mut baseline = EvalBaseline::new(model()).unwrap();
    let before = baseline.clone();
    let good = line("a", "2026-11-30", "aaaaaaaaaaaa");
    let of = |score: Score| ScoreLine { score, ..good.clone() };
    let score = good.score.clone();
    for (bad, why) in [
        (
            of(Score {
                value: None,
                ..score.clone()
            }),
            "not a decimal number",
        ),
        (
            of(Score {
                aim: None,
                ..score.clone()
            }),
            "direction \"-\"",
        ),
        (
            of(Score {
                extent: Some(Extent::One),
                value: Some(2.0),
                ..score.clone()
            }),
            "outside the scale",
        ),
        (
            of(Score {
                stderr: Some(f64::NAN),
                ..score.clone()
            }),
            "not a finite number",
        ),
        (
            ScoreLine {
                date: "today".to_owned(),
                ..good.clone()
            },
            "no day",
        ),
        (
            ScoreLine {
                record: "x".to_owned(),
                ..good.clone()
            },
            "12 hexadecimal",
        ),
        (
            of(Score {
                setup: Setup {
                    task_hash: Some("ab12".to_owned()),
                    harness: Some(String::new()),
                    ..Setup::default()
                },
                ..score
            }),
            "would not read back",
        ),
    ] {
        let refused = baseline.insert(bad).unwrap_err();
        assert!(refused.0.contains(why), "{why}: {refused}");
    }
    assert_eq!(baseline, before);
    let nameless = Model {
        id: String::new(),
        ..model()
    };
    assert!(
        EvalBaseline::new(nameless).is_err()
            && EvalBaseline::new(Model {
                digest: "x".to_owned(),
                ..model()
            })
            .is_err()
    );
}

#[test]
fn another_base_model_is_refused() {
    let baseline = EvalBaseline::new(model()).unwrap();
    assert_eq!(baseline.check_model(&model()), Ok(()));
    for other in [
        Model {
            id: "Qwen/Qwen3-4B".to_owned(),
            ..model()
        },
        Model {
            digest: "00000000".to_owned(),
            ..model()
        },
    ] {
        let refused = baseline.check_model(&other).unwrap_err();
        assert!(
            refused.contains(&other.id) && refused.contains(&other.digest) && refused.contains("3f9a01c7be55"),
            "{refused}"
        );
    }
}

fn any_name() -> impl Strategy<Value = String> {
    prop_oneof![
        "[a-z_]{1,8}",
        "[ -~]{1,12}",
        any::<String>().prop_filter("a name", |name| !name.is_empty())
    ]
}

fn any_score() -> impl Strategy<Value = Score> {
    let key = (any_name(), any_name(), prop_oneof![Just(String::new()), any_name()]);
    let aim = prop_oneof![Just(Aim::Higher), Just(Aim::Lower), (-1e9..1e9).prop_map(Aim::Target)];
    let value = prop_oneof![0.0..1.0, prop::num::f64::NORMAL];
    let config = prop::collection::btree_map(any_name(), any::<String>(), 0..3);
    let setup = (
        prop::option::of(any::<u32>()),
        prop::option::of(any_name()),
        prop::option::of(any_name()),
        prop::option::of(any_name()),
        config,
    );
    let numbers = (prop::option::of(1..1_000_000_u64), prop::option::of(0.0..1.0));
    (key, aim, value, setup, numbers).prop_map(|((task, metric, filter), aim, value, setup, (items, stderr))| {
        let (few_shot, chat_template, task_version, limit, config) = setup;
        Score {
            aim: Some(aim),
            items,
            of: items,
            stderr,
            setup: Setup {
                task_hash: Some("ab12".to_owned()),
                few_shot,
                chat_template,
                task_version,
                harness: None,
                limit,
                config,
            },
            ..Score::new(Key { task, metric, filter }, value)
        }
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    #[test]
    fn what_is_written_reads_back(scores in prop::collection::vec(any_score(), 0..6)) {
        let mut baseline = EvalBaseline::new(model()).unwrap();
        for (at, score) in scores.into_iter().enumerate() {
            let one = ScoreLine { score, ..line("", "2026-11-30", &format!("{at:012x}")) };
            baseline.insert(one).unwrap();
        }
        prop_assert_eq!(parse(&baseline.write(), "q.txt").unwrap(), baseline);
    }

    #[test]
    fn any_bytes_are_read_or_refused(bytes in prop::collection::vec(any::<u8>(), 0..200), tail in "[ -~\n]{0,80}") {
        let _ = parse_bytes(&bytes, "q.txt");
        let text = format!("gate-eval-baseline 1\nmodel q 00000000\n{tail}\n");
        if let Ok(baseline) = parse(&text, "q.txt") {
            prop_assert_eq!(baseline.write(), text);
        }
    }
}
