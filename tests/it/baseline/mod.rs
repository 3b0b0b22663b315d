//! Committed baselines: their text, their import, what is judged with them, and the command that accepts sessions.

mod case;
mod command;
mod floor;
mod held;
mod identity;
mod import;
mod text;
mod wrong;
