//! What a GPU helper answers: one JSON document, whatever came of it. The helpers write it, [`crate::edge::gpu_helper`] reads it.

use serde_json::{Map, Value, json};

/// The kind of the document.
pub const KIND: &str = "gate-helper/1";
/// The helper over HIP.
pub const HIP: &str = "gate-hip";
/// The helper over OpenCL.
pub const OPENCL: &str = "gate-ocl";
/// Every helper.
pub const ALL: [&str; 2] = [HIP, OPENCL];

/// What came of a helper's work.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum State {
    /// It did what it was asked.
    Ok,
    /// The loader of the runtime knows no platform.
    NoPlatform,
    /// There is a runtime, but no device.
    NoDevice,
    /// The device computed something else than the host.
    Wrong,
    /// A call of the runtime failed.
    Failed,
    /// A call of the runtime did not come back within the helper's own limit.
    Hung,
}

impl State {
    /// Every state.
    pub const ALL: [Self; 6] = [Self::Ok, Self::NoPlatform, Self::NoDevice, Self::Wrong, Self::Failed, Self::Hung];

    /// The word in the document.
    pub const fn word(self) -> &'static str {
        match self {
            Self::Ok => "ok",
            Self::NoPlatform => "no_platform",
            Self::NoDevice => "no_device",
            Self::Wrong => "wrong",
            Self::Failed => "failed",
            Self::Hung => "hung",
        }
    }

    /// The state of a word.
    pub fn of(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|state| state.word() == word)
    }
}

/// A helper's document: who answers what, how it ended, why where that was not well, and its figures beside these.
#[derive(Debug, Clone, PartialEq)]
pub struct Document {
    /// The helper's name.
    pub helper: String,
    /// What it was asked, `bandwidth`.
    pub command: String,
    /// How it ended.
    pub state: State,
    /// Why, where it did not end well.
    pub why: String,
    /// What it found.
    pub found: Map<String, Value>,
}

impl Document {
    /// One line of JSON.
    pub fn line(&self) -> String {
        let mut all = self.found.clone();
        all.insert("kind".to_owned(), json!(KIND));
        all.insert("helper".to_owned(), json!(self.helper));
        all.insert("version".to_owned(), json!(env!("CARGO_PKG_VERSION")));
        all.insert("command".to_owned(), json!(self.command));
        all.insert("state".to_owned(), json!(self.state.word()));
        if !self.why.is_empty() {
            all.insert("why".to_owned(), json!(self.why));
        }
        Value::Object(all).to_string()
    }

    /// Reads one document, with white space around it at most.
    ///
    /// # Errors
    /// What is not as it must be.
    pub fn parse(text: &str) -> Result<Self, String> {
        let mut all: Map<String, Value> = serde_json::from_str(text).map_err(|error| format!("no JSON object: {error}"))?;
        let mut word = |name: &str| match all.remove(name) {
            Some(Value::String(word)) => Ok(word),
            Some(other) => Err(format!("{name} is {other}, and no text")),
            None => Err(format!("there is no {name}")),
        };
        let kind = word("kind")?;
        if kind != KIND {
            return Err(format!("kind is {kind:?}; this version of gate reads {KIND:?}"));
        }
        let state = word("state")?;
        let state = State::of(&state).ok_or_else(|| format!("state is {state:?}, which is none"))?;
        Ok(Self {
            helper: word("helper")?,
            command: word("command")?,
            state,
            why: word("why").unwrap_or_default(),
            found: all,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_is_read() {
        for state in State::ALL {
            let document = Document {
                helper: OPENCL.to_owned(),
                command: "info".to_owned(),
                state,
                why: if state == State::Ok { String::new() } else { "so".to_owned() },
                found: Map::from_iter([
                    ("devices".to_owned(), json!(2)),
                    ("version".to_owned(), json!(env!("CARGO_PKG_VERSION"))),
                ]),
            };
            assert_eq!(Document::parse(&document.line()), Ok(document));
        }
    }

    #[test]
    fn another_document_is_none() {
        for (text, why) in [
            ("", "no JSON object"),
            ("[]", "no JSON object"),
            ("{}", "there is no kind"),
            (r#"{"kind": "gate-helper/2"}"#, "this version of gate reads"),
            (r#"{"kind": "gate-helper/1", "state": 1}"#, "state is 1, and no text"),
            (r#"{"kind": "gate-helper/1", "state": "fine"}"#, "which is none"),
            (r#"{"kind": "gate-helper/1", "state": "ok"} {}"#, "no JSON object"),
        ] {
            let told = Document::parse(text).unwrap_err();
            assert!(told.contains(why), "{text}: {told}");
        }
    }
}
