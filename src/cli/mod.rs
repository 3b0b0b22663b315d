//! Argument structs, whose documentation is the help, and composition. The only floor that prints.

mod baseline;
mod bisect;
mod clean;
mod columns;
mod comment;
mod compare;
mod completions;
mod eval;
mod explain;
mod gates;
mod hook;
mod host;
mod identity;
mod ingest;
mod init;
mod ledger;
mod noise;
mod parse;
mod perf;
mod preflight;
mod progress;
mod record;
mod records;
mod results;
mod rules;
mod schema;
mod selftest;
mod status;
mod step;
mod untrusted;
mod waive;
mod waivers;
mod workload;

use std::fmt;
use std::io::{IsTerminal, Write};

use anyhow::{Error, Result};
use clap::error::ErrorKind;
use clap::{Args, CommandFactory, FromArgMatches, Parser, Subcommand};

use crate::edge::environment;
use crate::exit;
use crate::model::text::{no_commands, plain_line};
use crate::render::Canvas;

/// Measures two commands in fresh processes, decides with a stated error rate, and says so when it cannot.
///
/// Exit codes: 0 pass, 1 fail, 2 error, 3 inconclusive, 4 violation; `gate explain exit` tells more.
#[derive(Debug, Parser)]
#[command(
    name = "gate",
    version,
    max_term_width = 100,
    subcommand_required = true,
    arg_required_else_help = true
)]
struct Program;

/// The commands, in the order of the help.
macro_rules! commands {
    ($($word:literal: $name:ident($arguments:ty)),* $(,)?) => {
        #[derive(Debug, Subcommand)]
        enum Command {
            $(#[command(name = $word)] $name(Box<$arguments>),)*
        }

        impl Command {
            fn run(self) -> Result<u8> {
                match self {
                    $(Self::$name(command) => command.run(),)*
                }
            }

            /// What reads the arguments of the command of a name.
            fn named(name: &str) -> Option<clap::Command> {
                match name {
                    $($word => Some(<$arguments>::augment_args(clap::Command::new($word))),)*
                    _ => None,
                }
            }
        }
    };
}

commands! {
    "perf": Perf(perf::Perf),
    "eval": Eval(eval::Eval),
    "noise": Noise(noise::Noise),
    "baseline": Baseline(baseline::BaselineCommand),
    "bisect": Bisect(bisect::Bisect),
    "gates": Gates(gates::Gates),
    "identity": Identity(identity::Identity),
    "preflight": Preflight(preflight::Preflight),
    "hook": Hook(hook::HookCommand),
    "host": Host(host::Host),
    "ingest": Ingest(ingest::Ingest),
    "compare": Compare(compare::Compare),
    "comment": Comment(comment::Comment),
    "status": Status(status::Status),
    "init": Init(init::Init),
    "ledger": Ledger(ledger::Ledger),
    "waive": Waive(waive::Waive),
    "selftest": Selftest(selftest::Selftest),
    "workload": Workload(workload::Workload),
    "explain": Explain(explain::Explain),
    "schema": Schema(schema::Schema),
    "clean": Clean(clean::Clean),
    "completions": Completions(completions::Completions),
}

/// The whole program with all its commands.
fn program() -> clap::Command {
    Command::augment_subcommands(Program::command())
}

/// The command that the arguments name. It alone is built, since all of them take longer than many a command does.
fn command() -> Result<Command, clap::Error> {
    let named = environment::arguments().first().and_then(|name| Command::named(name));
    let program = named.map_or_else(program, |named| Program::command().subcommand(named));
    Command::from_arg_matches(&program.try_get_matches()?)
}

/// Runs the program; gives its exit code.
pub fn main() -> u8 {
    let command = match command() {
        Ok(command) => command,
        Err(error) => return refused(&error),
    };
    command.run().unwrap_or_else(|error| {
        let Ended { exit_code, kind, said } = Ended::by(&error);
        say(&format!("gate: {kind}{said}"));
        exit_code
    })
}

/// How an error ends the program.
struct Ended {
    exit_code: u8,
    /// What stands before its words; nothing before those of a signal.
    kind: &'static str,
    said: String,
}

impl Ended {
    fn by(error: &Error) -> Self {
        let (exit_code, kind, said) = if let Some(cancelled) = error.downcast_ref::<Cancelled>() {
            (of_signal(cancelled.signal), "", cancelled.to_string())
        } else if let Some(violation) = error.downcast_ref::<records::Violation>() {
            (exit::VIOLATION.code, "violation: ", violation.to_string())
        } else {
            (exit::ERROR.code, "error: ", format!("{error:#}"))
        };
        Self { exit_code, kind, said }
    }
}

/// A signal ended the work before there was anything to show.
#[derive(Debug)]
struct Cancelled {
    signal: i32,
    doing: &'static str,
}

impl fmt::Display for Cancelled {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "cancelled by signal {} while {}", self.signal, self.doing)
    }
}

impl std::error::Error for Cancelled {}

/// The exit code of a run that a signal ended.
const fn of_signal(signal: i32) -> u8 {
    128_u8.saturating_add(signal.unsigned_abs() as u8)
}

/// Shows help and version where they are asked for; of a usage error one line, with its advice.
fn refused(error: &clap::Error) -> u8 {
    if !error.use_stderr() || error.kind() == ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand {
        // Nowhere is left to tell that this could not be printed.
        let _printed = error.print();
        return if error.use_stderr() { exit::ERROR.code } else { exit::PASS.code };
    }
    let text = error.render().to_string();
    let what = text.lines().take_while(|line| !line.trim().is_empty());
    let tips = text.lines().filter(|line| line.trim_start().starts_with("tip:"));
    let words: Vec<&str> = what.chain(tips).map(str::trim).collect();
    let said = words.join(" ");
    step::tell_of_usage(&said);
    say(&format!("gate: {said}"));
    exit::ERROR.code
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

/// Tells something on standard error, each line free of control sequences and of commands to a runner.
fn say(text: &str) {
    let lines = text.lines().map(|line| no_commands(&plain_line(line, 10_000)) + "\n");
    tell_runner(&lines.collect::<String>());
}

/// Prints commands to a runner on standard error, as they are.
fn tell_runner(commands: &str) {
    // Nowhere is left to tell that this could not be printed.
    let _written = std::io::stderr().lock().write_all(commands.as_bytes());
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
