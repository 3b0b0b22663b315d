//! What a committed baseline costs: reading 10,000 lines, and judging 1,000 buckets against them.
#![expect(
    clippy::unwrap_used,
    clippy::print_stdout,
    clippy::disallowed_methods,
    reason = "a benchmark reads the clock and tells"
)]

use std::collections::BTreeMap;
use std::hint::black_box;
use std::time::Instant;

use gate::judge::{Case, judge};
use gate::model::baseline::{Baseline, BaselineUse, Source, parse};
use gate::model::evidence::Evidence;
use gate::model::gate::{Against, Gate, Rule};
use gate::model::host::Host;
use gate::model::identity::{Facts, Identity, identity_digest, none};
use gate::model::metric::Metric;
use gate::model::plan::{Objective, OnInconclusive, Order, Plan};
use gate::model::record::{Base, Context};
use gate::model::sample::{Arm, Cell, PerArm, Sample};
use serde_json::json;

const EQUAL: [&str; 5] = ["model", "prompt", "gpu", "config", "policy"];
const ARCH: &str = "cpu-x86_64";
const BUCKETS: usize = 1000;
const SESSIONS: usize = 10;
const BLOCKS: u32 = 4;
const ROUNDS: usize = 5;

/// The quickest of some rounds, in milliseconds.
fn quickest_ms(mut work: impl FnMut()) -> f64 {
    let rounds = (0..ROUNDS).map(|_| {
        let start = Instant::now();
        work();
        start.elapsed().as_secs_f64() * 1e3
    });
    rounds.fold(f64::INFINITY, f64::min)
}

fn main() {
    let identity = identity();
    let text = text(&identity_digest(&identity, &EQUAL.map(str::to_owned)).unwrap());
    let lines = text.lines().count();
    let walk_ms = quickest_ms(|| {
        let words: usize = text.lines().map(|line| line.split_ascii_whitespace().count()).sum();
        assert!(black_box(words) > lines, "every line has several words");
    });
    let read_ms = quickest_ms(|| drop(black_box(parse(&text, "baselines/cpu-x86_64.txt").unwrap())));
    println!(
        "read {lines} lines, {} bytes: {read_ms:.2} ms, {:.1} times a bare walk over their words",
        text.len(),
        read_ms / walk_ms
    );

    let (gate, plan, evidence) = session();
    let baseline = parse(&text, "baselines/cpu-x86_64.txt").unwrap();
    let context = context(&baseline, &gate, &plan);
    let alone = Context {
        baseline: None,
        ..context.clone()
    };
    let host = Host::default();
    let case = |context| Case {
        gate: &gate,
        plan: &plan,
        identity: &identity,
        host: &host,
        evidence: &evidence,
        context,
    };
    let verdicts = judge(&case(&context)).verdicts;
    assert!(
        verdicts.len() == BUCKETS && verdicts.iter().all(|ruling| ruling.estimate.is_some()),
        "some bucket was not judged"
    );
    let without_ms = quickest_ms(|| drop(black_box(judge(&case(&alone)))));
    let with_ms = quickest_ms(|| drop(black_box(judge(&case(&context)))));
    println!(
        "judge {BUCKETS} buckets against {SESSIONS} sessions each: {with_ms:.2} ms, {:.1} times the same without a baseline",
        with_ms / without_ms
    );
    println!("both: {:.2} ms of at most 100 ms", read_ms + with_ms);
}

fn fixture(bucket: usize) -> String {
    format!("fixture-{bucket:04}")
}

fn text(identity: &str) -> String {
    let mut text = Baseline::new(ARCH).write();
    for bucket in 0..BUCKETS {
        for session in (0..SESSIONS).rev() {
            let values: Vec<String> = (0..8)
                .map(|run| format!("{}", 150.0 + 0.1 * ((bucket + 3 * session + run) % 17) as f64))
                .collect();
            text.push_str(&format!(
                "sample  {}  tg128  tok/s  higher  2026-11-{:02}  {identity}  {session:012x}  {}  binary=0123456789ab\n",
                fixture(bucket),
                session + 1,
                values.join(" ")
            ));
        }
    }
    text
}

fn identity() -> Identity {
    Identity {
        model: none(),
        prompt: none(),
        gpu: none(),
        config: Facts::from([("env".to_owned(), json!({}))]),
        policy: Facts::from([("warmup_runs".to_owned(), json!(1))]),
        machine: Facts::from([("arch".to_owned(), json!(ARCH))]),
        ..Identity::default()
    }
}

fn context(baseline: &Baseline, gate: &Gate, plan: &Plan) -> Context {
    let source = Source {
        file: format!("baselines/{ARCH}.txt"),
        digest: Some("b3:00".to_owned()),
        from: None,
        today: "2026-11-30".to_owned(),
        stale_after_days: 30,
    };
    Context {
        base: Base {
            commit: None,
            why: "made up".to_owned(),
        },
        head: None,
        attempt: 1,
        band: Vec::new(),
        waivers: Vec::new(),
        banners: Vec::new(),
        baseline: Some(BaselineUse::select(Some(baseline), source, gate, &plan.cells)),
        unaffected: None,
        identical: false,
        new_gate: false,
        beside: Vec::new(),
        changed_harness: Vec::new(),
        command: "gate perf".to_owned(),
    }
}

fn session() -> (Gate, Plan, Evidence) {
    let rule = Rule {
        kind: "hold".to_owned(),
        against: Against::Baseline,
        metric: "*".to_owned(),
        fixture: "*".to_owned(),
        required: true,
        at: "gates/x.toml:1".to_owned(),
        tolerance: None,
        max: None,
        at_least: None,
        at_most: None,
        test: None,
    };
    let gate = Gate {
        name: "x".to_owned(),
        from: "gates/x.toml".to_owned(),
        digest: String::new(),
        text: String::new(),
        metrics: vec![Metric::parse_flag("tg128:higher:tok/s").unwrap()],
        rules: vec![rule],
        complete: Vec::new(),
        equal: EQUAL.map(str::to_owned).to_vec(),
        measured: BTreeMap::new(),
        scores: None,
    };
    let order = Order::ThueMorse;
    let plan = Plan {
        objective: Objective::Gate,
        order,
        blocks: (0..BLOCKS).map(|block| order.orientation(block)).collect(),
        looks: vec![2, 3, 4],
        cells: (0..BUCKETS).map(|bucket| Cell { fixture: fixture(bucket) }).collect(),
        max_blocks: BLOCKS,
        fixed: false,
        alpha: 0.01,
        beta: 0.05,
        null_margin: 0.0,
        rank_share: 0.25,
        min_run_cv: 0.0005,
        warmup_runs: 0,
        warmup: None,
        max_void_blocks: 2,
        max_attempts: 0,
        max_failed_pct: 0.0,
        timeout_s: 60.0,
        max_session_s: 600.0,
        on_inconclusive: OnInconclusive::Fail,
        extract: "key-value".to_owned(),
        commands: PerArm::default(),
        cwd: String::new(),
        telemetry: None,
        digest: String::new(),
    };
    let mut samples = Vec::new();
    for cell in &plan.cells {
        for (block, orientation) in (0..).zip(&plan.blocks) {
            for (position, arm) in (0..).zip(orientation.arms()) {
                samples.push(sample(samples.len() as u32, cell, block, position, *arm));
            }
        }
    }
    let evidence = Evidence {
        source: "run".to_owned(),
        warmups: Vec::new(),
        samples,
        ended: None,
        scores: None,
    };
    (gate, plan, evidence)
}

fn sample(seq: u32, cell: &Cell, block: u32, position: u32, arm: Arm) -> Sample {
    Sample {
        seq,
        cell: cell.clone(),
        block,
        position,
        attempt: 0,
        arm,
        pid: 1,
        start: String::new(),
        exit: Some(0),
        failed: None,
        values: BTreeMap::from([("tg128".to_owned(), 150.0 + f64::from(seq % 13) * 0.1)]),
        standard_errors: BTreeMap::new(),
        missing: BTreeMap::new(),
        detail: BTreeMap::new(),
        void: None,
        warmup: false,
        profiled: false,
        telemetry: None,
    }
}
