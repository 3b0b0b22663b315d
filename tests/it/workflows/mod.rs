//! Workflows and the action: as written, as linters see them, and as `act` runs them on this machine.

mod act;
mod files;
