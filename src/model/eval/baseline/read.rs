//! The reader: every line is understood or refused with its place. Its counterpart is [`super::write`].

use std::collections::{BTreeMap, HashMap};

use super::{EvalBaseline, HEAD, Model, Row, Says, ScoreLine, VERSION, is_digest};
use crate::model::baseline::field::{Fields, Wrong};
use crate::model::baseline::read::{characters, decode};
use crate::model::baseline::{FILE_MAX_BYTES, is_date, name};
use crate::model::eval::{Aim, Extent, Group, Key, Score, Setup};
use crate::model::fault::Fault;
use crate::model::quantity::{names_no_finite_number, split_number};

/// Reads a baseline from the bytes of a file.
///
/// # Errors
/// As [`parse`]; also where the bytes are no text.
pub fn parse_bytes(bytes: &[u8], file: &str) -> Result<EvalBaseline, Fault> {
    decode(bytes, file).and_then(|text| parse(text, file))
}

/// Reads a baseline; `file` is what faults call it.
///
/// # Errors
/// The first place that is wrong.
pub fn parse(text: &str, file: &str) -> Result<EvalBaseline, Fault> {
    if text.len() > FILE_MAX_BYTES {
        let what = format!("{} bytes, at most {FILE_MAX_BYTES} are read", text.len());
        return Err(Fault::new(file, 1, text, 0, what));
    }
    let mut lines: Vec<&str> = text.split('\n').collect();
    let last = lines.pop().unwrap_or_default();
    let mut reader = Reader::default();
    for (index, line) in lines.iter().enumerate() {
        let read = reader.line(index + 1, line);
        read.map_err(|(byte, what)| Fault::new(file, index + 1, line, byte, what))?;
    }
    let end = lines.len() + 1;
    if !last.is_empty() {
        let what = "the last line has no end: the file is cut short, or lacks its final line feed".to_owned();
        return Err(Fault::new(file, end, last, last.len(), what));
    }
    match reader.model {
        _ if lines.is_empty() => Err(Fault::new(file, 1, "", 0, format!("empty: {}", first_line()))),
        None => Err(Fault::new(file, end, "", 0, format!("{MODEL} is missing"))),
        Some(model) => Ok(EvalBaseline { model, rows: reader.rows }),
    }
}

/// Reads one line of a file on its own: what the writer is checked with.
pub(super) fn row(text: &str) -> Result<Says, String> {
    characters(text).and_then(|()| says(text)).map_err(|(_, what)| what)
}

const MODEL: &str = "the line \"model ID DIGEST\"";

fn first_line() -> String {
    format!("the first line must be \"{HEAD} {VERSION}\"")
}

#[derive(Default)]
struct Reader {
    model: Option<Model>,
    /// What may stand only once, with the line on which it stands.
    seen: HashMap<String, usize>,
    rows: Vec<Row>,
}

impl Reader {
    fn line(&mut self, number: usize, text: &str) -> Result<(), Wrong> {
        characters(text)?;
        let says = match text.split_ascii_whitespace().next() {
            _ if number == 1 => version(text)?,
            Some("model") if self.model.is_some() => {
                return Err((0, "a second model line: a file speaks of one base model".to_owned()));
            }
            Some("model") => {
                self.model = Some(model(text)?);
                Says::Nothing
            }
            Some("score" | "group") if self.model.is_none() => return Err((0, format!("{MODEL} must come first"))),
            _ => says(text)?,
        };
        if let Some(key) = only_once(&says)
            && let Some(before) = self.seen.insert(key, number)
        {
            return Err((
                0,
                format!("duplicate: line {before} is of the same score and record, or the same group"),
            ));
        }
        let text = text.to_owned();
        self.rows.push(Row { text, says });
        Ok(())
    }
}

fn only_once(says: &Says) -> Option<String> {
    match says {
        Says::Nothing => None,
        Says::Group(group) => Some(format!("group\0{}", group.name)),
        Says::Score(line) => {
            let Key { task, metric, filter } = &line.score.key;
            Some(format!("score\0{task}\0{metric}\0{filter}\0{}", line.record))
        }
    }
}

fn version(text: &str) -> Result<Says, Wrong> {
    let mut fields = Fields::of(text);
    match fields.next() {
        Some((_, HEAD)) => {}
        found => return Err((found.map_or(0, |(at, _)| at), first_line())),
    }
    let (at, version) = fields.word("the version").map_err(|(at, _)| (at, first_line()))?;
    match version.parse::<u32>() {
        Ok(VERSION) => fields.end().map(|()| Says::Nothing),
        Ok(newer) if newer > VERSION => Err((at, format!("written in version {newer}, this gate knows {VERSION}: update gate"))),
        _ => Err((at, first_line())),
    }
}

fn model(text: &str) -> Result<Model, Wrong> {
    let mut fields = Fields::of(text);
    fields.word("model")?;
    let id = named(&mut fields, "the model")?;
    let (at, digest) = fields.word("the model's digest")?;
    if !is_digest(digest) {
        return Err((at, format!("{digest:?}: the digest is 8 to 64 hexadecimal digits in lower case")));
    }
    fields.end()?;
    let digest = digest.to_owned();
    Ok(Model { id, digest })
}

fn says(text: &str) -> Result<Says, Wrong> {
    let mut fields = Fields::of(text);
    match fields.next() {
        None => Ok(Says::Nothing),
        Some((_, word)) if word.starts_with('#') => Ok(Says::Nothing),
        Some((_, "score")) => score(fields).map(|line| Says::Score(Box::new(line))),
        Some((_, "group")) => group(fields).map(Says::Group),
        Some((at, word)) => Err((at, format!("{word:?} begins no line: known are score, group and #"))),
    }
}

fn group(mut fields: Fields<'_>) -> Result<Group, Wrong> {
    let name = named(&mut fields, "the group")?;
    let mut members = vec![named(&mut fields, "a member")?];
    while let Some((at, word)) = fields.next() {
        let member = name::decode(word).map_err(|(byte, why)| (at + byte, why))?;
        if member.is_empty() || members.contains(&member) {
            return Err((at, format!("{word:?}: a member needs a name, and stands once")));
        }
        members.push(member);
    }
    Ok(Group { name, members })
}

fn score(mut fields: Fields<'_>) -> Result<ScoreLine, Wrong> {
    let task = named(&mut fields, "the task")?;
    let metric = named(&mut fields, "the metric")?;
    let filter = fields.name("the filter")?;
    let key = Key { task, metric, filter };
    let (at, date) = fields.word("the date")?;
    if !is_date(date) {
        return Err((at, format!("{date:?} is no day such as 2026-11-30")));
    }
    let (at, record) = fields.digest("the record", 12)?;
    let record = record.ok_or_else(|| {
        (
            at,
            "a score is accepted from a record: 12 hexadecimal digits are expected".to_owned(),
        )
    })?;
    let extent = optional(&mut fields, "the scale", extent)?;
    let (at, word) = fields.word("the direction")?;
    let aim = aim(word).map_err(|what| (at, what))?;
    let (at, word) = fields.word("the score")?;
    let value = number(word).map_err(|what| (at, what))?;
    check_range(value, extent).map_err(|what| (at, what))?;
    let items = optional(&mut fields, "the number of items", |word| whole(word, 1))?;
    let of = optional(&mut fields, "the task's number of items", |word| whole(word, 1))?;
    if let Some((items, of)) = items.zip(of).filter(|(items, of)| items > of) {
        return Err((fields.text.len(), format!("{items} items of {of}: a run has no more than the task")));
    }
    let stderr = optional(&mut fields, "the standard error", error)?;
    let few_shot = optional(&mut fields, "the few-shot count", |word| whole(word, 0))?;
    let task_version = stated(&mut fields, "the task's version")?;
    let harness = stated(&mut fields, "the harness")?;
    let mut extras = fields.extras()?;
    let config = extras.remove("config").map(|text| settings(&text)).transpose();
    let setup = Setup {
        few_shot: few_shot
            .map(u32::try_from)
            .transpose()
            .map_err(|_| (0, "too many examples".to_owned()))?,
        chat_template: extras.remove("chat_template"),
        task_version,
        harness,
        limit: extras.remove("limit"),
        task_hash: extras.remove("task_hash"),
        config: config.map_err(|what| (fields.text.len(), what))?.unwrap_or_default(),
    };
    let score = Score {
        items,
        of,
        stderr,
        aim: Some(aim),
        extent,
        setup,
        ..Score::new(key, value)
    };
    let date = date.to_owned();
    Ok(ScoreLine {
        score,
        date,
        record,
        extras,
    })
}

fn named(fields: &mut Fields<'_>, what: &str) -> Result<String, Wrong> {
    let (at, word) = fields.word(what)?;
    let name = name::decode(word).map_err(|(byte, why)| (at + byte, why))?;
    if name.is_empty() {
        return Err((at, format!("{what} needs a name")));
    }
    Ok(name)
}

/// A word, or none for `-`.
fn stated(fields: &mut Fields<'_>, what: &str) -> Result<Option<String>, Wrong> {
    let text = fields.name(what)?;
    Ok(Some(text).filter(|text| !text.is_empty()))
}

/// A word read as something, or none for `-`.
fn optional<T>(fields: &mut Fields<'_>, what: &str, read: impl Fn(&str) -> Result<T, String>) -> Result<Option<T>, Wrong> {
    match fields.word(what)? {
        (_, "-") => Ok(None),
        (at, word) => read(word).map(Some).map_err(|why| (at, why)),
    }
}

fn extent(word: &str) -> Result<Extent, String> {
    let known = Extent::ALL.into_iter().find(|extent| extent.word() == word);
    known.ok_or_else(|| format!("scale {word:?}: want 0-1, 0-100, open or -"))
}

fn aim(word: &str) -> Result<Aim, String> {
    let target = || word.strip_prefix("target:").and_then(|at| number(at).ok()).map(Aim::Target);
    match word {
        "higher" => Ok(Aim::Higher),
        "lower" => Ok(Aim::Lower),
        _ => target().ok_or_else(|| format!("direction {word:?}: want higher, lower or target:NUMBER")),
    }
}

fn check_range(value: f64, extent: Option<Extent>) -> Result<(), String> {
    match extent.filter(|extent| !(0.0..=extent.top()).contains(&value)) {
        Some(extent) => Err(format!("{value} lies outside the scale {}", extent.word())),
        None => Ok(()),
    }
}

fn whole(word: &str, least: u64) -> Result<u64, String> {
    let digits = word.bytes().all(|byte| byte.is_ascii_digit());
    let count = word.parse::<u64>().ok().filter(|count| digits && *count >= least);
    count.ok_or_else(|| format!("{word:?}: a whole number from {least} or - is expected"))
}

fn error(word: &str) -> Result<f64, String> {
    let value = number(word)?;
    if value >= 0.0 {
        Ok(value)
    } else {
        Err(format!("{word:?}: a standard error is at least 0"))
    }
}

fn number(word: &str) -> Result<f64, String> {
    if names_no_finite_number(word) {
        return Err(format!("{word:?}: not a finite number"));
    }
    let value = match split_number(word) {
        Some((number, "")) => number.parse::<f64>().ok(),
        _ => None,
    };
    let finite = value.filter(|value| value.is_finite());
    finite.ok_or_else(|| format!("{word:?}: not a decimal number that can be held"))
}

/// Settings as `key=value` with `;` between them; see the writer.
fn settings(text: &str) -> Result<BTreeMap<String, String>, String> {
    let mut settings = BTreeMap::new();
    for part in text.split(';').filter(|part| !part.is_empty()) {
        let (key, value) = part.split_once('=').ok_or_else(|| format!("config: {part:?} is no key=value"))?;
        let [key, value] = [key, value].map(|text| text.replace("%3B", ";").replace("%3D", "=").replace("%25", "%"));
        if let Some(twice) = settings.insert(key, value) {
            return Err(format!("config: {twice:?} is said twice"));
        }
    }
    Ok(settings)
}
