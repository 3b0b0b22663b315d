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

/// Puts results in the order that their own dates carry: whole blocks of both arms, else every process by itself.
pub fn arrange(results: &[(Arm, &Found)], wanted: &[Series]) -> Arranged {
    let processes = results.iter().flat_map(|(arm, result)| {
        let many = result.report.series.iter().map(|series| series.processes.len()).max().unwrap_or(0);
        (0..many).map(|place| Ran { arm: *arm, result, place })
    });
    let mut ran: Vec<Ran<'_>> = processes.collect();
    let (order, blocks, apart) = match in_blocks(&mut ran) {
        Ok((order, blocks)) => (order, blocks, None),
        Err(why) => {
            // The candidate's first: rules that look at it alone count its runs from the front.
            ran.sort_by_key(|one| one.arm == Arm::A);
            let alone = |one: &Ran<'_>| if one.arm == Arm::A { Orientation::A } else { Orientation::B };
            let both = Arm::BOTH.iter().all(|arm| ran.iter().any(|one| one.arm == *arm));
            (Order::ThueMorse, ran.iter().map(alone).collect(), both.then_some(why))
        }
    };
    let places = (0_u32..).zip(&blocks).flat_map(|(block, orientation)| {
        let positions = 0..orientation.arms().len() as u32;
        positions.map(move |position| (block, position))
    });
    let samples = (0_u32..).zip(&ran).zip(places);
    let samples = samples.map(|((seq, one), (block, position))| one.sample(seq, block, position, wanted));
    Arranged {
        order,
        evidence: Evidence {
            source: INGEST.to_owned(),
            samples: samples.collect(),
            ..Evidence::default()
        },
        blocks,
        apart,
    }
}

/// Sorts the processes by their results' own dates, and gives the blocks that they make; or why they make none.
fn in_blocks(ran: &mut [Ran<'_>]) -> Result<(Order, Vec<Orientation>), String> {
    let several = |one: &&Ran<'_>| one.place > 0;
    if let Some(one) = ran.iter().find(several) {
        return Err(format!("{} holds several runs and one date", one.result.file));
    }
    let dated: Option<Vec<Timestamp>> = ran.iter().map(|one| one.result.at()).collect();
    let Some(mut dates) = dated else {
        let undated = ran.iter().find(|one| one.result.at().is_none());
        return Err(format!("{} carries no date", undated.map_or("a result", |one| &one.result.file)));
    };
    dates.sort();
    if dates.windows(2).any(|pair| pair.first() == pair.last()) {
        return Err("two results carry the same date".to_owned());
    }
    ran.sort_by_key(|one| one.result.at());
    let (fours, rest) = ran.as_chunks::<4>();
    if !rest.is_empty() || fours.len() < BLOCKS_MIN {
        return Err(format!(
            "{} do not make {BLOCKS_MIN} or more whole blocks of four",
            count(ran.len() as u64, "result")
        ));
    }
    let orientation = |four: &[Ran<'_>; 4]| {
        let arms = four.each_ref().map(|one| one.arm);
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
        let letters: String = ran.iter().map(|one| one.arm.to_string()).collect();
        format!("by their dates they ran {letters}, which is neither ABBA BAAB BAAB ABBA ... nor ABBA throughout")
    })
}

impl Ran<'_> {
    fn sample(&self, seq: u32, block: u32, position: u32, wanted: &[Series]) -> Sample {
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
            seq,
            cell: Cell::default(),
            block,
            position,
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
