//! Foreign text becomes figures: one file a tool, and the foreign shapes stay private to it.

pub mod key_value;

use crate::model::figure::Reading;
use crate::model::metric::Metric;

/// One kind of output that `gate` can read.
#[derive(Debug, Clone, Copy)]
pub struct Adapter {
    /// The word that selects it, equal to its file's name with `-` for `_`.
    pub name: &'static str,
    /// One line for help.
    pub about: &'static str,
    /// Reads the output of one process. Every wanted metric gets exactly one figure; never fails and never panics, whatever the
    /// bytes are.
    pub read: fn(output: &[u8], wanted: &[Metric]) -> Reading,
}

/// Every adapter. A new one is its file and its word here.
pub const ALL: &[Adapter] = &[key_value::KEY_VALUE];

/// The adapter of this name; the error lists the names that exist.
pub fn find(name: &str) -> Result<&'static Adapter, String> {
    ALL.iter().find(|adapter| adapter.name == name).ok_or_else(|| {
        let names: Vec<&str> = ALL.iter().map(|adapter| adapter.name).collect();
        format!("unknown adapter {name:?}: known are {}", names.join(", "))
    })
}
