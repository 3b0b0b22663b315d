//! The writer: puts lines in and takes lines out, and touches no other. Its counterpart is [`super::read`].

use std::cmp::Reverse;
use std::fmt;

use super::{EvalBaseline, HEAD, Model, Row, Says, ScoreLine, VERSION, is_digest, read};
use crate::model::baseline::name::encode;
use crate::model::baseline::write::{extras, keeps, number};
use crate::model::baseline::{LINE_MAX_BYTES, Refused};
use crate::model::eval::{Group, Key};

const COLUMNS: &str = "# score  task  metric  filter  date  record  scale  better  score  n  of  stderr  few_shot  task_version  harness";

impl EvalBaseline {
    /// A baseline without a score.
    ///
    /// # Errors
    /// When the model's name or digest cannot be written.
    pub fn new(model: Model) -> Result<Self, Refused> {
        if model.id.is_empty() || model.id.len() > LINE_MAX_BYTES / 4 || !is_digest(&model.digest) {
            let what = "a model needs a name and a digest of 8 to 64 hexadecimal digits in lower case".to_owned();
            return Err(Refused(what));
        }
        let head = [
            format!("{HEAD} {VERSION}"),
            format!("model  {}  {}", encode(&model.id), model.digest),
            COLUMNS.to_owned(),
        ];
        let rows = head.map(|text| Row { text, says: Says::Nothing }).into();
        Ok(Self { model, rows })
    }

    /// The text of the file.
    pub fn write(&self) -> String {
        self.rows.iter().flat_map(|row| [row.text.as_str(), "\n"]).collect()
    }

    /// Puts a score in its place: by task, metric and filter, the newest first.
    ///
    /// # Errors
    /// When the line would not read back as it is, or this score of this record stands there already.
    pub fn insert(&mut self, line: ScoreLine) -> Result<(), Refused> {
        if self.runs(&line.score.key).any(|other| other.record == line.record) {
            return Err(Refused(format!("{}: this run is in the baseline already", line.score.key)));
        }
        self.put(line.to_string(), Says::Score(Box::new(line)))
    }

    /// Puts a score in the place of all runs of it.
    ///
    /// # Errors
    /// As [`EvalBaseline::insert`].
    pub fn replace(&mut self, line: ScoreLine) -> Result<(), Refused> {
        let of_it = |says: &Says| matches!(says, Says::Score(other) if other.score.key == line.score.key);
        let mut changed = self.clone();
        changed.rows.retain(|row| !of_it(&row.says));
        changed.insert(line)?;
        *self = changed;
        Ok(())
    }

    /// Puts a group in its place, or in that of the one with its name.
    ///
    /// # Errors
    /// When the line would not read back as it is.
    pub fn replace_group(&mut self, group: Group) -> Result<(), Refused> {
        let of_it = |says: &Says| matches!(says, Says::Group(other) if other.name == group.name);
        let mut changed = self.clone();
        changed.rows.retain(|row| !of_it(&row.says));
        changed.put(group_line(&group), Says::Group(group))?;
        *self = changed;
        Ok(())
    }

    fn put(&mut self, text: String, says: Says) -> Result<(), Refused> {
        let others: usize = self.rows.iter().map(|row| row.text.len() + 1).sum();
        keeps(&text, &says, others, read::row)?;
        let at = self.place(&says);
        self.rows.insert(at, Row { text, says });
        Ok(())
    }

    /// After the last line of its kind that sorts before it; else before the first of its kind; else at the end.
    fn place(&self, says: &Says) -> usize {
        let alike = |row: &Row| {
            matches!(
                (&row.says, says),
                (Says::Score(_), Says::Score(_)) | (Says::Group(_), Says::Group(_))
            )
        };
        let before = |row: &Row| alike(row) && order(&row.says) <= order(says);
        let after_last = self.rows.iter().rposition(before).map(|last| last + 1);
        let first = || self.rows.iter().position(alike);
        after_last.or_else(first).unwrap_or(self.rows.len())
    }
}

fn order(says: &Says) -> ([&str; 3], Reverse<&str>, &str) {
    match says {
        Says::Nothing => ([""; 3], Reverse(""), ""),
        Says::Group(group) => ([&group.name, "", ""], Reverse(""), ""),
        Says::Score(line) => {
            let Key { task, metric, filter } = &line.score.key;
            ([task, metric, filter], Reverse(&line.date), &line.record)
        }
    }
}

fn group_line(group: &Group) -> String {
    let members: Vec<String> = group.members.iter().map(|member| encode(member)).collect();
    format!("group  {}  {}", encode(&group.name), members.join(" "))
}

impl fmt::Display for ScoreLine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { score, date, record, .. } = self;
        let (setup, Key { task, metric, filter }) = (&score.setup, &score.key);
        let [task, metric, filter] = [task, metric, filter].map(|name| encode(name));
        let or_none = |text: Option<String>| text.unwrap_or_else(|| "-".to_owned());
        let extent = score.extent.map_or("-", |extent| extent.word());
        let aim = or_none(score.aim.map(|aim| aim.to_string()));
        let [value, stderr] = [score.value, score.stderr].map(|value| or_none(value.map(number)));
        let [items, of, few_shot] =
            [score.items, score.of, setup.few_shot.map(u64::from)].map(|count| or_none(count.map(|count| count.to_string())));
        let [version, harness] = [&setup.task_version, &setup.harness].map(|text| or_none(text.as_deref().map(encode)));
        write!(
            f,
            "score  {task}  {metric}  {filter}  {date}  {record}  {extent}  {aim}  {value}  {items}  {of}  {stderr}  {few_shot}  {version}  {harness}"
        )?;
        let mut all = self.extras.clone();
        let known = [
            ("chat_template", &setup.chat_template),
            ("limit", &setup.limit),
            ("task_hash", &setup.task_hash),
        ];
        let stated = known.into_iter().filter_map(|(key, value)| Some((key.to_owned(), value.clone()?)));
        all.extend(stated);
        if !setup.config.is_empty() {
            all.insert("config".to_owned(), settings(self));
        }
        extras(f, &all)
    }
}

/// `key=value` with `;` between them; these three characters and `%` inside a word are percent-encoded.
fn settings(line: &ScoreLine) -> String {
    let word = |text: &str| text.replace('%', "%25").replace(';', "%3B").replace('=', "%3D");
    let settings: Vec<String> = line
        .score
        .setup
        .config
        .iter()
        .map(|(key, value)| format!("{}={}", word(key), word(value)))
        .collect();
    settings.join(";")
}
