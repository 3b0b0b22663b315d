//! A server under test: whether it answers.

use std::time::Duration;

use ureq::Agent;

/// Longest wait for one answer.
const ANSWER: Duration = Duration::from_secs(5);

/// Asks an address on this machine once; true where it answers with success. A server that is not there yet is no error.
///
/// Proxies are not asked, and redirects are not followed: what answers must be the server that was started.
pub fn answers(url: &str) -> bool {
    let config = Agent::config_builder()
        .timeout_global(Some(ANSWER))
        .proxy(None)
        .max_redirects(0)
        .http_status_as_error(false)
        .build();
    Agent::new_with_config(config)
        .get(url)
        .call()
        .is_ok_and(|response| response.status().is_success())
}

/// A port that nothing listens on now.
///
/// # Errors
/// When the machine has none left.
pub fn free_port() -> std::io::Result<u16> {
    Ok(std::net::TcpListener::bind(("127.0.0.1", 0))?.local_addr()?.port())
}
