//! What foreign bytes are before they are a format: text, then JSON documents where there are some.

pub mod ended;
pub mod input;
pub mod json;
pub mod log;
pub mod runs;
pub mod table;

pub use ended::Lines;
pub use input::Input;
pub use json::Json;
