//! Argument structs, whose documentation is the help, and composition. The only floor that prints.

mod baseline;
mod completions;
mod explain;
mod ledger;
mod parse;
mod perf;
mod progress;
mod schema;
mod selftest;
mod workload;

use std::io::{IsTerminal, Write};

use anyhow::Result;
use clap::{Parser, Subcommand};

use crate::edge::environment;
use crate::exit;
use crate::model::text::plain_line;
use crate::render::Canvas;

/// Measures two commands in fresh processes, decides with a stated error rate, and says so when it cannot.
///
/// Exit codes: 0 pass, 1 fail, 2 error, 3 inconclusive, 4 violation; `gate explain exit` tells more.
#[derive(Debug, Parser)]
#[command(name = "gate", version, max_term_width = 100)]
struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    Perf(Box<perf::Perf>),
    Baseline(baseline::BaselineCommand),
    Ledger(ledger::Ledger),
    Selftest(selftest::Selftest),
    Workload(workload::Workload),
    Explain(explain::Explain),
    Schema(schema::Schema),
    Completions(completions::Completions),
}

/// Runs the program; gives its exit code.
pub fn main() -> u8 {
    let arguments = match Arguments::try_parse() {
        Ok(arguments) => arguments,
        Err(error) => {
            // Nowhere is left to tell that this could not be printed.
            let _printed = error.print();
            return if error.use_stderr() { exit::ERROR.code } else { exit::PASS.code };
        }
    };
    let code = match arguments.command {
        Command::Perf(perf) => perf.run(),
        Command::Baseline(baseline) => baseline.run(),
        Command::Ledger(ledger) => ledger.run(),
        Command::Selftest(selftest) => selftest.run(),
        Command::Workload(workload) => workload.run(),
        Command::Explain(explain) => explain.run(),
        Command::Schema(schema) => schema.run(),
        Command::Completions(completions) => completions.run(),
    };
    code.unwrap_or_else(|error| {
        if is_broken_pipe(&error) {
            return exit::PASS.code;
        }
        say(&format!("gate: error: {error:#}"));
        exit::ERROR.code
    })
}

/// A reader that closed its end has what it wanted.
fn is_broken_pipe(error: &anyhow::Error) -> bool {
    let kind = |cause: &(dyn std::error::Error + 'static)| cause.downcast_ref::<std::io::Error>().map(std::io::Error::kind);
    error.chain().any(|cause| kind(cause) == Some(std::io::ErrorKind::BrokenPipe))
}

/// Prints an answer on standard output.
///
/// # Errors
/// When it cannot be written; a pipe whose reader has gone is none to report, the exit code is the verdict's all the same.
fn answer(text: &str) -> Result<()> {
    let mut out = std::io::stdout().lock();
    match out.write_all(text.as_bytes()).and_then(|()| out.flush()) {
        Err(error) if error.kind() == std::io::ErrorKind::BrokenPipe => Ok(()),
        other => Ok(other?),
    }
}

/// Tells something on standard error, each line free of control sequences.
fn say(text: &str) {
    let mut err = std::io::stderr().lock();
    for line in text.lines() {
        // Nowhere is left to tell that this could not be printed.
        let _written = writeln!(err, "{}", plain_line(line, 10_000));
    }
}

/// What standard output is: colours on a terminal only, and not against `NO_COLOR`.
fn canvas() -> Canvas {
    let terminal = std::io::stdout().is_terminal();
    let width = if terminal {
        rustix::termios::tcgetwinsize(std::io::stdout())
            .ok()
            .map(|size| size.ws_col)
            .filter(|&columns| columns > 0)
    } else {
        None
    };
    Canvas {
        colour: terminal && !environment::is_set("NO_COLOR"),
        width,
    }
}
