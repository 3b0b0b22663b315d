//! The decision core, from sample to outcome, on synthetic sessions.

mod answers;
mod properties;
mod rules;
mod trouble;
mod voids;
mod worth;
