//! `gate identity`: the machine under the figures, and what differs between two.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use clap::{Args, Subcommand, ValueEnum};
use serde_json::{Value, json};

use super::answer;
use super::host::source;
use crate::edge::{files, host};
use crate::exit;
use crate::model::host::difference::{Difference, Side, differences, is_lever, neither};
use crate::model::host::facts::{Described, described};
use crate::model::host::machine::Machine;
use crate::model::number::count;
use crate::model::text::{no_commands, plain_line};

/// The kind of the document that is printed as JSON.
const KIND: &str = "gate-identity/1";
/// Longest value that is shown.
const VALUE_MAX: usize = 400;

/// Tell what this machine is: GPUs, driver, firmware, limits, kernel; or what differs between two
#[derive(Debug, Args)]
#[command(args_conflicts_with_subcommands = true)]
pub struct Identity {
    #[command(subcommand)]
    command: Option<Command>,
    /// A snapshot of a host, or a folder with its files, instead of this machine
    #[arg(long, value_name = "FILE")]
    host: Option<PathBuf>,
    /// How it is shown
    #[arg(long, value_enum, default_value_t = Format::Terminal)]
    format: Format,
}

/// The formats of what is no record.
#[derive(Debug, Clone, Copy, ValueEnum)]
pub(super) enum Format {
    /// For people
    Terminal,
    /// For programs
    Json,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Name what differs between two identities; exit 1 if more than the declared lever does
    Diff {
        /// An identity as JSON, a record, or a snapshot of a host
        a: PathBuf,
        /// Another
        b: PathBuf,
        /// The one field that is meant to differ, `driver.version` or `env`
        #[arg(long, value_name = "FIELD")]
        one_lever: Option<String>,
    },
}

impl Identity {
    /// Runs the command.
    ///
    /// # Errors
    /// When a file cannot be read.
    pub fn run(&self) -> Result<u8> {
        if let Some(Command::Diff { a, b, one_lever }) = &self.command {
            return diff(a, b, one_lever.as_deref());
        }
        let machine = host::whole(&source(self.host.as_deref())?);
        let text = match self.format {
            Format::Terminal => words(&machine),
            Format::Json => serde_json::to_string_pretty(&document(&machine))? + "\n",
        };
        answer(&text)?;
        Ok(exit::PASS.code)
    }
}

/// The architecture of every GPU where they are alike, else the processor's.
pub(super) fn arch(machine: &Machine) -> String {
    let nodes = machine.nodes.as_deref().unwrap_or_default();
    match nodes.split_first() {
        Some((first, rest)) if rest.iter().all(|node| node.arch == first.arch) => first.arch.clone(),
        Some(_) => "several".to_owned(),
        None => format!("cpu-{}", std::env::consts::ARCH),
    }
}

fn document(machine: &Machine) -> Value {
    let Described { fields, missing } = described(machine);
    json!({ "kind": KIND, "arch": arch(machine), "replayed": machine.replayed, "fields": fields, "missing": missing })
}

fn words(machine: &Machine) -> String {
    let Described { fields, missing } = described(machine);
    let replayed = if machine.replayed { ", read from a snapshot" } else { "" };
    let mut out = format!("machine: {}{replayed}\n\n", arch(machine));
    let names = fields.keys().chain(missing.iter().map(|unknown| &unknown.field));
    let width = names.map(String::len).max().unwrap_or(0);
    for (field, value) in &fields {
        out.push_str(&format!("{field:<width$}  {}\n", shown(value)));
    }
    if !missing.is_empty() {
        out.push_str("\nnot known:\n");
    }
    for unknown in &missing {
        out.push_str(&format!("{:<width$}  {}\n", unknown.field, plain_line(&unknown.why, VALUE_MAX)));
    }
    no_commands(&out)
}

/// A value in few characters: one that is the same for every card is told once.
fn shown(value: &Value) -> String {
    let text = match value {
        Value::Array(values) => match values.split_first() {
            Some((first, rest)) if !rest.is_empty() && rest.iter().all(|value| value == first) => {
                format!("{} x {}", values.len(), shown(first))
            }
            _ => values.iter().map(shown).collect::<Vec<String>>().join(", "),
        },
        Value::Object(fields) => {
            let pairs = fields.iter().map(|(name, value)| format!("{name}={}", shown(value)));
            pairs.collect::<Vec<String>>().join(" ")
        }
        Value::String(text) => text.clone(),
        Value::Null => "not set".to_owned(),
        other => other.to_string(),
    };
    let text = if text.is_empty() { "none".to_owned() } else { text };
    plain_line(&text, VALUE_MAX)
}

fn diff(a: &Path, b: &Path, lever: Option<&str>) -> Result<u8> {
    let (a, b) = (side(a)?, side(b)?);
    let found = differences(&a, &b);
    let (meant, more): (Vec<&Difference>, Vec<&Difference>) =
        found.iter().partition(|one| lever.is_some_and(|lever| is_lever(&one.field, lever)));
    let mut out = String::new();
    for (label, group) in [("lever", &meant), ("differs", &more)] {
        for one in group {
            let [was, is] = one
                .values
                .each_ref()
                .map(|value| value.as_ref().map_or_else(|| "not known".to_owned(), shown));
            out.push_str(&format!("{label}: {}: {was} -> {is}\n", one.field));
        }
    }
    let unknown = neither(&a, &b);
    if !unknown.is_empty() {
        out.push_str(&format!("known of neither: {}\n", unknown.join(", ")));
    }
    let fields = count(more.len() as u64, "field");
    out.push_str(&match (more.len(), lever) {
        (0, None) => "nothing differs\n".to_owned(),
        (0, Some(lever)) if meant.is_empty() => format!("nothing differs, {lever} neither\n"),
        (0, Some(lever)) => format!("only {lever} differs\n"),
        (_, None) => format!("{fields} differ\n").replace("field differ", "field differs"),
        (_, Some(lever)) => {
            format!("{fields} beside {lever} differ\n").replace("differ\n", if more.len() == 1 { "differs\n" } else { "differ\n" })
        }
    });
    answer(&no_commands(&out))?;
    Ok(if more.is_empty() { exit::PASS } else { exit::FAIL }.code)
}

/// Reads an identity from what holds one.
fn side(path: &Path) -> Result<Side> {
    let text = files::read_text(path)?;
    let first = serde_json::Deserializer::from_str(&text).into_iter::<Value>().next();
    let value = first
        .transpose()
        .with_context(|| format!("{}: is no JSON", path.display()))?
        .unwrap_or(Value::Null);
    let side = if value["kind"] == KIND {
        Side::of(&value["fields"], &value["missing"])
    } else if value["identity"].is_object() {
        let mut identity = value["identity"].clone();
        let missing = identity.as_object_mut().and_then(|fields| fields.remove("missing"));
        Side::of(&identity, &missing.unwrap_or_default())
    } else if value["files"].is_object() {
        let document = document(&host::whole(&host::open(path)?));
        Side::of(&document["fields"], &document["missing"])
    } else {
        bail!(
            "{}: holds no identity; wanted is what `gate identity --format json` or `gate host capture` writes, or a record",
            path.display()
        );
    };
    if side.is_empty() {
        bail!("{}: its identity has no fields", path.display());
    }
    Ok(side)
}
