//! Foreign text becomes series: one file a tool, and the foreign shapes stay private to it.

pub mod bmf;
pub mod csv;
pub mod foreign;
pub mod github_action_benchmark;
pub mod google_benchmark;
pub mod hipfire;
pub mod hyperfine;
pub mod key_value;
pub mod llama_bench;
pub mod llama_perplexity;
pub mod lm_eval;
pub mod mindxtrain;
pub mod poros;
pub mod vllm;

use crate::model::figure::{Figure, Reading};
use crate::model::gate::declaration::Series;
use crate::model::report::{Refused, Report};
use crate::model::text::plain_line;
use foreign::{Input, Json};

/// How many signs must agree before content decides.
const SIGNS_NEEDED: usize = 2;
/// How much of an unknown content a message shows, in characters.
const SHOWN_MAX_CHARS: usize = 80;

/// Writes a report in a foreign format, or refuses what the format cannot say.
pub type Write = fn(&Report) -> Result<String, Refused>;

/// Reads an output line by line, in memory that does not grow with it.
pub trait Stream {
    /// Takes the next line, without its end.
    ///
    /// # Errors
    /// When the lines so far can be no result.
    fn line(&mut self, line: &str) -> Result<(), Refused>;
    /// What the lines said, once there are no more.
    ///
    /// # Errors
    /// When they are no result.
    fn report(self: Box<Self>) -> Result<Report, Refused>;
}

/// One kind of output that `gate` can read.
#[derive(Debug, Clone, Copy)]
pub struct Adapter {
    /// The word that selects it, equal to its file's name with `-` for `_`.
    pub name: &'static str,
    /// One line for help.
    pub about: &'static str,
    /// Where the format is defined, and the versions that were read.
    pub source: &'static str,
    /// How many independent signs of the format the content shows; none where content cannot tell it.
    pub signs: Option<fn(&Input) -> usize>,
    /// Reads one output; never panics, whatever the bytes are. `wanted` is what a gate declares: a format that names its own series
    /// does not need it.
    pub read: fn(&Input, wanted: &[Series]) -> Result<Report, Refused>,
    /// Reads one output of any length, line by line; none where the format is no lines or short by nature. The flag accepts a cut last line.
    pub stream: Option<fn(partial: bool) -> Box<dyn Stream + Send>>,
    /// Writes series in this format: the middle value of each; refused where one is missing, because the format cannot say so. None where
    /// only reading makes sense.
    pub write: Option<Write>,
}

impl Adapter {
    /// The figures of one process: every wanted series gets exactly one, under its metric's name.
    pub fn reading(&self, output: &[u8], wanted: &[Series]) -> Reading {
        self.reading_of(&Input::of(output), wanted)
    }

    /// The same of an output that is read with leave: see [`Input::partial`] and [`Input::max_failed`].
    pub fn reading_of(&self, input: &Input, wanted: &[Series]) -> Reading {
        match (self.read)(input, wanted) {
            Ok(report) => report.reading(wanted),
            Err(Refused(why)) => {
                let mut reading = Reading::default();
                for series in wanted {
                    reading.set(&series.metric.name, Figure::failed(why.clone()));
                }
                reading
            }
        }
    }
}

/// Every adapter. A new one is its file and its word here.
pub const ALL: &[Adapter] = &[
    key_value::KEY_VALUE,
    hyperfine::HYPERFINE,
    google_benchmark::GOOGLE_BENCHMARK,
    llama_bench::LLAMA_BENCH,
    llama_perplexity::LLAMA_PERPLEXITY,
    lm_eval::LM_EVAL,
    mindxtrain::MINDXTRAIN,
    vllm::VLLM,
    hipfire::HIPFIRE,
    bmf::BMF,
    github_action_benchmark::GITHUB_ACTION_BENCHMARK,
    poros::POROS,
    csv::CSV,
];

/// The adapter of this name; the error lists the names that exist.
pub fn find(name: &str) -> Result<&'static Adapter, String> {
    ALL.iter().find(|adapter| adapter.name == name).ok_or_else(|| {
        let names: Vec<&str> = ALL.iter().map(|adapter| adapter.name).collect();
        format!("unknown adapter {name:?}: known are {}", names.join(", "))
    })
}

/// The adapter that the content itself tells, by at least two signs and no other.
///
/// # Errors
/// When it is no document, no adapter knows it, or several do.
pub fn detect(input: &Input) -> Result<&'static Adapter, Refused> {
    input.document()?;
    let knows = |adapter: &&Adapter| adapter.signs.is_some_and(|signs| signs(input) >= SIGNS_NEEDED);
    let found: Vec<&'static Adapter> = ALL.iter().filter(knows).collect();
    match found.as_slice() {
        [one] => Ok(one),
        // Broken JSON says what is wrong with it, which helps more than that nobody knows it.
        [] => Err(input.json().err().unwrap_or_else(|| unknown(input))),
        several => {
            let names: Vec<&str> = several.iter().map(|adapter| adapter.name).collect();
            Err(Refused(format!("could be {}: choose with --adapter", names.join(" or "))))
        }
    }
}

fn unknown(input: &Input) -> Refused {
    let shown = |text: &str| plain_line(text.trim(), SHOWN_MAX_CHARS);
    let keys = |value: &Json| {
        let names: Vec<&str> = value.members().iter().map(|(key, _)| key.as_str()).collect();
        shown(&names.join(", "))
    };
    let what = match input.json() {
        Ok(Some(documents)) => match documents.values.first() {
            Some(value @ Json::Map(members)) if !members.is_empty() => format!("JSON with the keys {}", keys(value)),
            Some(value) => match value.items().first() {
                Some(item @ Json::Map(_)) => format!("a JSON array of objects with the keys {}", keys(item)),
                _ => format!("JSON that is {} without results", value.kind()),
            },
            None => "JSON without a value".to_owned(),
        },
        _ => {
            let first = input.text().lines().find(|line| !line.trim().is_empty());
            format!("text that begins {:?}", shown(first.unwrap_or_default()))
        }
    };
    input.nothing(&format!("no adapter knows this format ({what}): choose one with --adapter"))
}
