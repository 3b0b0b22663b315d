//! Requests to GitHub's API, one after the other, within one time for all of them together.

use std::cell::Cell;
use std::error::Error as _;
use std::fmt;
use std::future::Future;
use std::net::IpAddr;
use std::time::Duration;

use anyhow::{Context as _, Result, bail};
use http_body_util::{BodyExt as _, Limited};
use octocrab::Octocrab;
use serde::de::DeserializeOwned;
use serde_json::Value;
use tokio::runtime::{Builder, Runtime};

use super::answer::{Answer, Headers};
use super::connection::{Proxy, connect};
use super::policy::{self, Ended, Next};
use super::refusal::{Failure, Reason, Refused};
use super::token::Token;
use crate::edge::clock::{self, Deadline, Stopwatch};
use crate::edge::environment;
use crate::model::text::plain_line;

/// The API where `GITHUB_API_URL` names none.
const PUBLIC_API: &str = "https://api.github.com";
/// Longest wait for one whole answer.
const ANSWER: Duration = Duration::from_secs(30);
/// Largest answer: a page of 100 comments of the greatest length, each character escaped, is smaller.
const ANSWER_MAX_BYTES: usize = 64 << 20;
/// Most redirects that a reading request follows.
const REDIRECTS_MAX: u32 = 3;
/// Longest text of an error that is shown, in characters.
const SHOWN_MAX: usize = 300;

/// Signs of a connection that would be refused again.
const BARRED: [&str; 2] = ["invalid peer certificate", "proxy authorization required"];
/// What is told beside the words of a broken connection that hold a sign.
const HINTS: [(&str, &str); 3] = [
    (
        "UnknownIssuer",
        ". Nobody that is trusted here vouches for this server: name a file with the certificate of its authority, in PEM form, in SSL_CERT_FILE",
    ),
    (
        "CaUsedAsEndEntity",
        ". The server shows the certificate of an authority as its own: let the authority sign one for the server",
    ),
    (
        "proxy authorization required",
        ". The proxy asks who it is: put USER:PASSWORD@ before its host",
    ),
];

/// Where and how GitHub is asked.
#[derive(Debug, Clone)]
pub struct Settings {
    /// The address of the API, with its path.
    pub api: String,
    /// The token.
    pub token: Token,
    /// The login that comments are made under, where the token cannot tell.
    pub author: Option<String>,
    /// The proxy that leads to the API; none where it is asked directly.
    pub proxy: Option<Proxy>,
    /// The time for all requests together, waits included.
    pub budget: Duration,
    /// The first wait after a hiccup; it doubles with each further one.
    pub backoff: Duration,
    /// The least time between two requests that change something.
    pub pause: Duration,
}

impl Settings {
    /// What this job's environment says: `GITHUB_API_URL`, the token, `GATE_COMMENT_AUTHOR`, `HTTPS_PROXY`. None where there is no token.
    ///
    /// # Errors
    /// When a variable holds what it cannot mean.
    pub fn of_this_job(budget: Duration) -> Result<Option<Self>> {
        let set = |name| environment::value(name).filter(|value| !value.is_empty());
        let Some(token) = Token::of_this_job()? else { return Ok(None) };
        let api = set("GITHUB_API_URL").unwrap_or_else(|| PUBLIC_API.to_owned());
        Ok(Some(Self {
            proxy: Proxy::of_this_job(&api)?,
            api,
            token,
            author: set("GATE_COMMENT_AUTHOR"),
            budget,
            backoff: Duration::from_secs(1),
            pause: Duration::from_secs(1),
        }))
    }
}

/// One request to be made.
#[derive(Debug, Clone, Copy)]
pub(super) struct Ask<'a> {
    /// `GET`, `POST`, `PATCH` or `DELETE`.
    pub method: &'static str,
    /// The path below the API's address.
    pub path: &'a str,
    /// The body.
    pub body: Option<&'a Value>,
    /// What is to be done, after "to".
    pub doing: &'a str,
}

/// A connection to the API.
pub struct Client {
    /// None once it is closed.
    runtime: Option<Runtime>,
    crab: Octocrab,
    api: String,
    pub(super) token: Token,
    pub(super) author: Option<String>,
    proxy: Option<Proxy>,
    budget: Duration,
    backoff: Duration,
    pause: Duration,
    deadline: Deadline,
    changed: Cell<Option<Stopwatch>>,
}

impl fmt::Debug for Client {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.debug_struct("Client").field("api", &self.api).finish_non_exhaustive()
    }
}

impl Drop for Client {
    fn drop(&mut self) {
        // A name that is still being resolved is not waited for.
        if let Some(runtime) = self.runtime.take() {
            runtime.shutdown_background();
        }
    }
}

impl Client {
    /// A client with what this job's environment says; nothing is sent yet.
    ///
    /// # Errors
    /// When there is no token, or a variable holds what it cannot mean.
    pub fn of_this_job(budget: Duration) -> Result<Self> {
        let settings = Settings::of_this_job(budget)?;
        Self::new(settings.context("there is no token: hand on `GITHUB_TOKEN: ${{ github.token }}` in the step's env")?)
    }

    /// A client; nothing is sent yet.
    ///
    /// # Errors
    /// When the API's address cannot be one, or this machine knows no authorities to trust.
    pub fn new(settings: Settings) -> Result<Self> {
        let Settings {
            api,
            token,
            author,
            proxy,
            budget,
            backoff,
            pause,
        } = settings;
        let api = address(&api)?;
        let runtime = Builder::new_current_thread()
            .enable_all()
            .build()
            .context("cannot start what the network needs")?;
        let crab = {
            // Without a runtime around it octocrab panics.
            let _inside = runtime.enter();
            connect(&api, &token, proxy.as_ref())?
        };
        Ok(Self {
            runtime: Some(runtime),
            crab,
            api,
            token,
            author,
            proxy,
            budget,
            backoff,
            pause,
            deadline: Deadline::after(budget),
            changed: Cell::new(None),
        })
    }

    /// The name of the variable that the token came from.
    pub const fn token_name(&self) -> &'static str {
        self.token.name
    }

    /// Reads; hiccups and limits are sat out, redirects within the API followed.
    pub(super) fn get(&self, path: &str, doing: &str) -> Result<Answer, Failure> {
        let mut path = path.to_owned();
        for _ in 0..REDIRECTS_MAX {
            let ask = Ask {
                method: "GET",
                path: &path,
                body: None,
                doing,
            };
            match self.repeat(ask) {
                Err(failure) => match self.redirected(&failure) {
                    Some(to) => path = to,
                    None => return Err(failure),
                },
                done => return done,
            }
        }
        Err(self.failure(doing, Reason::Odd(format!("more than {REDIRECTS_MAX} redirects")), 1, None))
    }

    /// Reads a value.
    pub(super) fn read<T: DeserializeOwned>(&self, path: &str, doing: &str) -> Result<T, Failure> {
        self.value(&self.get(path, doing)?, doing)
    }

    /// Makes a request that may be made several times with the effect of one; hiccups and limits are sat out.
    pub(super) fn repeat(&self, ask: Ask<'_>) -> Result<Answer, Failure> {
        let mut tries = 1;
        loop {
            match self.once(ask, tries) {
                Err(Failure { again: Some(wait), .. }) => self.wait(wait),
                ended => return ended,
            }
            tries += 1;
        }
    }

    /// Makes a request once. A failure says whether and when it may be made again.
    pub(super) fn once(&self, ask: Ask<'_>, tries: u32) -> Result<Answer, Failure> {
        let left = self.deadline.left();
        if left.is_zero() {
            return Err(self.failure(ask.doing, Reason::Late(self.budget), tries, None));
        }
        if ask.method != "GET" {
            self.keep_apart();
        }
        let answered = self.send(ask, left.min(ANSWER));
        let ended = match &answered {
            Err(why) if BARRED.iter().any(|sign| why.contains(sign)) => Ended::Barred,
            Err(_) => Ended::Unanswered,
            Ok(answer) => Ended::Answered {
                status: answer.status,
                limited: answer.limits(),
                wait: answer.wait(clock::epoch_s()),
            },
        };
        let again = policy::next(ended, tries, self.deadline.left(), self.backoff);
        let reason = match (answered, again) {
            (Ok(answer), Next::Take) if answer.is_good() => return Ok(answer),
            (_, Next::Later(wait)) => Reason::Limited(wait),
            (Ok(answer), _) => Reason::Answered(Box::new(Refused::from(&answer))),
            (Err(why), _) => Reason::Unanswered(why),
        };
        let again = match again {
            Next::Again(wait) => Some(wait),
            Next::Take | Next::Enough | Next::Later(_) => None,
        };
        Err(self.failure(ask.doing, reason, tries, again))
    }

    /// The value in an answer.
    pub(super) fn value<T: DeserializeOwned>(&self, answer: &Answer, doing: &str) -> Result<T, Failure> {
        serde_json::from_slice(&answer.body).map_err(|error| {
            let words = if error.is_data() { error.to_string() } else { answer.says() };
            self.failure(doing, Reason::Odd(words), 1, None)
        })
    }

    /// Waits; time that is waited is time that was used.
    pub(super) fn wait(&self, wait: Duration) {
        // Jobs that were limited together do not come back together.
        std::thread::sleep(wait + self.backoff.mul_f64(clock::scatter() / 4.0));
    }

    /// A failure in whose words the token is not to be read.
    pub(super) fn failure(&self, doing: &str, reason: Reason, tries: u32, again: Option<Duration>) -> Failure {
        // Once more afterwards: characters that are not seen may have parted it.
        let hidden = |text: String| self.token.hide(&plain_line(&self.token.hide(&text), SHOWN_MAX));
        let reason = match reason {
            Reason::Answered(refused) => Reason::Answered(Box::new(refused.map(|text| self.token.hide(&text)))),
            Reason::Unanswered(why) => Reason::Unanswered(hidden(why)),
            Reason::Odd(why) => Reason::Odd(hidden(why)),
            other @ (Reason::Limited(_) | Reason::Late(_)) => other,
        };
        Failure {
            doing: doing.to_owned(),
            reason,
            tries,
            again,
        }
    }

    /// GitHub asks for a pause between two requests that change something.
    fn keep_apart(&self) {
        if let Some(last) = self.changed.get() {
            std::thread::sleep(self.pause.saturating_sub(Duration::from_secs_f64(last.elapsed_s())));
        }
        self.changed.set(Some(Stopwatch::start()));
    }

    /// Where a redirect leads to, below the API's address; none where it is none, or leads elsewhere.
    fn redirected(&self, failure: &Failure) -> Option<String> {
        let Reason::Answered(refused) = &failure.reason else { return None };
        let to = refused.redirects()?.strip_prefix(&self.api)?;
        to.starts_with('/').then(|| to.to_owned())
    }

    fn send(&self, ask: Ask<'_>, limit: Duration) -> Result<Answer, String> {
        let Some(runtime) = &self.runtime else {
            return Err("the connection is closed".to_owned());
        };
        let exchange = async {
            let begun = match ask.method {
                "POST" => self.crab._post(ask.path, ask.body).await,
                "PATCH" => self.crab._patch(ask.path, ask.body).await,
                "DELETE" => self.crab._delete(ask.path, ask.body).await,
                _ => self.crab._get(ask.path).await,
            };
            let response = begun.map_err(|error| chain(&error))?;
            let status = response.status().as_u16();
            let headers = response.headers();
            let get = |name: &str| {
                headers
                    .get(name)
                    .map(|value| String::from_utf8_lossy(value.as_bytes()).into_owned())
            };
            let headers = Headers::read(get);
            let body = Limited::new(response.into_body(), ANSWER_MAX_BYTES).collect().await;
            let body = body.map_err(|error| format!("the answer broke off: {error}"))?.to_bytes().to_vec();
            Ok(Answer {
                status,
                headers,
                body: self.token.hide_in(body),
            })
        };
        let ended = runtime.block_on(async { within(limit, exchange).await });
        ended.map_err(|why| self.with_hint(why))
    }

    /// Adds to a broken connection where it was to lead, and what it often comes from.
    fn with_hint(&self, why: String) -> String {
        let hint = HINTS.iter().find(|(sign, _)| why.contains(sign)).map_or("", |(_, hint)| hint);
        let through = self.proxy.as_ref().map_or_else(String::new, |proxy| format!(", through {proxy}"));
        format!("{why} ({}{through}){hint}", self.api)
    }
}

async fn within<T>(limit: Duration, exchange: impl Future<Output = Result<T, String>>) -> Result<T, String> {
    match tokio::time::timeout(limit, exchange).await {
        Ok(ended) => ended,
        Err(_) => Err(format!("no whole answer within {:.0} s", limit.as_secs_f64())),
    }
}

/// The words of an error and of all that caused it; the first are the client's own and say nothing.
fn chain(error: &octocrab::Error) -> String {
    let mut words = Vec::new();
    let mut cause = error.source();
    while let Some(error) = cause {
        let text = error.to_string();
        if words.last() != Some(&text) {
            words.push(text);
        }
        cause = error.source();
    }
    if words.is_empty() { error.to_string() } else { words.join(": ") }
}

/// The API's address without a slash at its end; its path is kept.
///
/// A token goes over TLS only, save to this machine.
fn address(text: &str) -> Result<String> {
    let text = text.trim().trim_end_matches('/');
    let (scheme, rest) = text.split_once("://").unwrap_or_default();
    let authority = rest.split('/').next().unwrap_or_default();
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-._~:/[]%".contains(&byte);
    if !matches!(scheme, "https" | "http") || authority.is_empty() || !rest.bytes().all(plain) {
        bail!(
            "GITHUB_API_URL is no address of an API: https://HOST or https://HOST/api/v3 is expected, without a name, a password or a query"
        );
    }
    if scheme == "http" && !is_this_machine(authority) {
        bail!("GITHUB_API_URL is http://{authority}: a token is sent over https:// only");
    }
    Ok(text.to_owned())
}

/// Whether an authority, with or without a port, names this machine and nothing else.
fn is_this_machine(authority: &str) -> bool {
    let host = match authority.rsplit_once(':') {
        Some((host, port)) if port.bytes().all(|digit| digit.is_ascii_digit()) => host,
        _ => authority,
    };
    let bare = host.trim_start_matches('[').trim_end_matches(']');
    host == "localhost" || bare.parse().is_ok_and(|address: IpAddr| address.is_loopback())
}
