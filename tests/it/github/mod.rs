//! Comments, statuses and check runs, against a GitHub on the loopback address. A test is named by the row of failures that it shows.

mod checks;
mod command;
mod comments;
mod contract;
mod events;
mod http;
pub mod hub;
mod limits;
mod planning;
mod refusals;
mod serving;
pub mod things;
mod tls;
mod token;
mod untrusted;
mod untrusted_results;
