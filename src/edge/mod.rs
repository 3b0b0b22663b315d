//! Everything that touches the world: processes, files, locks, version control, the environment and the clock.

pub mod arms;
pub mod artifact;
pub mod baselines;
pub mod clock;
pub mod device;
pub mod digest;
pub mod endpoint;
pub mod environment;
pub mod files;
pub mod git;
pub mod github;
pub mod gpu_helper;
pub mod host;
pub mod job;
pub mod ledger;
pub mod lines;
pub mod lock;
pub mod measure;
pub mod process;
pub mod records;
pub mod results;
pub mod session;
pub mod step;
pub mod telemetry;
pub mod tidy;
pub mod workload;
