//! The noise of a fixture: measured on equal arms, accepted with its evidence, and what it says in later judgements.

use std::fs;

use gate::judge::band;
use gate::judge::calibration::{Calibration, calibrate};
use gate::model::baseline::BandLine;
use gate::model::identity::identity_digest;
use gate::model::judgement::{Disposition, Judgement};
use gate::model::plan::Objective;
use gate::model::record::Record;
use gate::model::sample::{Sample, Slot};
use serde_json::Value;

use crate::sandbox::{Done, Sandbox, json, program};
use crate::synthetic::{Reports, Session, noisy};

/// A finished session of equal arms, five fixed blocks.
fn session(seed: u64, program: impl FnMut(&Slot, &mut Sample)) -> Record {
    let fixed = Session::new().cap(5).planned(|plan| {
        plan.fixed = true;
        plan.looks = vec![5];
        plan.max_blocks = 14;
    });
    let mut session = fixed.whole(program);
    session.0.at = format!("2026-11-{:02}T10:00:00Z", 1 + seed);
    equal(&mut session);
    session.record()
}

fn equal(session: &mut Session) {
    session.0.gate.equal = vec!["policy".to_owned()];
}

fn only(records: &[Record]) -> Calibration {
    let mut found = calibrate(records);
    assert_eq!(found.len(), 1);
    found.remove(0).unwrap_or_else(|why| panic!("not characterised: {why}"))
}

/// Four sessions of a program that is made anew for each.
fn four<P: FnMut(&Slot, &mut Sample)>(make: impl Fn(u64) -> P) -> Vec<Record> {
    (0..4).map(|seed| session(seed, make(seed))).collect()
}

#[test]
fn plain_noise_is_measured_and_planned_with() {
    let found = only(&four(|seed| noisy(0.0, 0.7, seed)));
    assert_eq!((found.records.len(), found.blocks, found.values.n, found.noise.df), (4, 20, 80, 32));
    assert_eq!(found.max_blocks, 14, "the gate's own cap, although the sessions were fixed");
    assert!(found.noise.low < 0.7 && 0.7 < found.noise.high, "{:?}", found.noise);
    assert!(
        found.noise.sd < found.noise.planned && found.noise.planned < found.noise.high,
        "{:?}",
        found.noise
    );
    assert_eq!((found.two_states, found.drift.shown, found.bias.shown), (None, false, false));
    let reach = found.reach;
    assert!(
        found.carries() && reach.blocks_needed.is_some_and(|blocks| blocks <= 14),
        "{reach:?}"
    );
    assert!(
        reach.smallest_detectable < Some(1.2) && reach.carried_at_most < reach.carried,
        "{reach:?}"
    );

    let wild = only(&four(|seed| noisy(0.0, 4.0, seed)));
    assert_eq!((wild.carries(), wild.reach.blocks_needed), (false, None));
    assert!(wild.reach.carried_at_most > Some(3.0), "{:?}", wild.reach);
}

#[test]
fn two_states_drift_and_bias_are_found() {
    let states = only(&four(|seed| {
        let mut plain = noisy(0.0, 0.2, seed);
        move |slot: &Slot, sample: &mut Sample| {
            plain(slot, sample);
            // A coin that is the same every time.
            if (u64::from(sample.seq) * 2_654_435_761 + seed) % 7 < 3 {
                let t = sample.values["t"];
                sample.prints("t", 1.04 * t);
            }
        }
    }));
    let found = states.two_states.expect("two states");
    assert!(
        (found.apart - 4.0).abs() < 0.5 && (0.2..0.6).contains(&found.worse_share),
        "{found:?}"
    );

    let drifting = only(&four(|seed| {
        let mut plain = noisy(0.0, 0.2, seed);
        move |slot: &Slot, sample: &mut Sample| {
            plain(slot, sample);
            let t = sample.values["t"];
            sample.prints("t", t * (1.0 + 0.005 * f64::from(sample.seq)));
        }
    }));
    assert!(
        drifting.drift.shown && (-0.6..-0.3).contains(&drifting.drift.gain),
        "{:?}",
        drifting.drift
    );

    let biased = only(&four(|seed| noisy(1.0, 0.2, seed)));
    assert!(biased.bias.shown, "{:?}", biased.bias);
    assert!(
        biased.bias.null_margin.is_some_and(|margin| (1.8..2.2).contains(&margin)),
        "{:?}",
        biased.bias
    );
    let two = only(&four(|seed| noisy(1.0, 0.2, seed))[..2]);
    assert_eq!(two.bias.null_margin, None, "two sessions cannot say how large it is");
}

#[test]
fn what_cannot_be_characterised_says_why() {
    let half = session(0, |slot, sample| {
        sample.prints("t", 100.0);
        if slot.block == 3 {
            sample.exits(1);
        }
    });
    for (records, what) in [
        (vec![session(0, |_, sample| sample.lacks("t"))], "t: session "),
        (vec![session(0, noisy(0.0, 0.5, 1)), half], "blocks are complete"),
    ] {
        let why = calibrate(&records).remove(0).unwrap_err();
        assert!(why.contains(what), "{why}");
        assert!(band::line(&records, "", "t").is_err());
    }
    assert!(calibrate(&[]).is_empty());
    let one = [session(0, noisy(0.0, 0.5, 1))];
    assert!(band::line(&one, "", "t").unwrap_err().contains("at least 2 sessions"));
    let mut foreign = Session::new().cap(5).whole(noisy(0.0, 0.5, 2));
    equal(&mut foreign);
    foreign.0.identity.policy.insert("order".to_owned(), "abba".into());
    let mixed = [foreign.record(), session(1, noisy(0.0, 0.5, 1))];
    assert!(band::line(&mixed, "", "t").unwrap_err().contains("another gate or identity"));
}

/// The band of four sessions with this noise.
fn accepted(sd_pct: f64) -> BandLine {
    band::line(&four(|seed| noisy(0.0, sd_pct, seed)), "", "t").unwrap()
}

fn judged(mut session: Session, bands: &[BandLine], program: impl FnMut(&Slot, &mut Sample)) -> Judgement {
    equal(&mut session);
    session.0.context.band = bands.to_vec();
    session.whole(program).judge()
}

fn alarm(judgement: &Judgement) -> Option<&String> {
    let mut warnings = judgement.verdicts.iter().flat_map(|ruling| &ruling.warnings);
    warnings.find(|warning| warning.starts_with("noisier than characterised"))
}

#[test]
fn a_session_noisier_than_its_band_says_so_and_is_judged_all_the_same() {
    let band = accepted(0.5);
    let wild = || noisy(0.0, 8.0, 5);
    let without = judged(Session::new(), &[], wild());
    let with = judged(Session::new(), std::slice::from_ref(&band), wild());
    let said = alarm(&with).unwrap_or_else(|| panic!("no alarm: {:?}", with.verdicts));
    assert!(
        said.contains(&format!("by {} % in the accepted band", band.sd_pct)),
        "the band's number: {said}"
    );
    let own = said.split("runs vary by ").nth(1).and_then(|rest| rest.split(' ').next()).unwrap();
    assert!((5.0..12.0).contains(&own.parse::<f64>().unwrap()), "its own number: {said}");
    assert_eq!(alarm(&without), None);
    for (one, other) in with.verdicts.iter().zip(&without.verdicts) {
        assert_eq!(
            (one.verdict, &one.looks, one.interval),
            (other.verdict, &other.looks, other.interval),
            "a band decides nothing"
        );
    }
    let calm = judged(Session::new(), std::slice::from_ref(&band), noisy(0.0, 0.5, 6));
    assert_eq!(alarm(&calm), None);
    for change in [
        |band: &mut BandLine| band.identity = "00000000".to_owned(),
        |band: &mut BandLine| band.metric = "u".to_owned(),
        |band: &mut BandLine| band.fixture = "q".to_owned(),
    ] {
        let mut foreign = band.clone();
        change(&mut foreign);
        assert_eq!(
            alarm(&judged(Session::new(), &[foreign], wild())),
            None,
            "a foreign band says nothing"
        );
    }
    let still = BandLine {
        sd_pct: 0.0,
        low: 0.0,
        ..band
    };
    assert_eq!(
        alarm(&judged(Session::new(), &[still], noisy(0.0, 0.05, 6))),
        None,
        "no noise is believed below the least believable one"
    );
}

#[test]
fn a_band_is_of_the_declared_metric_whatever_the_scale_of_its_tolerance() {
    let metric = crate::synthetic::metric("t:lower:ms", "2ms");
    let absolute = Session::of(vec![metric], vec![crate::synthetic::rule("hold")]);
    let with = judged(absolute, &[accepted(0.5)], noisy(0.0, 8.0, 5));
    assert!(
        alarm(&with).is_some_and(|said| said.contains("0.") && said.contains(" %")),
        "{:?}",
        with.verdicts[0].warnings
    );
}

#[test]
fn a_promotion_says_what_it_lacks() {
    let claim = |bands: &[BandLine], gain_pct: f64| {
        let judgement = judged(Session::new().promote(), bands, noisy(-gain_pct, 0.1, 1));
        assert_eq!(judgement.disposition, Disposition::Measured, "{:?}", judgement.disposition_because);
        judgement.disposition_because.join("; ")
    };
    let none = claim(&[], 6.0);
    let small = claim(&[accepted(5.0)], 4.0);
    let beyond = claim(&[accepted(0.5)], 6.0);
    assert!(none.contains("an accepted noise band of t"), "{none}");
    assert!(small.contains("a gain on t beyond the accepted noise band"), "{small}");
    assert!(!beyond.contains("band"), "{beyond}");
    for said in [none, small, beyond] {
        assert!(
            said.contains("intended path was active") && said.contains("the output is correct"),
            "{said}"
        );
    }
    assert_eq!(Session::new().promote().0.plan.objective, Objective::Promote);
}

#[test]
fn a_noisier_band_is_worse_and_its_evidence_gives_the_line() {
    let records = four(|seed| noisy(0.0, 0.5, seed));
    let line = band::line(&records, "", "t").unwrap();
    let digest = identity_digest(&records[0].identity, &records[0].gate.equal).unwrap();
    assert_eq!((line.df, line.sessions, &line.identity), (32, 4, &digest));
    assert_eq!(line.record, records[3].seal[3..15]);
    let others = band::others(&line);
    assert_eq!(others, [2, 1, 0].map(|at| records[at].seal[3..15].to_owned()));
    assert!(band::worse(&accepted(2.0), &line).is_some_and(|why| why.contains("in the accepted band")));
    assert_eq!(band::worse(&line, &accepted(2.0)), None);
    let why = band::agrees(&line, "gfx942", &records).unwrap_err();
    assert!(why.contains("not measured on gfx942"), "{why}");
}

/// Prints a figure of 100000 to 100000 + 255 spreads.
const STEADY: &str = "echo ms=$((100000 + $(od -An -N1 -tu1 /dev/urandom) * SPREAD)).0";

fn print(spread: u32) -> String {
    STEADY.replace("SPREAD", &spread.to_string())
}

fn noise(sandbox: &Sandbox, words: &[&str]) -> Done {
    sandbox.gate(&[&["noise", "--sessions", "3", "--blocks", "2"], words].concat())
}

#[test]
fn a_command_is_measured_against_itself() {
    let sandbox = Sandbox::new();
    sandbox.script("print.sh", &print(1));
    let ms = ["--a", "./print.sh", "--metric", "ms:lower:ms"];
    let done = noise(&sandbox, &[&ms[..], &["--format", "json"]].concat()).exits(0);
    let found = json(&done.out);
    assert_eq!(
        (found["records"].as_array().map(Vec::len), found["values"]["n"].as_u64()),
        (Some(3), Some(24))
    );
    let ledger = sandbox.ledger();
    let labels: Vec<&str> = ledger.iter().map(|record| record["labels"]["noise"].as_str().unwrap()).collect();
    assert_eq!(labels, ["1 of 3", "2 of 3", "3 of 3"]);
    for record in &ledger {
        let plan = &record["plan"];
        assert_eq!(
            (&record["kind"], &plan["fixed"], &plan["looks"], &plan["max_blocks"]),
            (&"perf".into(), &true.into(), &serde_json::json!([2]), &14.into())
        );
        assert_eq!(
            record["context"]["command"],
            "gate noise --a ./print.sh --metric ms:lower:ms --sessions 3 --blocks 2"
        );
    }
    assert_eq!(sandbox.gate(&["ledger", "verify"]).exits(0).out.lines().count(), 1);

    let said = noise(&sandbox, &[&ms[..], &["--tolerance", "0.01%"]].concat()).exits(1).out;
    assert!(said.contains("this fixture cannot carry 0.01 %: 14 blocks carry"), "{said}");
    for part in ["noise: ", "states: ", "could see: ", "(min / median / max)", "equal arms"] {
        assert!(said.contains(part), "{part:?} is not in {said}");
    }
    let said = noise(&sandbox, &[&ms[..], &["--format", "markdown"]].concat()).exits(0).out;
    assert!(
        said.starts_with("**gate noise&#58; ms \\(command-line\\)**") || said.contains("command-line"),
        "{said}"
    );
}

#[test]
fn what_is_not_measured_is_not_characterised_and_nothing_is_accepted() {
    let sandbox = Sandbox::new();
    sandbox.script("print.sh", "echo other=1");
    let done = noise(&sandbox, &["--a", "./print.sh", "--metric", "ms:lower:ms", "--accept"]).exits(3);
    assert!(
        done.out.contains("not characterised") && done.out.contains("nothing is accepted"),
        "{}",
        done.out
    );
    assert!(!sandbox.path("baselines").exists());
    sandbox.script("print.sh", &print(1));
    // Outside a repository the source is not known.
    noise(&sandbox, &["--a", "./print.sh", "--metric", "ms:lower:ms", "--accept"])
        .exits(2)
        .says("exploratory");
    assert!(!sandbox.path("baselines").join("evidence").exists());
}

#[test]
fn wrong_options_are_refused_before_a_process_runs() {
    let sandbox = Sandbox::new();
    sandbox.script("mark.sh", "echo ran >> log");
    for (words, what) in [
        (&["noise"][..], "--a <CMD>|--gate <FILE>"),
        (&["noise", "--a", "./mark.sh", "--gate", "gates/x.toml"], "cannot be used with"),
        (&["noise", "--a", "./mark.sh", "--blocks", "1"], "--blocks"),
        (&["noise", "--a", "./mark.sh", "--sessions", "21"], "--sessions"),
        (&["noise", "--a", "./mark.sh", "--because", "x"], "--accept"),
        (&["noise", "--a", "./mark.sh", "--tolerance", "nan%"], "not a finite number"),
        (&["noise", "--a", "./mark.sh", "--metric", "x"], "NAME:higher|lower:UNIT"),
        (&["noise", "--gate", "gates/x.toml", "--metric", "x:lower:s"], "--a"),
        (&["noise", "--gate", "gates/x.toml"], "not a git repository"),
    ] {
        sandbox.gate(words).exits(2).says(what);
    }
    assert!(sandbox.lines("log").is_empty() && sandbox.ledger().is_empty());
}

/// Runs git in a sandbox.
fn git(sandbox: &Sandbox, words: &[&str]) {
    let mut command = std::process::Command::new("git");
    sandbox.furnish(&mut command);
    command.args(["-c", "user.name=a", "-c", "user.email=a@example.org"]).args(words);
    sandbox.start(command).wait().exits(0);
}

const GATE: &str = "version = 1\nabout = \"a figure\"\nsource = \"run\"\n[run]\ncommand = [\"sh\", \"{tree}/print.sh\"]\n\
                    [plan]\nmax_blocks = 6\n[[metric]]\nname = \"ms\"\nunit = \"ms\"\nbetter = \"lower\"\ntolerance = \"2%\"\n";

#[test]
fn the_noise_of_a_gate_is_accepted_and_later_sessions_are_held_against_it() {
    let Some(_) = program("git") else { return };
    let sandbox = Sandbox::new();
    fs::create_dir(sandbox.path("gates")).unwrap();
    sandbox.write("gates/figure.toml", GATE);
    sandbox.script("print.sh", &print(1));
    git(&sandbox, &["init", "-q", "-b", "trunk"]);
    git(&sandbox, &["add", "."]);
    git(&sandbox, &["commit", "-q", "-m", "first"]);
    let gate = ["--gate", "gates/figure.toml"];
    let said = noise(&sandbox, &[&gate[..], &["--accept"]].concat()).exits(0).out;
    assert!(said.contains("accepted the noise of ms"), "{said}");
    let folder = sandbox.path("baselines");
    let file = fs::read_dir(&folder)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .find(|path| path.extension().is_some())
        .unwrap();
    let text = fs::read_to_string(&file).unwrap();
    assert_eq!(text.lines().filter(|line| line.starts_with("band ")).count(), 1, "{text}");
    sandbox.gate(&["baseline", "check"]).exits(0);

    // The same commit on both sides: the sessions of noise were no attempts at this comparison.
    let perf = [&["perf"][..], &gate[..], &["--base", "HEAD", "--format", "json"]].concat();
    let record = sandbox.gate(&perf).exits(0).record();
    assert_eq!(record["context"]["attempt"], 1);
    let band = &record["context"]["band"][0];
    assert_eq!(
        (band["metric"].as_str(), band["sessions"].as_u64()),
        (Some("ms"), Some(3)),
        "{band}"
    );
    assert_eq!(record["context"]["baseline"], Value::Null, "no rule asks for a baseline");
    sandbox.script("print.sh", &print(200));
    git(&sandbox, &["commit", "-q", "-a", "-m", "noisy"]);
    let record = sandbox.gate(&perf).record();
    let warnings = record["judgement"]["verdicts"][0]["warnings"].to_string();
    assert!(warnings.contains("noisier than characterised"), "{warnings}");

    let refused = noise(&sandbox, &[&gate[..], &["--accept"]].concat()).exits(2);
    refused.says("say why it is accepted all the same, with --because");
    assert_eq!(fs::read_to_string(&file).unwrap(), text, "the band stays");
    noise(&sandbox, &[&gate[..], &["--accept", "--because", "a new input"]].concat());
    let replaced = fs::read_to_string(&file).unwrap();
    assert_eq!(replaced.lines().filter(|line| line.starts_with("band ")).count(), 1, "{replaced}");
    sandbox.gate(&["baseline", "check"]).exits(0);

    let broken = replaced.replacen("  10  ", "  11  ", 1).replacen("  6  3  ", "  7  3  ", 1);
    fs::write(&file, &broken).unwrap();
    let said = sandbox.gate(&["baseline", "check"]).exits(4).out;
    assert!(said.contains("not what its evidence gives"), "{said}");
    fs::write(&file, &replaced).unwrap();
    fs::remove_dir_all(folder.join("evidence")).unwrap();
    assert!(sandbox.gate(&["baseline", "check"]).exits(4).out.contains("no evidence of record"));
}
