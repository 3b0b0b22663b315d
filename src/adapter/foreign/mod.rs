//! What foreign bytes are before they are a format: text, then JSON documents where there are some.

pub mod input;
pub mod json;
pub mod lines;
pub mod log;
pub mod runs;
pub mod table;

pub use input::Input;
pub use json::Json;
pub use lines::Lines;
