//! `gate waive`: a regression accepted by a file that a reviewer reads.

use std::path::{Path, PathBuf};

use anyhow::{Result, anyhow, bail};
use clap::Args;

use super::answer;
use super::ledger::find;
use super::parse::{self, reason};
use crate::edge::environment::of_children;
use crate::edge::git::Repository;
use crate::edge::{clock, files, ledger};
use crate::exit;
use crate::judge::rule::waived;
use crate::judge::{Case, judge, scores};
use crate::model::gate::waiver::{self, DAYS_MAX, FILE_MAX_BYTES, FOLDER, Standing, Waiver};
use crate::model::judgement::{Ruling, Verdict};
use crate::model::metric::{Scale, Tolerance};
use crate::model::record::{Context, Record, short};
use crate::model::text::plain_line;
use crate::model::unit::Unit;

/// How far beyond what was measured the limit is tried, as shares of the loss: the first that covers the record is taken.
const ROOM: [f64; 6] = [1.0, 1.1, 1.25, 1.5, 2.0, 3.0];

/// Most files whose cut names are the same.
const FILES_MAX: usize = 20;
/// What a quotient of binary fractions may be off.
const DUST: f64 = 1e-9;

/// Accept a regression: write a file for this change's reviewer, with a limit, a reason and a day on which it ends
///
/// It excuses one gate, fixture and metric, up to the limit, at most 90 days, and only where the change itself brings it. The record it was
/// written for is judged again with it, without measuring again, where nothing else changed.
#[derive(Debug, Args)]
pub struct Waive {
    /// The first digits of the record's seal, or `last`
    record: String,
    /// The fixture, or the task of a score; needed where several failed
    #[arg(long, value_name = "NAME")]
    fixture: Option<String>,
    /// The metric; needed where several failed
    #[arg(long, value_name = "NAME")]
    metric: Option<String>,
    /// Why it is accepted
    #[arg(long, value_name = "TEXT", value_parser = reason)]
    because: String,
    /// The last day on which it holds, such as 2026-12-31: at most 90 days ahead
    #[arg(long, value_name = "DAY", value_parser = parse::day)]
    until: String,
    /// How much worse it may be, such as 9%, or 5pp of a score [default: what was measured, with the room that its noise needs]
    #[arg(long, value_name = "SIZE", value_parser = Tolerance::parse)]
    limit: Option<Tolerance>,
    /// Who accepts it [default: git's user.name and user.email]
    #[arg(long, value_name = "NAME", value_parser = reason)]
    author: Option<String>,
    /// The ledger [default: GATE_LEDGER, else .gate/ledger.jsonl]
    #[arg(long, value_name = "FILE")]
    ledger: Option<PathBuf>,
}

impl Waive {
    /// Writes the file.
    ///
    /// # Errors
    /// When there is no such regression, the limit does not cover it, or the file is there already.
    pub fn run(&self) -> Result<u8> {
        let repository = Repository::open(&files::working_folder()?, &of_children(&[]).kept)?;
        let path = ledger::path(self.ledger.as_deref(), &repository.top().join(".gate"));
        let lines = ledger::read(&path)?;
        let record = find(&lines, &self.record)?.record()?;
        refuse_undeclared(&record)?;
        let ruling = self.regression(&record)?;
        let author = match &self.author {
            Some(author) => author.clone(),
            None => repository
                .user()?
                .ok_or_else(|| anyhow!("git knows no user.name: say who accepts it with --author"))?,
        };
        let waiver = Waiver {
            file: free_name(repository.top(), record.gate.name.as_str(), ruling)?,
            gate: record.gate.name.clone(),
            fixture: ruling.cell.fixture.clone(),
            metric: ruling.metric.clone(),
            limit: self.limit.clone().unwrap_or_else(|| rounded(ruling, 1.0)),
            reason: self.because.clone(),
            author,
            until: self.until.clone(),
            record: short(&record.seal),
            carried: false,
        };
        refuse_days(&waiver)?;
        let waiver = self.covering(waiver, &record, ruling)?;
        let to = repository.top().join(&waiver.file);
        files::make_folder(to.parent().unwrap_or(Path::new(".")))?;
        files::write(&to, waiver.text().as_bytes())?;
        answer(&format!(
            "wrote {}: up to {} on {} of {} until {}\nnext: commit it in this change, for a code owner to review; {}\n",
            plain_line(&waiver.file, 300),
            waiver.limit,
            plain_line(&waiver.metric, 100),
            plain_line(&waiver.gate, 100),
            waiver.until,
            then(&record)
        ))?;
        Ok(exit::PASS.code)
    }

    /// The one regression that is meant.
    fn regression<'r>(&self, record: &'r Record) -> Result<&'r Ruling> {
        let failed: Vec<&Ruling> = record
            .judgement
            .verdicts
            .iter()
            .filter(|ruling| ruling.verdict == Verdict::Regression)
            .collect();
        let meant: Vec<&Ruling> = failed
            .iter()
            .copied()
            .filter(|ruling| self.metric.as_ref().is_none_or(|metric| *metric == ruling.metric))
            .filter(|ruling| self.fixture.as_ref().is_none_or(|fixture| *fixture == ruling.cell.fixture))
            .collect();
        let seal = short(&record.seal);
        match (failed.as_slice(), meant.as_slice()) {
            ([], _) => bail!("record {seal} holds no regression, and nothing else can be waived"),
            (_, []) => bail!("no such regression: record {seal} holds {}", listed(&failed)),
            (_, [first, others @ ..]) if others.iter().all(|other| named(other) == named(first)) => Ok(first),
            (_, several) => bail!(
                "{} regressed: say which with --metric and --fixture; a waiver excuses one",
                listed(several)
            ),
        }
    }

    /// The waiver with a limit that covers the record.
    fn covering(&self, waiver: Waiver, record: &Record, ruling: &Ruling) -> Result<Waiver> {
        let tried: Vec<Tolerance> = match &self.limit {
            Some(limit) => vec![limit.clone()],
            None => ROOM.iter().map(|room| rounded(ruling, *room)).collect(),
        };
        let with = |limit: &Tolerance| Waiver {
            limit: limit.clone(),
            ..waiver.clone()
        };
        let seal = short(&record.seal);
        let mut last = String::new();
        for limit in tried {
            match asked_again(&with(&limit), record, ruling) {
                Left::Nothing => return Ok(with(&limit)),
                Left::Unsuited(why) => bail!("record {seal}: {why}"),
                Left::Regression => last = limit.to_string(),
            }
        }
        bail!(
            "a limit of {last} does not cover record {seal}: {}",
            plain_line(&ruling.because, 500)
        )
    }
}

/// What a record still says against a question with a waiver.
enum Left {
    /// It passes.
    Nothing,
    /// It fails all the same.
    Regression,
    /// The limit does not suit the question, and why.
    Unsuited(String),
}

/// A metric with its fixture, for a message.
fn named(ruling: &Ruling) -> String {
    let (metric, fixture) = (plain_line(&ruling.metric, 100), plain_line(&ruling.cell.fixture, 100));
    if fixture.is_empty() {
        metric
    } else {
        format!("{metric} of {fixture}")
    }
}

fn listed(rulings: &[&Ruling]) -> String {
    let mut names: Vec<String> = rulings.iter().map(|ruling| named(ruling)).collect();
    names.dedup();
    names.join(", ")
}

/// The record judged again with the waiver.
fn asked_again(waiver: &Waiver, record: &Record, ruling: &Ruling) -> Left {
    let context = Context {
        waivers: vec![waiver.clone()],
        ..record.context.clone()
    };
    let again = judge(&Case {
        context: &context,
        ..Case::from(record)
    });
    let same = |other: &&Ruling| other.cell == ruling.cell && other.metric == ruling.metric;
    let mut asked = again.verdicts.iter().filter(same);
    let Some(failed) = asked.find(|ruling| ruling.verdict == Verdict::Regression) else {
        return Left::Nothing;
    };
    let named = format!(": {}", waiver.in_words());
    let mut said = failed.warnings.iter().filter_map(|warning| warning.strip_suffix(&named));
    match said.find(|warning| warning.starts_with(waived::UNSUITED)) {
        Some(why) => Left::Unsuited(plain_line(why, 300)),
        None => Left::Regression,
    }
}

/// Refuses a record whose rule stands in no file: a waiver names its gate.
fn refuse_undeclared(record: &Record) -> Result<()> {
    if record.gate.from == "command line" {
        bail!(
            "record {}: its rule was given on the command line, and a waiver excuses a rule that a gate file declares",
            short(&record.seal)
        );
    }
    Ok(())
}

/// What the waiver does once it is committed.
fn then(record: &Record) -> String {
    match record.kind.as_str() {
        "perf" => format!("`gate perf` then judges record {} again", short(&record.seal)),
        kind => format!("`gate {}` then passes on the same results", plain_line(kind, 20)),
    }
}

/// A limit as large as the loss, or as the far end of its interval where the rule tests that, times some room, rounded up to two digits.
fn rounded(ruling: &Ruling, room: f64) -> Tolerance {
    let interval = ruling.interval.filter(|_| ruling.rule != scores::KIND);
    let ends = interval.into_iter().flatten().chain(ruling.estimate);
    let loss = room * ends.fold(ruling.tolerance, |most, gain| most.max(-gain));
    let step = 10_f64.powf(loss.abs().max(f64::MIN_POSITIVE).log10().floor() - 1.0);
    let value = (loss / step - DUST).ceil() * step;
    // Without the last digits of a binary fraction.
    let value = format!("{value:.6}").parse().unwrap_or(value);
    Tolerance {
        value,
        scale: ruling.scale,
        unit: (ruling.scale == Scale::Abs).then(|| Unit::parse(&ruling.unit).ok()).flatten(),
    }
}

/// The name of a file that is not there yet. Names are cut, so that the file of another question may have the same.
fn free_name(top: &Path, gate: &str, ruling: &Ruling) -> Result<String> {
    let (fixture, metric) = (&ruling.cell.fixture, &ruling.metric);
    let stem = file_name(gate, fixture, metric);
    for number in 1..=FILES_MAX {
        let numbered = if number == 1 { String::new() } else { format!("-{number}") };
        let file = format!("{FOLDER}/{stem}{numbered}.toml");
        let place = top.join(&file);
        if !files::is_there(&place) {
            return Ok(file);
        }
        let text = files::read_declared(&place, FILE_MAX_BYTES)?;
        let of_another = |other: Waiver| (&other.gate[..], &other.fixture, &other.metric) != (gate, fixture, metric);
        if !waiver::parse(&text, &file).is_ok_and(of_another) {
            bail!("{file}: is there already: remove it, or edit it by hand");
        }
    }
    bail!("{FOLDER}/{stem}.toml and {FILES_MAX} more are there already: remove those that are over")
}

/// A file's name that says what it speaks of, from letters and digits alone, without its ending.
fn file_name(gate: &str, fixture: &str, metric: &str) -> String {
    let plain = |text: &str| -> String {
        let kept = text.chars().map(|c| if c.is_ascii_alphanumeric() || c == '_' { c } else { '-' });
        kept.take(40).collect()
    };
    let parts = [gate, fixture, metric].into_iter().filter(|part| !part.is_empty()).map(plain);
    parts.collect::<Vec<_>>().join("-")
}

fn refuse_days(waiver: &Waiver) -> Result<()> {
    let today = clock::now_seconds();
    match waiver.standing(today.get(..10).unwrap_or_default()) {
        Standing::Holds => Ok(()),
        Standing::Expired => bail!("--until {}: that day is over", waiver.until),
        Standing::TooLong => bail!(
            "--until {}: more than {DAYS_MAX} days ahead; a lasting change is a change of the gate's rule",
            waiver.until
        ),
    }
}
