//! llama-perplexity: the perplexity of a text, the divergence from a base model's logits, and its multiple-choice scores.
//!
//! What the tool counts goes to standard output and most of what it concludes to standard error; numbers that run along are means so far, never
//! results of their own.

mod divergence;
mod estimate;
mod scores;

use std::collections::BTreeMap;

use super::Adapter;
use super::foreign::table::cell_value;
use super::foreign::{Input, Json, Lines};
use crate::model::gate::declaration::Series;
use crate::model::metric::Better;
use crate::model::report::{Process, Refused, Report, Reported};
use crate::model::unit::Unit;

/// Reads llama-perplexity.
pub const LLAMA_PERPLEXITY: Adapter = Adapter {
    name: "llama-perplexity",
    about: "llama-perplexity: PPL with its error, the KL divergence statistics, HellaSwag, Winogrande and multiple-choice scores; needs 2>&1",
    source: "https://github.com/ggml-org/llama.cpp/tree/master/tools/perplexity (as of commit 050fc7f of 2025)",
    signs: Some(signs),
    read,
    stream: None,
    write: None,
};

/// What one run of the tool can conclude.
struct Kind {
    /// How a message names it.
    name: &'static str,
    /// Words of its output; two tell it.
    words: &'static [&'static str],
    /// Reads it from the complete lines.
    read: fn(&Output) -> Result<Vec<Reported>, Refused>,
}

const KINDS: [Kind; 5] = [
    Kind {
        name: "perplexity",
        words: &["Final estimate: PPL = ", " +/- ", ": calculating perplexity over ", "[1]"],
        read: estimate::read,
    },
    Kind {
        name: "KL divergence",
        words: &[
            "====== KL divergence statistics ======",
            "====== Perplexity statistics ======",
            "chunk             PPL",
            "ln(PPL(Q)/PPL(base))",
        ],
        read: divergence::read,
    },
    Kind {
        name: "HellaSwag",
        words: &["task\tacc_norm\t95% confidence interval", "hellaswag_score", "%\t["],
        read: scores::hellaswag,
    },
    Kind {
        name: "Winogrande",
        words: &[
            "Final Winogrande score(",
            " +/- ",
            "winogrande_score",
            "calculating winogrande score",
        ],
        read: scores::winogrande,
    },
    Kind {
        name: "multiple choice",
        words: &[
            "Final result: ",
            "Random chance: ",
            "multiple_choice_score",
            "calculating TruthfulQA score",
        ],
        read: scores::multiple_choice,
    },
];

impl Kind {
    fn signs(&self, text: &str) -> usize {
        self.words.iter().filter(|word| text.contains(**word)).count()
    }
}

/// The kinds that a text shows by two words; " +/- " and "[1]" stand in many texts, so that one of the others must be among them.
fn kinds(text: &str) -> Vec<&'static Kind> {
    let telling = |kind: &Kind| kind.words.iter().any(|word| word.len() > 5 && text.contains(word));
    KINDS.iter().filter(|kind| kind.signs(text) >= 2 && telling(kind)).collect()
}

fn signs(input: &Input) -> usize {
    let text = input.text();
    kinds(text).iter().map(|kind| kind.signs(text)).max().unwrap_or(0)
}

fn read(input: &Input, _wanted: &[Series]) -> Result<Report, Refused> {
    let text = input.document()?;
    let found = kinds(text);
    let kind = match found.as_slice() {
        [] => return Err(input.nothing("no result of llama-perplexity; most of it goes to standard error, which must be kept (2>&1)")),
        [kind] => kind,
        several => {
            let names: Vec<&str> = several.iter().map(|kind| kind.name).collect();
            return Err(Refused(format!(
                "the outputs of several runs ({}): give each a file of its own",
                names.join(", ")
            )));
        }
    };
    let output = Output::of(input, text);
    let series = (kind.read)(&output)?;
    if series.is_empty() {
        return Err(input.nothing(&format!("no {} result", kind.name)));
    }
    let mut notes: Vec<String> = Lines::of(text).note().into_iter().collect();
    if kind.name == "KL divergence" {
        notes.push("the output does not name the logits that it compares with: their model, text and context".to_owned());
    }
    Ok(Report {
        tool: "llama-perplexity".to_owned(),
        series,
        config: output.config(),
        notes,
        ..Report::default()
    })
}

/// The output by its complete lines.
struct Output<'t> {
    input: &'t Input,
    lines: Vec<&'t str>,
    /// What stands after the last line end.
    cut: &'t str,
}

impl<'t> Output<'t> {
    fn of(input: &'t Input, text: &'t str) -> Self {
        let Lines { complete: lines, cut } = Lines::of(text);
        Self { input, lines, cut }
    }

    /// What follows the words on the only line that has them.
    fn after(&self, words: &str) -> Result<Option<&'t str>, Refused> {
        let mut found = self.lines.iter().filter_map(|line| Some(line.split_once(words)?.1));
        let first = found.next();
        match found.next() {
            Some(_) => Err(Refused(format!(
                "{:?} stands several times: the output of several runs; give each a file of its own",
                words.trim()
            ))),
            None => Ok(first),
        }
    }

    /// Why there is no result where the tool concludes with these words.
    fn no_end(&self, words: &str) -> Refused {
        self.input.nothing(&if self.cut.contains(words) {
            format!("the line of {words:?} has no end: the output is truncated")
        } else {
            format!("no {words:?}: the run did not finish, or standard error, where it goes, was not kept (2>&1)")
        })
    }

    /// The number before the next blank or comma, after words of a header.
    fn told(&self, words: &str, field: &str) -> Option<u64> {
        let header = self.lines.iter().find(|line| line.contains(words))?;
        let (_, value) = header.split_once(field)?;
        value.split([' ', ',']).next()?.parse().ok()
    }

    /// How it ran, as far as its log tells.
    fn config(&self) -> BTreeMap<String, String> {
        const OVER: &str = "calculating perplexity over ";
        let mut config = BTreeMap::new();
        for name in ["batch_size", "n_seq"] {
            if let Some(value) = self.told(OVER, &format!("{name}=")) {
                config.insert(name.to_owned(), value.to_string());
            }
        }
        let after = |words: &str| self.lines.iter().find_map(|line| Some(line.split_once(words)?.1));
        if let Some((path, _)) = after(" tensors from ").and_then(|rest| rest.rsplit_once(" (version ")) {
            let name = path.rsplit(['/', '\\']).next().unwrap_or(path);
            config.insert("model_filename".to_owned(), name.to_owned());
        }
        let build = self.lines.iter().find_map(|line| line.trim().strip_prefix("build: "));
        if let Some(build) = build {
            let build = build.split_once(" with ").map_or(build, |(build, _)| build);
            config.insert("build".to_owned(), build.trim().to_owned());
        }
        config
    }
}

/// A result as it is printed: `5.9 ± 0.03`, `85.4 ± 0.2 %`, `76.3 +/- 1.2`, `99.1%`; a part that does not stand there is none.
struct Printed {
    value: Json,
    error: Option<f64>,
}

impl Printed {
    fn of(text: &str) -> Self {
        Self::times(text, "")
    }

    /// A percentage as a share, the decimal point moved in the text so that no digit is lost.
    fn share(text: &str) -> Self {
        Self::times(text, "e-2")
    }

    fn times(text: &str, exponent: &str) -> Self {
        let bare = |text: &str| text.trim().trim_end_matches('%').trim().to_owned();
        let number = |text: &str| match cell_value(text) {
            Json::Whole(_) | Json::Number(_) => cell_value(&format!("{text}{exponent}")),
            other => other,
        };
        let text = bare(text);
        let (value, error) = text.split_once('±').or_else(|| text.split_once("+/-")).unwrap_or((&text, ""));
        Self {
            value: number(&bare(value)),
            error: number(&bare(error)).number().filter(|error| error.is_finite()),
        }
    }

    fn process(&self) -> Process {
        match self.value.number() {
            Some(number) => Process::of(vec![number]),
            None => Process::failed(format!("{:?} is no number", self.value.shown())),
        }
    }
}

/// One series of one process.
fn series(name: &str, unit: Option<&str>, better: Option<Better>, printed: &Printed) -> Reported {
    Reported {
        name: name.to_owned(),
        unit: unit.and_then(|unit| Unit::parse(unit).ok()),
        better,
        processes: vec![printed.process()],
        stderr: printed.error,
        ..Reported::default()
    }
}
