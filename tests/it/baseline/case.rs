//! Sessions that never ran: records with made-up samples, judged as real ones are.

use std::collections::BTreeMap;

use gate::judge::{Case, judge};
use gate::model::baseline::{BaselineUse, SampleLine};
use gate::model::evidence::Evidence;
use gate::model::gate::{Against, Gate, Rule};
use gate::model::host::Host;
use gate::model::identity::{ArmIdentity, Artifact, Facts, Identity, Source, build_digest, identity_digest, none};
use gate::model::judgement::{Ruling, Step};
use gate::model::metric::{Metric, Tolerance};
use gate::model::plan::{Objective, OnInconclusive, Order, Orientation, Plan};
use gate::model::record::{Base, Context, Record, Tool, plan_digest};
use gate::model::sample::{Arm, Cell, PerArm, Sample};
use serde_json::json;

/// The architecture of the made-up machine.
pub const ARCH: &str = "cpu-x86_64";

/// What must be equal.
pub const EQUAL: [&str; 5] = ["model", "prompt", "gpu", "config", "policy"];

/// A machine without a GPU, and an arm of one file each.
pub fn identity() -> Identity {
    let arm = |blake3: &str| ArmIdentity {
        source: Some(Source {
            branch: None,
            commit: "1a2b3c4".to_owned(),
            dirty: false,
            tree: None,
        }),
        artifacts: vec![Artifact {
            role: "executable".to_owned(),
            path: "/opt/bench".to_owned(),
            bytes: 7,
            md5: Some("ab".repeat(16)),
            blake3: blake3.repeat(32),
        }],
    };
    let facts = |name: &str| Facts::from([(name.to_owned(), json!(1))]);
    Identity {
        arms: PerArm {
            a: arm("aa"),
            b: arm("bb"),
        },
        model: none(),
        prompt: none(),
        gpu: none(),
        config: facts("env"),
        policy: facts("warmup_runs"),
        machine: Facts::from([("arch".to_owned(), json!(ARCH))]),
        missing: Vec::new(),
    }
}

/// The digest of [`identity`] by the usual fields.
pub fn own_digest() -> String {
    identity_digest(&identity(), &EQUAL.map(str::to_owned)).unwrap()
}

/// The build of the made-up base arm.
pub fn base_build() -> String {
    build_digest(&identity().arms.a).unwrap()
}

pub fn metric(flag: &str) -> Metric {
    Metric::parse_flag(flag).unwrap()
}

pub fn rule(kind: &str, against: Against) -> Rule {
    Rule {
        kind: kind.to_owned(),
        against,
        metric: "*".to_owned(),
        fixture: "*".to_owned(),
        required: true,
        at: "gates/x.toml:1".to_owned(),
        tolerance: None,
        max: None,
        at_least: None,
        at_most: None,
        test: None,
    }
}

pub fn tolerance(text: &str) -> Option<Tolerance> {
    Some(Tolerance::parse(text).unwrap())
}

/// A session of a baseline: one value, repeated.
pub fn line(fixture: &str, metric: &Metric, date: &str, value: f64) -> SampleLine {
    SampleLine {
        fixture: fixture.to_owned(),
        metric: metric.name.clone(),
        unit: metric.unit,
        better: metric.better,
        date: date.to_owned(),
        identity: Some(own_digest()),
        record: Some(blake3::hash(date.as_bytes()).to_hex().as_str()[..12].to_owned()),
        values: vec![value; 8],
        extras: BTreeMap::new(),
    }
}

/// The same as an old figure that somebody published.
pub fn historical(line: SampleLine, stat: &str) -> SampleLine {
    let extras = [("status", "historical"), ("stat", stat), ("source", "hipfire")];
    SampleLine {
        identity: None,
        record: None,
        values: line.values[..1].to_vec(),
        extras: extras.map(|(key, value)| (key.to_owned(), value.to_owned())).into(),
        ..line
    }
}

pub fn used(lines: Vec<SampleLine>) -> BaselineUse {
    BaselineUse {
        file: format!("baselines/{ARCH}.txt"),
        digest: Some("b3:00".to_owned()),
        arch: ARCH.to_owned(),
        from: None,
        lines,
        today: "2026-11-30".to_owned(),
        stale_after_days: 30,
    }
}

/// A session to be made up: what is declared, and what each arm gives.
pub struct Maker {
    pub metrics: Vec<Metric>,
    pub rules: Vec<Rule>,
    pub fixtures: Vec<&'static str>,
    pub blocks: u32,
    /// Without a base arm: each block is one run of the candidate.
    pub alone: bool,
    pub baseline: Option<BaselineUse>,
    pub identity: Identity,
    pub at: &'static str,
}

impl Maker {
    /// Throughput, held against the baseline, four blocks.
    pub fn new(baseline: Option<BaselineUse>) -> Self {
        Self {
            metrics: vec![metric("tg:higher:tok/s")],
            rules: vec![rule("hold", Against::Baseline)],
            fixtures: vec!["q4"],
            blocks: 4,
            alone: false,
            baseline,
            identity: identity(),
            at: "2026-11-30T10:00:00.000000Z",
        }
    }

    /// A whole session in which each arm gives one figure, give or take a thousandth.
    pub fn steady(&self, base: f64, candidate: f64) -> Record {
        self.session(&|_, _, arm| if arm == Arm::A { base } else { candidate })
    }

    /// A session as the runner would take it: as long as the judge asks for the next process.
    pub fn session(&self, value: &dyn Fn(&str, &str, Arm) -> f64) -> Record {
        let mut record = self.empty();
        loop {
            record.judgement = judge(&Case::from(&record));
            let Step::Run(slot) = record.judgement.step.clone() else { break };
            let seq = record.evidence.samples.len() as u32;
            let jitter = 1.0 + 0.001 * (f64::from(seq * 7919 % 11) - 5.0) / 5.0;
            let figures = self.metrics.iter().map(|metric| {
                let figure = value(&slot.cell.fixture, &metric.name, slot.arm) * jitter;
                (metric.name.clone(), figure)
            });
            record.evidence.samples.push(Sample {
                seq,
                cell: slot.cell.clone(),
                block: slot.block,
                position: slot.position,
                attempt: slot.attempt,
                arm: slot.arm,
                pid: 1,
                start: self.at.to_owned(),
                exit: Some(0),
                failed: None,
                values: figures.collect(),
                standard_errors: BTreeMap::new(),
                missing: BTreeMap::new(),
                detail: BTreeMap::new(),
                void: None,
                warmup: slot.warmup,
                profiled: false,
                telemetry: None,
            });
            assert!(record.evidence.samples.len() < 100_000, "the session does not end");
        }
        record.plan.digest = plan_digest(&serde_json::to_value(&record).unwrap());
        record.sealed(None).unwrap().0
    }

    fn empty(&self) -> Record {
        let cells: Vec<Cell> = self
            .fixtures
            .iter()
            .map(|fixture| Cell {
                fixture: (*fixture).to_owned(),
            })
            .collect();
        let gate = Gate {
            name: "x".to_owned(),
            from: "gates/x.toml".to_owned(),
            digest: gate::model::record::digest(b""),
            text: String::new(),
            metrics: self.metrics.clone(),
            rules: self.rules.clone(),
            complete: vec!["source".to_owned(), "artifacts".to_owned()],
            equal: EQUAL.map(str::to_owned).to_vec(),
            measured: BTreeMap::new(),
            scores: None,
        };
        let mut plan = plan(self.blocks, cells);
        if self.alone {
            plan.blocks.fill(Orientation::B);
        }
        let context = Context {
            base: Base {
                commit: None,
                why: "made up".to_owned(),
            },
            head: None,
            attempt: 1,
            band: Vec::new(),
            waivers: Vec::new(),
            banners: Vec::new(),
            baseline: self.baseline.clone(),
            unaffected: None,
            identical: false,
            new_gate: false,
            beside: Vec::new(),
            changed_harness: Vec::new(),
            command: "gate perf --gate gates/x.toml".to_owned(),
        };
        let evidence = Evidence {
            source: "run".to_owned(),
            warmups: Vec::new(),
            samples: Vec::new(),
            ended: None,
            scores: None,
        };
        let case = Case {
            gate: &gate,
            plan: &plan,
            identity: &self.identity,
            host: &Host::default(),
            evidence: &evidence,
            context: &context,
        };
        let judgement = judge(&case);
        Record {
            version: 1,
            tool: Tool {
                name: "gate".to_owned(),
                version: "0.1.0".to_owned(),
            },
            kind: "perf".to_owned(),
            at: self.at.to_owned(),
            identity: self.identity.clone(),
            host: Host::default(),
            gate,
            plan,
            evidence,
            context,
            judgement,
            cancelled: None,
            labels: BTreeMap::new(),
            links: BTreeMap::new(),
            prev: None,
            seal: String::new(),
        }
    }
}

fn plan(blocks: u32, cells: Vec<Cell>) -> Plan {
    let order = Order::ThueMorse;
    Plan {
        objective: Objective::Gate,
        order,
        blocks: (0..blocks).map(|block| order.orientation(block)).collect(),
        looks: gate::judge::crossover::looks(blocks as usize)
            .into_iter()
            .map(|look| look as u32)
            .collect(),
        cells,
        max_blocks: blocks,
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
        cwd: "/opt".to_owned(),
        telemetry: None,
        digest: String::new(),
    }
}

/// The only ruling of a kind against the baseline.
pub fn ruling<'a>(record: &'a Record, kind: &str) -> &'a Ruling {
    let found: Vec<&Ruling> = record
        .judgement
        .verdicts
        .iter()
        .filter(|ruling| ruling.rule == kind && (kind != "hold" || ruling.against == Against::Baseline))
        .collect();
    assert_eq!(found.len(), 1, "{found:#?}");
    found[0]
}
