//! The way to the API: straight, or through a proxy; over TLS, save on this machine.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Result, anyhow, bail};
use hyper_rustls::{HttpsConnector, HttpsConnectorBuilder};
use hyper_util::client::legacy::Client;
use hyper_util::client::legacy::connect::proxy::Tunnel;
use hyper_util::client::legacy::connect::{Connect, HttpConnector};
use hyper_util::client::proxy::matcher::{Intercept, Matcher};
use hyper_util::rt::TokioExecutor;
use octocrab::service::middleware::base_uri::BaseUriLayer;
use octocrab::service::middleware::extra_headers::ExtraHeadersLayer;
use octocrab::{AuthState, Octocrab, OctocrabBuilder};

use super::token::Token;
use crate::edge::{environment, files};
use crate::model::text::plain_line;

/// Longest wait for a connection.
const CONNECT: Duration = Duration::from_secs(5);
/// What this program calls itself to the server.
const AGENT: &str = concat!("gate/", env!("CARGO_PKG_VERSION"));
/// Variables that name a proxy for `https://`, first that is set.
const NAMES: [&str; 4] = ["HTTPS_PROXY", "https_proxy", "ALL_PROXY", "all_proxy"];
/// Variables that name what is asked without it, first that is set.
const EXCEPTIONS: [&str; 2] = ["NO_PROXY", "no_proxy"];
/// The variable that names a file of authorities.
const AUTHORITIES: &str = "SSL_CERT_FILE";
/// Longest path that is shown, in characters.
const SHOWN_MAX: usize = 300;

/// A proxy that leads to the API. No form of it shows the password that it may ask for.
#[derive(Clone)]
pub struct Proxy {
    intercept: Intercept,
    /// The variable that names it.
    name: &'static str,
}

impl fmt::Debug for Proxy {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "Proxy({self})")
    }
}

impl fmt::Display for Proxy {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let uri = self.intercept.uri();
        let host = uri.host().unwrap_or_default();
        write!(out, "the proxy {host}")?;
        uri.port_u16().map_or(Ok(()), |port| write!(out, ":{port}"))?;
        write!(out, " of {}", self.name)
    }
}

impl Proxy {
    /// The proxy that this process's environment names for an API; none for one on this machine that is asked without TLS.
    ///
    /// # Errors
    /// When a variable holds what is no address of one; the words do not show it, since it may hold a password.
    pub fn of_this_job(api: &str) -> Result<Option<Self>> {
        Self::of(api, &environment::value)
    }

    fn of(api: &str, value: &dyn Fn(&str) -> Option<String>) -> Result<Option<Self>> {
        let set = |name: &&'static str| Some((*name, value(name).filter(|value| !value.trim().is_empty())?));
        let Some((name, address)) = NAMES.iter().find_map(set).filter(|_| api.starts_with("https://")) else {
            return Ok(None);
        };
        let exceptions = EXCEPTIONS.iter().find_map(set).map(|(_, value)| value).unwrap_or_default();
        let api = api.parse().map_err(|_| anyhow!("GITHUB_API_URL is no address"))?;
        let matcher = |exceptions: &str| Matcher::builder().https(address.trim()).no(exceptions).build();
        let Some(intercept) = matcher("").intercept(&api) else {
            bail!(
                "{name} holds no address of a proxy: http://HOST:PORT is expected, with USER:PASSWORD@ before the host where it asks for them"
            );
        };
        if !matches!(intercept.uri().scheme_str(), Some("http" | "https")) {
            bail!("{name} names a SOCKS proxy, which gate does not speak to: http://HOST:PORT is expected");
        }
        let excepts_all = exceptions.split(',').any(|exception| exception.trim() == "*");
        let intercept = matcher(&exceptions).intercept(&api).filter(|_| !excepts_all);
        Ok(intercept.map(|intercept| Self { intercept, name }))
    }
}

/// A client for the API, which sends nothing yet.
///
/// # Errors
/// When the API's address cannot be one, or no authority is known that could vouch for a server.
pub(super) fn connect(api: &str, token: &Token, proxy: Option<&Proxy>) -> Result<Octocrab> {
    let mut tcp = HttpConnector::new();
    tcp.enforce_http(false);
    tcp.set_connect_timeout(Some(CONNECT));
    let Some(proxy) = proxy else {
        return over(tls()?.https_or_http().enable_http1().wrap_connector(tcp), api, token);
    };
    let to_proxy = tls()?.https_or_http().enable_http1().wrap_connector(tcp);
    let mut tunnel = Tunnel::new(proxy.intercept.uri().clone(), to_proxy);
    if let Some(password) = proxy.intercept.basic_auth() {
        tunnel = tunnel.with_auth(password.clone());
    }
    // The proxy sees where to, and nothing of what is said.
    over(tls()?.https_only().enable_http1().wrap_connector(tunnel), api, token)
}

/// TLS with the authorities of this machine, or of `SSL_CERT_FILE` in their place.
fn tls() -> Result<HttpsConnectorBuilder<hyper_rustls::builderstates::WantsSchemes>> {
    HttpsConnectorBuilder::new()
        .with_native_roots()
        .map_err(|_| match environment::value(AUTHORITIES) {
            Some(path) if path.is_empty() => anyhow!("{AUTHORITIES} is set and empty: name a file of authorities in it, or unset it"),
            Some(path) if files::is_there(path.as_ref()) => anyhow!(
                "{AUTHORITIES}: {}: no authority can be read there: a file of certificates in PEM form is expected",
                plain_line(&path, SHOWN_MAX)
            ),
            Some(path) => anyhow!("{AUTHORITIES}: {}: there is no such file", plain_line(&path, SHOWN_MAX)),
            None => anyhow!("this machine knows no authorities: install ca-certificates, or name a file of them in {AUTHORITIES}"),
        })
}

fn over<C>(connector: HttpsConnector<C>, api: &str, token: &Token) -> Result<Octocrab>
where
    HttpsConnector<C>: Connect + Clone + Send + Sync + 'static,
{
    let base = api.parse().map_err(|_| anyhow!("GITHUB_API_URL is no address"))?;
    let agent = ("user-agent".parse()?, AGENT.parse()?);
    let client = OctocrabBuilder::new_empty()
        .with_service(Client::builder(TokioExecutor::new()).build(connector))
        .with_layer(&BaseUriLayer::new(base))
        .with_layer(&ExtraHeadersLayer::new(Arc::new(vec![agent])))
        .with_auth(AuthState::AccessToken {
            token: token.reveal().into(),
        })
        .build();
    // It cannot fail.
    client.map_err(|never| match never {})
}
