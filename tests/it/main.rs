//! Every integration test, in one binary: a module a subject.
#![expect(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::print_stdout,
    clippy::disallowed_methods,
    reason = "a test stops at the first surprise, says why, and makes the files and processes that it looks at"
)]

mod adapter;
mod alone;
mod baseline;
mod digest;
mod engine;
mod environment;
mod floors;
mod lock;
mod process;
mod simulation;
mod sources;
mod tidy;
mod vectors;
mod workload;
