//! Synthetic sessions: a record whose samples a small program fills, slot by slot, as the judge asks for them.

use std::collections::HashSet;

use gate::judge::crossover::looks;
use gate::judge::{Case, Steps, judge};
use gate::model::evidence::{Ended, Evidence};
use gate::model::figure::{Missing, State};
use gate::model::gate::{Against, Gate, Rule};
use gate::model::host::Host;
use gate::model::identity::{ArmIdentity, Artifact, Facts, Identity, Source, none};
use gate::model::judgement::{Judgement, Ruling, Step};
use gate::model::metric::{Metric, Role, Tolerance};
use gate::model::plan::{Objective, OnInconclusive, Order, Plan};
use gate::model::record::{Base, Context, Record, Tool, VERSION, digest, digest_of_plan};
use gate::model::sample::{Arm, Cell, PerArm, Sample, Slot, Void};
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use rand_distr::StandardNormal;

/// More slots than any session here can need.
const SLOTS_MAX: usize = 2000;

/// A metric as `name:better:unit`, with its tolerance.
pub fn metric(flag: &str, tolerance: &str) -> Metric {
    let tolerance = Tolerance::parse_margin(tolerance).expect("a tolerance");
    Metric::parse_flag(flag)
        .expect("a metric")
        .with_tolerance(&tolerance)
        .expect("a tolerance that suits")
}

/// The same, recorded and never judged.
pub fn info(flag: &str) -> Metric {
    Metric {
        role: Role::Info,
        ..metric(flag, "2%")
    }
}

/// A required rule on every metric and fixture.
pub fn rule(kind: &str) -> Rule {
    Rule {
        kind: kind.to_owned(),
        against: Against::Base,
        metric: "*".to_owned(),
        fixture: "*".to_owned(),
        required: true,
        at: "command line".to_owned(),
        tolerance: None,
        max: None,
        at_least: None,
        at_most: None,
        test: None,
    }
}

/// A `spread` rule with its bound.
pub fn spread(max: &str) -> Rule {
    Rule {
        max: Some(Tolerance::parse(max).expect("a bound")),
        ..rule("spread")
    }
}

/// A session that is measured by a function, and the record that it becomes.
#[derive(Clone)]
pub struct Session(pub Record);

impl Session {
    /// Time, lower is better, 2 %, one warm-up run an arm, at most 14 blocks.
    pub fn new() -> Self {
        Self::of(vec![metric("t:lower:ms", "2%")], vec![rule("hold")])
    }

    /// These metrics under these rules.
    pub fn of(metrics: Vec<Metric>, rules: Vec<Rule>) -> Self {
        let gate = Gate {
            name: "command-line".to_owned(),
            from: "command line".to_owned(),
            digest: digest(b"gate perf"),
            text: "gate perf".to_owned(),
            metrics,
            rules,
            complete: ["source", "artifacts", "model", "prompt", "config", "policy"]
                .map(str::to_owned)
                .to_vec(),
            equal: Vec::new(),
            measured: std::collections::BTreeMap::new(),
            scores: None,
        };
        Self(Record {
            version: VERSION,
            tool: Tool {
                name: "gate".to_owned(),
                version: "0.1.0".to_owned(),
            },
            kind: "perf".to_owned(),
            at: "2026-11-30T10:00:00Z".to_owned(),
            gate,
            plan: plan(),
            identity: identity(),
            host: Host::default(),
            evidence: Evidence {
                source: "run".to_owned(),
                warmups: Vec::new(),
                samples: Vec::new(),
                ended: None,
                scores: None,
            },
            context: Context {
                base: Base {
                    commit: None,
                    why: "the command of --a".to_owned(),
                },
                head: None,
                attempt: 1,
                band: Vec::new(),
                waivers: Vec::new(),
                banners: Vec::new(),
                baseline: None,
                unaffected: None,
                identical: false,
                new_gate: false,
                beside: Vec::new(),
                changed_harness: Vec::new(),
                command: "gate perf --a ./old --b ./new".to_owned(),
            },
            judgement: Judgement {
                engine: gate::model::judgement::ENGINE,
                outcome: gate::model::judgement::Outcome::Inconclusive,
                disposition: gate::model::judgement::Disposition::Exploratory,
                disposition_because: Vec::new(),
                verdicts: Vec::new(),
                warnings: Vec::new(),
                step: Step::Stop,
            },
            cancelled: None,
            labels: [("session".to_owned(), "s1".to_owned())].into(),
            links: std::collections::BTreeMap::new(),
            prev: None,
            seal: String::new(),
        })
        .cap(14)
    }

    /// With this cap on blocks.
    pub fn cap(mut self, blocks: u32) -> Self {
        let plan = &mut self.0.plan;
        plan.max_blocks = blocks;
        plan.blocks = (0..blocks).map(|block| plan.order.orientation(block)).collect();
        plan.looks = looks(blocks as usize).into_iter().map(|look| look as u32).collect();
        self
    }

    /// With these fixtures, a cell each.
    pub fn fixtures(mut self, names: &[&str]) -> Self {
        let cell = |name: &&str| Cell {
            fixture: (*name).to_owned(),
        };
        self.0.plan.cells = names.iter().map(cell).collect();
        self
    }

    /// With this change to the plan.
    pub fn planned(mut self, change: impl FnOnce(&mut Plan)) -> Self {
        change(&mut self.0.plan);
        self
    }

    /// To show a claimed gain instead of a held level.
    pub fn promote(self) -> Self {
        self.planned(|plan| plan.objective = Objective::Promote)
    }

    /// What is judged so far.
    pub fn judge(&self) -> Judgement {
        let case = Case::from(&self.0);
        let judgement = judge(&case);
        assert_eq!(
            self.steps().next(&case),
            judgement.step,
            "a resumed session's step is the judgement's"
        );
        judgement
    }

    /// What the runner asks, before it was told of any sample.
    pub fn steps(&self) -> Steps {
        Steps::of(&self.0.gate, &self.0.plan)
    }

    /// Runs slots as the judge asks for them, until it stops or `most` have run.
    pub fn run(mut self, most: usize, mut program: impl FnMut(&Slot, &mut Sample)) -> Self {
        let mut seen = HashSet::new();
        let mut steps = self.steps();
        for _ in 0..most {
            let step = self.judge().step;
            assert_eq!(steps.next(&Case::from(&self.0)), step, "the runner's step is the judgement's");
            let Step::Run(slot) = step else { return self };
            let place = (slot.cell.clone(), slot.warmup, slot.block, slot.position, slot.attempt);
            assert!(seen.insert(format!("{place:?}")), "asked twice for {slot:?}");
            let mut sample = blank(&slot, self.0.evidence.samples.len() as u32);
            program(&slot, &mut sample);
            self.0.evidence.samples.push(sample);
        }
        assert!(most < SLOTS_MAX, "the session does not end");
        self
    }

    /// Runs to the end.
    pub fn whole(self, program: impl FnMut(&Slot, &mut Sample)) -> Self {
        self.run(SLOTS_MAX, program)
    }

    /// Ended early.
    pub fn ended(mut self, ended: Ended) -> Self {
        if let Ended::Cancelled { signal } = &ended {
            self.0.cancelled = Some(signal.clone());
        }
        self.0.evidence.ended = Some(ended);
        self
    }

    /// The only ruling.
    pub fn ruling(&self) -> Ruling {
        let verdicts = self.judge().verdicts;
        assert_eq!(verdicts.len(), 1, "{verdicts:?}");
        verdicts.into_iter().next().expect("there is one")
    }

    /// The finished, judged and sealed record.
    pub fn record(mut self) -> Record {
        let record = &mut self.0;
        record.plan.digest = digest_of_plan(&record.plan, &record.gate, &record.identity).expect("finite numbers");
        record.judgement = judge(&Case::from(&*record));
        let (record, line) = self.0.sealed(None).expect("a record is JSON");
        assert_eq!(record.line().expect("a record is JSON"), line);
        record
    }
}

fn plan() -> Plan {
    Plan {
        objective: Objective::Gate,
        order: Order::ThueMorse,
        blocks: Vec::new(),
        looks: Vec::new(),
        cells: vec![Cell::default()],
        max_blocks: 0,
        fixed: false,
        alpha: 0.01,
        beta: 0.05,
        null_margin: 0.0,
        rank_share: 0.25,
        min_run_cv: 0.0005,
        warmup_runs: 1,
        warmup: None,
        max_void_blocks: 2,
        max_attempts: 0,
        max_failed_pct: 0.0,
        timeout_s: 600.0,
        max_session_s: 2700.0,
        on_inconclusive: OnInconclusive::Fail,
        extract: "key-value".to_owned(),
        commands: PerArm {
            a: vec!["./old".to_owned()],
            b: vec!["./new".to_owned()],
        },
        cwd: "/srv/project".to_owned(),
        telemetry: None,
        digest: String::new(),
    }
}

fn identity() -> Identity {
    let arm = |path: &str| ArmIdentity {
        source: Some(Source {
            branch: Some("main".to_owned()),
            commit: "1a2b3c4d".repeat(5),
            dirty: false,
            tree: None,
        }),
        artifacts: vec![Artifact {
            role: "executable".to_owned(),
            path: path.to_owned(),
            bytes: 4096,
            md5: Some("0".repeat(32)),
            blake3: "1".repeat(64),
        }],
    };
    let policy: Facts = [("process".to_owned(), "fresh".into())].into();
    Identity {
        arms: PerArm {
            a: arm("/srv/project/old"),
            b: arm("/srv/project/new"),
        },
        model: none(),
        prompt: none(),
        gpu: none(),
        config: policy.clone(),
        policy,
        machine: Facts::new(),
        missing: Vec::new(),
    }
}

fn blank(slot: &Slot, seq: u32) -> Sample {
    Sample {
        seq,
        cell: slot.cell.clone(),
        block: slot.block,
        position: slot.position,
        attempt: slot.attempt,
        arm: slot.arm,
        pid: 4000 + seq,
        start: format!("2026-11-30T10:{:02}:{:02}.000000Z", seq / 60 % 60, seq % 60),
        exit: Some(0),
        failed: None,
        values: [("wall_s".to_owned(), 0.1)].into(),
        standard_errors: std::collections::BTreeMap::new(),
        missing: std::collections::BTreeMap::new(),
        detail: std::collections::BTreeMap::new(),
        void: None,
        warmup: slot.warmup,
        profiled: false,
        telemetry: None,
    }
}

/// What a program may do to its sample.
pub trait Reports {
    /// Prints a figure.
    fn prints(&mut self, name: &str, value: f64);
    /// Ends with an exit code.
    fn exits(&mut self, code: i32);
    /// Prints no figure of this name.
    fn lacks(&mut self, name: &str);
    /// Is void by a declared check.
    fn voided(&mut self, attributable: bool);
}

impl Reports for Sample {
    fn prints(&mut self, name: &str, value: f64) {
        self.values.insert(name.to_owned(), value);
    }

    fn exits(&mut self, code: i32) {
        self.exit = Some(code);
        self.failed = Some(format!("exit code {code}"));
    }

    fn lacks(&mut self, name: &str) {
        self.values.remove(name);
        let missing = Missing {
            state: State::NotMeasured,
            why: "no such series".to_owned(),
        };
        self.missing.insert(name.to_owned(), missing);
    }

    fn voided(&mut self, attributable: bool) {
        self.void = Some(Void {
            check: "C-CLOCK".to_owned(),
            why: "the clock fell below its floor".to_owned(),
            attributable,
        });
    }
}

/// A program whose `t` is 100 on A and `effect_pct` more on B, with relative noise of a fixed seed.
pub fn noisy(effect_pct: f64, sd_pct: f64, seed: u64) -> impl FnMut(&Slot, &mut Sample) {
    let mut value = values(100.0, effect_pct, sd_pct, seed);
    move |slot, sample| sample.prints("t", value(slot.arm))
}

/// Values around `base`, those of B `effect_pct` percent larger.
pub fn values(base: f64, effect_pct: f64, sd_pct: f64, seed: u64) -> impl FnMut(Arm) -> f64 {
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    move |arm| {
        let effect = if arm == Arm::B { 1.0 + effect_pct / 100.0 } else { 1.0 };
        let noise: f64 = rng.sample(StandardNormal);
        base * effect * (1.0 + sd_pct / 100.0 * noise)
    }
}
