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
mod artifacts;
mod base;
mod baseline;
mod bisect;
mod build;
mod clean;
mod comment;
mod compare;
mod declared;
mod digest;
mod engine;
mod environment;
mod eval;
mod failures;
mod flags;
mod floors;
mod formats;
mod gate_file;
mod github;
mod gpu_helper;
mod gpu_metrics;
mod hook;
mod host;
mod ingest;
mod ingest_judged;
mod ingest_rules;
mod judge;
mod kill;
mod ledger;
mod limit;
mod lock;
mod method;
mod noise;
mod order;
mod output;
mod pid_namespace;
mod playground;
mod preflight;
mod process;
mod programs;
mod project;
mod readme;
mod real;
mod relabel;
mod runtimes;
mod sandbox;
mod schema;
mod served;
mod signals;
mod simulation;
mod sources;
mod synthetic;
mod tidy;
mod usage;
mod vectors;
mod views;
mod waive;
mod warmup;
mod watched;
mod workflows;
mod workload;
mod worktree;
