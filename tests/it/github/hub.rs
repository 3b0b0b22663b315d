//! A GitHub of one repository, on the loopback address: it remembers what it is told, and can be made to fail.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, TryLockError};
use std::time::{Duration, Instant};

use gate::edge::github::{Client, Settings, Token};
use gate::model::github::{Draft, Job, Key, Marker, Origin, Pull, Repository, Run};
use rustls::ServerConfig;
use serde_json::{Value, json};

use super::contract;
use super::http::{Ending, Request, Response, serve};

/// The repository's name.
pub const REPOSITORY: &str = "example-org/engine";
/// The pull request that is open.
pub const PULL: u64 = 12;
/// The token of a workflow's job.
pub const TOKEN: &str = "ghs_0123456789abcdefThisIsSecret";
/// The author of what it writes.
pub const BOT: &str = "github-actions[bot]";
/// The token of a person.
pub const PERSONAL: &str = "ghp_0123456789abcdefThisIsSecret";
/// The person.
pub const PERSON: &str = "octavia";

/// The commit at the head of the pull request.
pub fn head() -> String {
    "1a2b3c4d".repeat(5)
}

/// Somebody whose token is known.
#[derive(Debug, Clone)]
pub struct Actor {
    pub login: String,
    /// What it may write: `issues`, `statuses`, `checks`.
    pub writes: Vec<&'static str>,
}

#[derive(Debug, Clone)]
pub struct Comment {
    pub id: u64,
    pub number: u64,
    pub login: String,
    pub body: String,
    /// Why somebody minimised it, where somebody did.
    pub minimised: Option<&'static str>,
}

/// A check run with what was asked for and the annotations that it has.
#[derive(Debug, Clone)]
pub struct CheckRun {
    pub id: u64,
    pub asked: Value,
    pub annotations: Vec<Value>,
}

/// What happens in place of, or around, a request.
pub enum Fault {
    /// Nothing is done, and this is answered.
    Answer(Response),
    /// It is done, and this is answered.
    Done(Response),
    /// Nothing is done, and the connection closed.
    Hangup,
    /// It is done, and the connection closed.
    DoneHangup,
    /// Nothing is done, and nothing answered for so long.
    Silence(Duration),
    /// Something else happens first.
    Meanwhile(Box<dyn FnOnce(&mut World) + Send>),
}

struct Planned {
    method: &'static str,
    /// A part of the path.
    path: &'static str,
    fault: Fault,
}

/// Everything that this GitHub knows.
pub struct World {
    pub actors: BTreeMap<String, Actor>,
    /// The heads of the pull requests, and whether each is open and locked.
    pub pulls: BTreeMap<u64, (String, bool, bool)>,
    /// The open pull requests as they are listed.
    pub listed: Vec<Value>,
    /// The paths that every pull request changes.
    pub files: Vec<String>,
    pub comments: Vec<Comment>,
    /// Statuses with their commit, in the order in which they were set.
    pub statuses: Vec<(String, Value)>,
    pub checks: Vec<CheckRun>,
    /// The new name of the repository, where it has one.
    pub renamed: Option<String>,
    /// The path of the address.
    pub prefix: &'static str,
    /// Where this GitHub is.
    pub address: String,
    /// Every request with the status of its answer.
    pub log: Vec<String>,
    faults: Vec<Planned>,
    objections: Vec<String>,
    next: u64,
}

impl World {
    fn new(prefix: &'static str) -> Self {
        let actor = |login: &str| Actor {
            login: login.to_owned(),
            writes: vec!["issues", "statuses", "checks"],
        };
        Self {
            actors: BTreeMap::from([(TOKEN.to_owned(), actor(BOT)), (PERSONAL.to_owned(), actor(PERSON))]),
            pulls: BTreeMap::from([(PULL, (head(), true, false))]),
            listed: Vec::new(),
            files: Vec::new(),
            comments: Vec::new(),
            statuses: Vec::new(),
            checks: Vec::new(),
            renamed: None,
            prefix,
            address: String::new(),
            log: Vec::new(),
            faults: Vec::new(),
            objections: Vec::new(),
            next: 500,
        }
    }

    pub fn next(&mut self) -> u64 {
        self.next += 1;
        self.next
    }

    /// Somebody comments; gives the comment's number.
    pub fn comments(&mut self, login: &str, body: &str) -> u64 {
        let id = self.next();
        self.comments.push(Comment {
            id,
            number: PULL,
            login: login.to_owned(),
            body: body.to_owned(),
            minimised: None,
        });
        id
    }

    /// A maintainer minimises a comment, on the page: the API has no request for it.
    pub fn minimise(&mut self, id: u64, reason: &'static str) {
        let comment = self.comments.iter_mut().find(|comment| comment.id == id);
        comment.expect("it is there").minimised = Some(reason);
    }

    /// So many comments of others.
    pub fn chatter(&mut self, count: usize) {
        for n in 0..count {
            self.comments("reviewer", &format!("remark {n}"));
        }
    }

    /// The next request with this method whose path holds `path` meets this, once.
    pub fn fails(&mut self, method: &'static str, path: &'static str, fault: Fault) {
        self.faults.push(Planned { method, path, fault });
    }

    /// What was answered so far was meant to be against the descriptions.
    pub fn forgive(&mut self) {
        assert!(
            self.objections
                .iter()
                .all(|one| one.contains("the answer") || one.contains("an answer")),
            "{:?}",
            self.objections
        );
        self.objections.clear();
    }

    fn planned(&mut self, request: &Request) -> Option<Fault> {
        let hit = |planned: &Planned| planned.method == request.method && request.path.contains(planned.path);
        let at = self.faults.iter().position(hit)?;
        Some(self.faults.remove(at).fault)
    }

    fn note(&mut self, request: &Request, path: &str, ending: &Ending) {
        let status = match ending {
            Ending::Answer(response) => response.status.to_string(),
            Ending::Hangup => "hang-up".to_owned(),
            Ending::Silence(_) => "silence".to_owned(),
        };
        let query: Vec<String> = request.query.iter().map(|(name, value)| format!("{name}={value}")).collect();
        let query = if query.is_empty() {
            String::new()
        } else {
            format!("?{}", query.join("&"))
        };
        self.log.push(format!("{} {path}{query} {status}", request.method));
        // A request without an answer is held against the descriptions with a refusal that is always allowed.
        let unanswered = Response::json(500, json!({"message": "none"}));
        let response = if let Ending::Answer(response) = ending {
            response
        } else {
            &unanswered
        };
        let path = path.replacen("/repositories/1/", &format!("/repos/{REPOSITORY}/"), 1);
        self.objections.extend(contract::objections(&path, request, response));
    }

    fn meet(&mut self, request: &Request) -> Ending {
        let path = request.path.strip_prefix(self.prefix).unwrap_or("/outside-of-the-api").to_owned();
        let ending = match self.planned(request) {
            Some(Fault::Answer(response)) => Ending::Answer(response),
            Some(Fault::Hangup) => Ending::Hangup,
            Some(Fault::Silence(time)) => Ending::Silence(time),
            Some(Fault::Done(response)) => {
                self.serve(&path, request);
                Ending::Answer(response)
            }
            Some(Fault::DoneHangup) => {
                self.serve(&path, request);
                Ending::Hangup
            }
            Some(Fault::Meanwhile(happens)) => {
                happens(self);
                Ending::Answer(self.serve(&path, request))
            }
            None => Ending::Answer(self.serve(&path, request)),
        };
        self.note(request, &path, &ending);
        ending
    }
}

/// A running GitHub. When it goes, nothing may have been asked or answered that the descriptions do not allow.
pub struct Hub(Arc<Mutex<World>>);

impl Hub {
    pub fn new() -> Self {
        Self::below("")
    }

    /// One whose API has a path of its own, as that of an Enterprise Server has.
    pub fn below(prefix: &'static str) -> Self {
        let (hub, address) = Self::serving(prefix, None);
        hub.world().address = format!("http://{address}{prefix}");
        hub
    }

    /// One that is asked over TLS, by a name.
    pub fn over_tls(prefix: &'static str, name: &str, config: ServerConfig) -> Self {
        let (hub, address) = Self::serving(prefix, Some(Arc::new(config)));
        let (_, port) = address.rsplit_once(':').expect("a port");
        hub.world().address = format!("https://{name}:{port}{prefix}");
        hub
    }

    fn serving(prefix: &'static str, tls: Option<Arc<ServerConfig>>) -> (Self, String) {
        let world = Arc::new(Mutex::new(World::new(prefix)));
        let shared = Arc::clone(&world);
        let address = serve(move |request| shared.lock().unwrap().meet(&request), tls);
        (Self(world), address)
    }

    /// One look at it, or one change. Two in one statement would wait for each other, which is said.
    pub fn world(&self) -> MutexGuard<'_, World> {
        let begun = Instant::now();
        loop {
            match self.0.try_lock() {
                Ok(world) => return world,
                Err(TryLockError::WouldBlock) => assert!(begun.elapsed() < Duration::from_secs(60), "two looks in one statement"),
                Err(TryLockError::Poisoned(error)) => panic!("{error}"),
            }
            std::thread::sleep(Duration::from_millis(1));
        }
    }

    /// Every request with the status of its answer.
    pub fn log(&self) -> Vec<String> {
        self.world().log.clone()
    }

    /// How many requests began with these words.
    pub fn count(&self, words: &str) -> usize {
        self.log().iter().filter(|line| line.starts_with(words)).count()
    }

    /// Every comment that begins with a marker.
    pub fn marked(&self) -> Vec<Comment> {
        let world = self.world();
        let marked = world.comments.iter().filter(|comment| comment.body.starts_with("<!-- gate:"));
        marked.cloned().collect()
    }

    /// The text of the only comment that begins with a marker.
    #[track_caller]
    pub fn only(&self) -> String {
        let marked = self.marked();
        assert_eq!(marked.len(), 1, "{marked:?}");
        marked[0].body.clone()
    }

    pub fn address(&self) -> String {
        self.world().address.clone()
    }

    pub fn settings(&self) -> Settings {
        Settings {
            api: self.address(),
            token: Token::new("GITHUB_TOKEN", TOKEN).unwrap(),
            author: None,
            proxy: None,
            budget: Duration::from_secs(30),
            backoff: Duration::from_millis(5),
            pause: Duration::ZERO,
        }
    }

    pub fn client(&self) -> Client {
        Client::new(self.settings()).unwrap()
    }
}

impl Drop for Hub {
    fn drop(&mut self) {
        if !std::thread::panicking() {
            let objections = &self.world().objections;
            assert!(objections.is_empty(), "against the description:\n{}", objections.join("\n"));
        }
    }
}

/// The job of the pull request's own run.
pub fn job() -> Job {
    Job {
        repository: Repository::parse(REPOSITORY).unwrap(),
        event: "pull_request".to_owned(),
        pull: Some(Pull {
            number: PULL,
            origin: Origin::Same,
            dependabot: false,
        }),
        head: head(),
        run: run(7, 1),
        server: "https://github.example".to_owned(),
    }
}

pub fn run(number: u64, attempt: u32) -> Run {
    Run {
        number,
        attempt,
        id: 9000 + number,
    }
}

/// What a run has to say.
pub fn draft(number: u64, attempt: u32, body: &str) -> Draft {
    Draft {
        marker: Marker {
            key: Key::parse("default").unwrap(),
            run: run(number, attempt),
            head: head(),
            before: None,
        },
        body: body.to_owned(),
        may_create: true,
    }
}
