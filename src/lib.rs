//! A declared gate, an identity and some evidence go into one pure function; a judgement comes out; all of it is sealed into
//! one record; everything a user ever sees is a view of that record.
//!
//! The modules stand on four floors, and each knows only the floors below it:
//!
//! 1. [`model`]: nouns, plain data; no input or output, no statistics, no clock.
//! 2. [`judge`], [`adapter`], [`check`], [`render`]: pure functions of model values; siblings never import each other.
//! 3. [`edge`]: everything that touches the world; it knows `model` and nothing else.
//! 4. [`cli`]: argument structs and composition; the only floor that prints.

#[cfg(not(target_os = "linux"))]
compile_error!("gate measures with Linux process groups, pidfds and /proc: build it on Linux");

pub mod exit;
pub mod model;

pub mod adapter;
pub mod check;
pub mod judge;
pub mod render;

#[expect(clippy::disallowed_methods, reason = "the one floor that touches the world")]
pub mod edge;

pub mod cli;
