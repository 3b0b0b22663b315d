//! Results as samples, and the order that they themselves carry.

use std::collections::BTreeMap;

use jiff::Timestamp;
use serde_json::{Value, json};

use crate::cli::results::Found;
use crate::model::evidence::{Evidence, INGEST};
use crate::model::gate::declaration::Series;
use crate::model::number::count;
use crate::model::plan::{Order, Orientation};
use crate::model::report::{Process, Report};
use crate::model::sample::{Arm, Cell, Sample};

/// Fewer blocks have no noise to compare with.
const BLOCKS_MIN: usize = 2;

/// One process that another tool ran.
struct Ran<'a> {
    arm: Arm,
    result: &'a Found,
    /// Its place among the processes of its result.
    place: usize,
}

/// How the processes stand to each other.
pub struct Arranged {
    /// How blocks are oriented, where they are.
    pub order: Order,
    /// The blocks.
    pub blocks: Vec<Orientation>,
    /// Why nothing shows that the arms took turns; none where it is shown, or there is one arm.
    pub apart: Option<String>,
    /// The samples, in the order of the blocks.
    pub evidence: Evidence,
}

/// What tells in which order a process ran.
struct Turn<'a> {
    arm: Arm,
    /// Its result's own date.
    at: Option<Timestamp>,
    /// Its result.
    file: &'a str,
    /// Whether its result holds others as well, so that its date is not this process's alone.
    shares: bool,
}

/// The blocks that processes make, or why they make none; and the places of the processes in that order.
struct Ordered {
    order: Order,
    blocks: Vec<Orientation>,
    apart: Option<String>,
    places: Vec<usize>,
}

/// Puts results in the order that their own dates carry: whole blocks of both arms, else every process by itself.
pub fn arrange(results: &[(Arm, &Found)], wanted: &[Series]) -> Arranged {
    let many = |result: &Found| result.report.series.iter().map(|series| series.processes.len()).max().unwrap_or(0);
    let processes = results
        .iter()
        .flat_map(|(arm, result)| (0..many(result)).map(|place| Ran { arm: *arm, result, place }));
    let ran: Vec<Ran<'_>> = processes.collect();
    let turns = ran.iter().map(|one| Turn {
        arm: one.arm,
        at: one.result.at(),
        file: &one.result.file,
        shares: many(one.result) > 1,
    });
    let ordered = ordered(&turns.collect::<Vec<_>>());
    let ran = ordered.places.iter().filter_map(|at| ran.get(*at));
    let samples = ran.map(|one| one.sample(wanted)).collect();
    ordered.of(samples)
}

/// Puts samples of results in that order again, by what each of them tells of its own result: nothing else of a record says how they ran.
pub fn rearrange(samples: Vec<Sample>) -> Arranged {
    let file = |sample: &'_ Sample| sample.detail.get("file").and_then(Value::as_str).unwrap_or_default().to_owned();
    let files: Vec<String> = samples.iter().map(file).collect();
    let mut seen: BTreeMap<(&str, &str), usize> = BTreeMap::new();
    for (sample, file) in samples.iter().zip(&files) {
        *seen.entry((file, &sample.start)).or_default() += 1;
    }
    let turns = samples.iter().zip(&files).map(|(sample, file)| Turn {
        arm: sample.arm,
        at: (sample.detail.get("dated") == Some(&json!(true)))
            .then(|| sample.start.parse().ok())
            .flatten(),
        file,
        shares: seen.get(&(file.as_str(), sample.start.as_str())).is_some_and(|times| *times > 1),
    });
    let ordered = ordered(&turns.collect::<Vec<_>>());
    let samples = ordered.places.iter().filter_map(|at| samples.get(*at).cloned()).collect();
    ordered.of(samples)
}

fn ordered(turns: &[Turn<'_>]) -> Ordered {
    let mut places: Vec<usize> = (0..turns.len()).collect();
    let turn = |at: &usize| turns.get(*at);
    match in_blocks(turns) {
        Ok((order, blocks)) => {
            places.sort_by_key(|at| turn(at).and_then(|turn| turn.at));
            Ordered {
                order,
                blocks,
                apart: None,
                places,
            }
        }
        Err(why) => {
            // The candidate's first: rules that look at it alone count its runs from the front.
            places.sort_by_key(|at| turn(at).is_some_and(|turn| turn.arm == Arm::A));
            let alone = |turn: &Turn<'_>| if turn.arm == Arm::A { Orientation::A } else { Orientation::B };
            let both = Arm::BOTH.iter().all(|arm| turns.iter().any(|turn| turn.arm == *arm));
            Ordered {
                order: Order::ThueMorse,
                blocks: places.iter().filter_map(turn).map(alone).collect(),
                apart: both.then_some(why),
                places,
            }
        }
    }
}

impl Ordered {
    /// The samples, which stand in the order, at their places in the blocks.
    fn of(self, mut samples: Vec<Sample>) -> Arranged {
        let places = (0_u32..).zip(&self.blocks).flat_map(|(block, orientation)| {
            let positions = 0..orientation.arms().len() as u32;
            positions.map(move |position| (block, position))
        });
        for ((seq, sample), (block, position)) in (0_u32..).zip(&mut samples).zip(places) {
            (sample.seq, sample.block, sample.position) = (seq, block, position);
        }
        Arranged {
            order: self.order,
            blocks: self.blocks,
            apart: self.apart,
            evidence: Evidence {
                source: INGEST.to_owned(),
                samples,
                ..Evidence::default()
            },
        }
    }
}

/// The blocks that processes make by their results' own dates; or why they make none.
fn in_blocks(turns: &[Turn<'_>]) -> Result<(Order, Vec<Orientation>), String> {
    if let Some(one) = turns.iter().find(|turn| turn.shares) {
        return Err(format!("{} holds several runs and one date", one.file));
    }
    if let Some(undated) = turns.iter().find(|turn| turn.at.is_none()) {
        return Err(format!("{} carries no date", undated.file));
    }
    let mut by_date: Vec<&Turn<'_>> = turns.iter().collect();
    by_date.sort_by_key(|turn| turn.at);
    if by_date.windows(2).any(|pair| matches!(pair, [one, other] if one.at == other.at)) {
        return Err("two results carry the same date".to_owned());
    }
    let (fours, rest) = by_date.as_chunks::<4>();
    if !rest.is_empty() || fours.len() < BLOCKS_MIN {
        return Err(format!(
            "{} do not make {BLOCKS_MIN} or more whole blocks of four",
            count(turns.len() as u64, "result")
        ));
    }
    let orientation = |four: &[&Turn<'_>; 4]| {
        let arms = four.map(|one| one.arm);
        [Orientation::Abba, Orientation::Baab]
            .into_iter()
            .find(|known| known.arms() == arms)
    };
    let blocks: Option<Vec<Orientation>> = fours.iter().map(orientation).collect();
    let orders = [Order::ThueMorse, Order::Abba];
    let fits = |blocks: &Vec<Orientation>| {
        let planned = |order: &Order| (0_u32..).zip(blocks).all(|(at, block)| order.orientation(at) == *block);
        orders.into_iter().find(planned)
    };
    let ordered = blocks.and_then(|blocks| fits(&blocks).map(|order| (order, blocks)));
    ordered.ok_or_else(|| {
        let letters: String = by_date.iter().map(|one| one.arm.to_string()).collect();
        format!("by their dates they ran {letters}, which is neither ABBA BAAB BAAB ABBA ... nor ABBA throughout")
    })
}

impl Ran<'_> {
    /// The sample, whose place is not known yet.
    fn sample(&self, wanted: &[Series]) -> Sample {
        let Self { arm, result, place } = self;
        let alone = alone(&result.report, *place);
        let reading = alone.reading(wanted);
        let at = result.at().unwrap_or(result.written);
        let mut detail = BTreeMap::from([
            ("file".to_owned(), json!(result.file)),
            ("digest".to_owned(), json!(result.digest)),
            ("tool".to_owned(), json!(alone.tool)),
            ("dated".to_owned(), json!(result.at().is_some())),
        ]);
        let notes = notes(&alone, wanted);
        if !notes.is_empty() {
            detail.insert("notes".to_owned(), json!(notes));
        }
        Sample {
            seq: 0,
            cell: Cell::default(),
            block: 0,
            position: 0,
            attempt: 0,
            arm: *arm,
            pid: 0,
            start: format!("{at:.6}"),
            exit: None,
            failed: None,
            values: reading.values,
            standard_errors: reading.standard_errors,
            missing: reading.missing,
            detail,
            void: None,
            warmup: false,
            profiled: false,
            telemetry: None,
        }
    }
}

/// What a report says of one of its processes.
fn alone(report: &Report, place: usize) -> Report {
    let mut report = report.clone();
    for series in &mut report.series {
        // Of several processes it is the error of all together.
        series.stderr = series.stderr.filter(|_| series.processes.len() == 1);
        let process = series.processes.get(place).cloned();
        series.processes =
            vec![process.unwrap_or_else(|| Process::not_measured("other series of the result have more runs than this one"))];
    }
    report
}

/// What the tool's repetitions say, by metric.
fn notes(report: &Report, wanted: &[Series]) -> BTreeMap<String, Value> {
    let told = |series: &Series| {
        let named = report
            .series
            .iter()
            .filter(|one| one.name == series.from || one.label() == series.from);
        let notes: Vec<&String> = named.flat_map(|one| &one.notes).collect();
        (!notes.is_empty()).then(|| (series.metric.name.clone(), json!(notes)))
    };
    wanted.iter().filter_map(told).collect()
}
