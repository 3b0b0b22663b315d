//! A helper's work: done within a limit, and told as one line of JSON, whatever came of it.

use std::io::Write;
use std::process::ExitCode;
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::thread;
use std::time::Duration;

use gate::model::gpu_helper::{Document, State};
use serde_json::{Map, Value};

/// How long a helper may take beside the time that it is asked to work for, unless it is told otherwise, in seconds.
pub const PATIENCE_S: u64 = 120;

/// What a helper found.
pub type Found = Map<String, Value>;

/// Why it did not end well.
#[derive(Debug)]
pub struct Fault {
    /// How it ended.
    pub state: State,
    /// Why.
    pub why: String,
}

impl Fault {
    /// A call that failed, and how.
    pub fn failed(what: &str, how: impl std::fmt::Display) -> Self {
        Self {
            state: State::Failed,
            why: format!("{what}: {how}"),
        }
    }
}

/// Does the work in a thread of its own, prints what came of it, and ends the process: 0 done, 1 computed wrongly, 2 a call failed or did not
/// come back within the limit, 3 no platform or no device.
///
/// The process ends at once: what a driver does when a process leaves it in order may hang, too.
pub fn run(helper: &str, command: &str, limit: Duration, work: impl FnOnce() -> Result<Found, Fault> + Send + 'static) -> ExitCode {
    let (sender, receiver) = channel();
    // Nobody waits for the thread: it may hang inside a driver.
    let _thread = thread::spawn(move || {
        // The receiver has left once the limit is over.
        let _sent = sender.send(work());
    });
    let result = receiver.recv_timeout(limit).unwrap_or_else(|error| {
        Err(match error {
            RecvTimeoutError::Timeout => Fault {
                state: State::Hung,
                why: format!("no end within {} s", limit.as_secs()),
            },
            RecvTimeoutError::Disconnected => Fault::failed("the runtime's binding", "it panicked; standard error tells more"),
        })
    });
    let (state, why, found) = match result {
        Ok(found) => (State::Ok, String::new(), found),
        Err(fault) => (fault.state, fault.why, Map::new()),
    };
    let document = Document {
        helper: helper.to_owned(),
        command: command.to_owned(),
        state,
        why,
        found,
    };
    let mut out = std::io::stdout().lock();
    let written = writeln!(out, "{}", document.line()).and_then(|()| out.flush());
    let code = match state {
        _ if written.is_err() => 2,
        State::Ok => 0,
        State::Wrong => 1,
        State::Failed | State::Hung => 2,
        State::NoPlatform | State::NoDevice => 3,
    };
    leave(code)
}

/// Ends the process without the runtime's own farewell.
fn leave(code: i32) -> ! {
    // SAFETY: it takes no pointer, and returns to nobody; everything that was to be written is written.
    unsafe { libc::_exit(code) }
}

/// Median, least and most of some figures; none where there are none.
pub fn spread(mut values: Vec<f64>) -> Option<[f64; 3]> {
    values.sort_by(f64::total_cmp);
    let (least, most) = (*values.first()?, *values.last()?);
    let middle = values.len() / 2;
    let upper = *values.get(middle)?;
    let median = if values.len() % 2 == 1 {
        upper
    } else {
        f64::midpoint(upper, *values.get(middle - 1)?)
    };
    Some([median, least, most])
}
