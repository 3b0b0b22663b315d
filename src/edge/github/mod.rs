//! GitHub's API: the comment on a pull request, commit statuses and check runs.
//!
//! The client underneath never asks twice by itself: what is asked again, when, and within which time is decided here, since a comment
//! that is made twice is worse than one that is late.

mod answer;
mod api;
mod check;
mod client;
mod comment;
mod connection;
mod policy;
mod pulls;
mod refusal;
mod token;

pub use check::{check_run, status};
pub use client::{Client, Settings};
pub use comment::post;
pub use connection::Proxy;
pub use refusal::{Failure, Reason, Refused};
pub use token::Token;
