//! A server under test: whether it answers.

use std::time::Duration;

use ureq::Agent;

/// Longest wait for one answer.
const ANSWER: Duration = Duration::from_secs(5);

/// Asks an address on this machine once; true where it answers with success. A server that is not there yet is no error.
pub fn answers(url: &str) -> bool {
    status(url).is_ok_and(|status| (200..300).contains(&status))
}

/// The status that an address answers with, within five seconds.
///
/// Proxies are not asked, and redirects are not followed: what answers must be the server that was named.
///
/// # Errors
/// Why there is no answer.
pub fn status(url: &str) -> Result<u16, String> {
    let config = Agent::config_builder()
        .timeout_global(Some(ANSWER))
        .proxy(None)
        .max_redirects(0)
        .http_status_as_error(false)
        .build();
    let response = Agent::new_with_config(config).get(url).call();
    response
        .map(|response| response.status().as_u16())
        .map_err(|error| error.to_string())
}

/// A port that nothing listens on now.
///
/// # Errors
/// When the machine has none left.
pub fn free_port() -> std::io::Result<u16> {
    Ok(std::net::TcpListener::bind(("127.0.0.1", 0))?.local_addr()?.port())
}
