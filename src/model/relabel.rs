//! A relabel: what a sealed record counts for from now on, in a sealed ledger line of its own. The record itself stays as it is.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::judgement::Disposition;
use super::record::{Record, Tool, VERSION, seal_line};

/// The kind of the line.
pub const KIND: &str = "relabel";
/// Longest reason, in characters.
pub const BECAUSE_MAX: usize = 300;

/// One relabel.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Relabel {
    /// The record format's version.
    pub version: u32,
    /// `relabel`.
    pub kind: String,
    /// Who wrote it.
    pub tool: Tool,
    /// When, RFC 3339, UTC.
    pub at: String,
    /// The seal of the record.
    pub of: String,
    /// What the record's evidence is worth from now on: `historical`.
    pub disposition: Disposition,
    /// Why, in the words of the person who did it.
    pub because: String,
    /// The seal of the ledger line before this one.
    pub prev: Option<String>,
    /// `b3:` and the BLAKE3 of the canonical JSON without this field.
    pub seal: String,
}

impl Relabel {
    /// Makes a record historical: kept and shown, a reference for nothing.
    pub fn historical(of: &str, because: &str, at: String, tool: Tool) -> Self {
        Self {
            version: VERSION,
            kind: KIND.to_owned(),
            tool,
            at,
            of: of.to_owned(),
            disposition: Disposition::Historical,
            because: because.to_owned(),
            prev: None,
            seal: String::new(),
        }
    }

    /// The relabel with its place in a ledger and its seal set, and its canonical line without the line's end.
    ///
    /// # Errors
    /// When it cannot be written as JSON.
    pub fn sealed(mut self, prev: Option<String>) -> serde_json::Result<(Self, String)> {
        self.prev = prev;
        let (seal, line) = seal_line(&self)?;
        self.seal = seal;
        Ok((self, line))
    }

    /// The record as it is to be shown: with what it counts for now. Its seal is no longer that of its contents.
    pub fn shown(&self, mut record: Record) -> Record {
        record.judgement.disposition = self.disposition;
        record.judgement.disposition_because = vec![self.why()];
        record
    }

    /// Why, with its day: `relabelled on 2026-11-30: new cooling`.
    pub fn why(&self) -> String {
        format!("relabelled on {}: {}", self.at.get(..10).unwrap_or_default(), self.because)
    }
}
