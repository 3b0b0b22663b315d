//! What this GitHub does when all goes well, and what it refuses.

use serde_json::{Value, json};

use super::http::{Request, Response};
use super::hub::{Actor, BOT, CheckRun, Comment, REPOSITORY, World};
use super::things;

/// Longest body of a comment, in characters.
const COMMENT_MAX: usize = 65_536;

fn refusal(status: u16, message: &str) -> Response {
    Response::json(
        status,
        json!({"message": message, "documentation_url": "https://docs.github.example", "status": status.to_string()}),
    )
}

/// The refusal of a token that is not allowed to, as GitHub words it for each kind of token.
fn forbidden(actor: &Actor, permissions: &str) -> Response {
    let kind = if actor.login == BOT {
        "integration"
    } else {
        "personal access token"
    };
    refusal(403, &format!("Resource not accessible by {kind}")).with("x-accepted-github-permissions", permissions)
}

impl World {
    pub(super) fn serve(&mut self, path: &str, request: &Request) -> Response {
        let token = request.authorization.as_deref().and_then(|header| header.strip_prefix("Bearer "));
        let Some(actor) = token.and_then(|token| self.actors.get(token)).cloned() else {
            return refusal(401, "Bad credentials");
        };
        if path == "/user" {
            return match actor.login.ends_with("[bot]") {
                true => refusal(403, "Resource not accessible by integration"),
                false => Response::json(200, things::own_user(&actor.login)),
            };
        }
        if let Some(moved) = self.moved(path, request) {
            return moved;
        }
        let name = self.renamed.as_deref().unwrap_or(REPOSITORY);
        let below = path
            .strip_prefix(&format!("/repos/{name}/"))
            .or(path.strip_prefix("/repositories/1/"));
        let Some(below) = below else { return refusal(404, "Not Found") };
        let parts: Vec<&str> = below.split('/').collect();
        match (request.method.as_str(), parts.as_slice()) {
            ("GET", ["pulls"]) => self.pulls_of(request),
            ("GET", ["pulls", number]) => self.pull(number),
            ("GET", ["pulls", _, "files"]) => self.files(),
            ("GET", ["issues", number, "comments"]) => self.list(below, number, request),
            ("POST", ["issues", number, "comments"]) => self.create(number, &actor, request),
            ("PATCH", ["issues", "comments", id]) => self.update(id, &actor, request),
            ("DELETE", ["issues", "comments", id]) => self.delete(id, &actor),
            ("POST", ["statuses", sha]) => self.status(sha, &actor, request),
            ("POST", ["check-runs"]) => self.check(&actor, request),
            ("PATCH", ["check-runs", id]) => self.annotate(id, request),
            ("GET", ["check-runs", id]) => self
                .run_of(id)
                .map_or_else(|| refusal(404, "Not Found"), |run| Response::json(200, shown(run))),
            ("GET", ["commits", sha, "check-runs"]) => self.checks_on(sha, request),
            _ => refusal(404, "Not Found"),
        }
    }

    /// Where the repository is now, for who asks by its old name.
    fn moved(&self, path: &str, request: &Request) -> Option<Response> {
        self.renamed.as_ref()?;
        let below = path.strip_prefix(&format!("/repos/{REPOSITORY}/"))?;
        let query: Vec<String> = request.query.iter().map(|(name, value)| format!("{name}={value}")).collect();
        let to = format!("{}/repositories/1/{below}?{}", self.address, query.join("&"));
        let status = if request.method == "GET" { 301 } else { 307 };
        Some(refusal(status, "Moved Permanently").with("location", &to))
    }

    fn pull(&self, number: &str) -> Response {
        let Some((number, (head, open, locked))) = number.parse().ok().and_then(|number| Some((number, self.pulls.get(&number)?))) else {
            return refusal(404, "Not Found");
        };
        Response::json(200, things::pull(number, REPOSITORY, head, *open, *locked))
    }

    /// The open pull requests of a branch, named `owner:branch`.
    fn pulls_of(&self, request: &Request) -> Response {
        let (owner, branch) = request
            .query("head")
            .and_then(|head| head.split_once(':'))
            .expect("a branch is asked for");
        let is_of = |pull: &&Value| {
            let head = &pull["head"];
            let name = head["repo"]["full_name"].as_str().unwrap_or_default();
            head["ref"] == branch && name.split('/').next() == Some(owner)
        };
        Response::json(200, self.listed.iter().filter(is_of).cloned().collect::<Vec<Value>>().into())
    }

    fn files(&self) -> Response {
        let file = |name: &String| json!({ "filename": name, "status": "modified" });
        Response::json(200, self.files.iter().map(file).collect::<Vec<Value>>().into())
    }

    fn list(&self, below: &str, number: &str, request: &Request) -> Response {
        let asked = |name: &str, default: usize| request.query(name).map_or(default, |text| text.parse().unwrap());
        let (page, per_page) = (asked("page", 1), asked("per_page", 30).min(100));
        let all: Vec<Value> = self
            .comments
            .iter()
            .filter(|comment| comment.number.to_string() == number)
            .map(json_of)
            .collect();
        let shown: Vec<Value> = all.iter().skip((page - 1) * per_page).take(per_page).cloned().collect();
        let response = Response::json(200, shown.into());
        if page * per_page >= all.len() {
            return response;
        }
        let link = |page: usize, rel: &str| {
            format!(
                "<{}/repositories/1/{below}?per_page={per_page}&page={page}>; rel=\"{rel}\"",
                self.address
            )
        };
        let last = all.len().div_ceil(per_page);
        response.with("link", &format!("{}, {}", link(page + 1, "next"), link(last, "last")))
    }

    /// Why somebody may not write a comment with this text.
    fn may_not(&self, number: u64, actor: &Actor, body: &str) -> Option<Response> {
        if !actor.writes.contains(&"issues") {
            return Some(forbidden(actor, "issues=write; pull_requests=write"));
        }
        let (_, _, locked) = self.pulls.get(&number)?;
        if *locked {
            return Some(refusal(403, "Unable to create comment because issue is locked."));
        }
        (body.chars().count() > COMMENT_MAX).then(|| {
            let error = json!({"resource": "IssueComment", "code": "custom", "field": "body",
                "message": format!("body is too long (maximum is {COMMENT_MAX} characters)")});
            Response::json(
                422,
                json!({"message": "Validation Failed", "errors": [error], "documentation_url": "https://docs.github.example"}),
            )
        })
    }

    fn create(&mut self, number: &str, actor: &Actor, request: &Request) -> Response {
        let Some(number) = number.parse().ok().filter(|number| self.pulls.contains_key(number)) else {
            return refusal(404, "Not Found");
        };
        let body = body_of(request);
        if let Some(refused) = self.may_not(number, actor, &body) {
            return refused;
        }
        let comment = Comment {
            id: self.next(),
            number,
            login: actor.login.clone(),
            body,
            minimised: None,
        };
        self.comments.push(comment.clone());
        Response::json(201, json_of(&comment)).with("location", "https://api.github.example/comments/1")
    }

    fn update(&mut self, id: &str, actor: &Actor, request: &Request) -> Response {
        let body = body_of(request);
        let Some(at) = self.place(id) else {
            return refusal(404, "Not Found");
        };
        if let Some(refused) = self.may_not(self.comments[at].number, actor, &body) {
            return refused;
        }
        self.comments[at].body = body;
        Response::json(200, json_of(&self.comments[at]))
    }

    fn delete(&mut self, id: &str, actor: &Actor) -> Response {
        match self.place(id) {
            Some(_) if !actor.writes.contains(&"issues") => forbidden(actor, "issues=write; pull_requests=write"),
            Some(at) => {
                self.comments.remove(at);
                Response {
                    status: 204,
                    ..Response::default()
                }
            }
            None => refusal(404, "Not Found"),
        }
    }

    fn place(&self, id: &str) -> Option<usize> {
        self.comments.iter().position(|comment| comment.id.to_string() == id)
    }

    fn status(&mut self, sha: &str, actor: &Actor, request: &Request) -> Response {
        if !actor.writes.contains(&"statuses") {
            return forbidden(actor, "statuses=write");
        }
        let asked = request.body.clone().unwrap_or_default();
        let status = things::status(self.next(), &actor.login, &asked);
        self.statuses.push((sha.to_owned(), asked));
        Response::json(201, status).with("location", "https://api.github.example/statuses/1")
    }

    fn check(&mut self, actor: &Actor, request: &Request) -> Response {
        if actor.login != BOT {
            return refusal(403, "You must authenticate via a GitHub App.");
        }
        if !actor.writes.contains(&"checks") {
            return forbidden(actor, "checks=write");
        }
        let asked = request.body.clone().unwrap_or_default();
        let run = CheckRun {
            id: self.next(),
            annotations: annotations(&asked),
            asked,
        };
        let response = Response::json(201, shown(&run));
        self.checks.push(run);
        response
    }

    fn annotate(&mut self, id: &str, request: &Request) -> Response {
        let more = annotations(request.body.as_ref().unwrap_or(&Value::Null));
        let Some(run) = self.checks.iter_mut().find(|run| run.id.to_string() == id) else {
            return refusal(404, "Not Found");
        };
        run.annotations.extend(more);
        Response::json(200, shown(run))
    }

    fn run_of(&self, id: &str) -> Option<&CheckRun> {
        self.checks.iter().find(|run| run.id.to_string() == id)
    }

    fn checks_on(&self, sha: &str, request: &Request) -> Response {
        let named =
            |run: &&CheckRun| run.asked["head_sha"] == sha && request.query("check_name").is_none_or(|name| run.asked["name"] == name);
        // The newest of a name is shown.
        let newest: Vec<Value> = self.checks.iter().rev().filter(named).take(1).map(shown).collect();
        Response::json(200, json!({"total_count": newest.len(), "check_runs": newest}))
    }
}

fn body_of(request: &Request) -> String {
    let body = request.body.as_ref().and_then(|body| body["body"].as_str());
    body.unwrap_or_default().to_owned()
}

fn json_of(comment: &Comment) -> Value {
    things::comment(comment.id, comment.number, &comment.login, &comment.body, comment.minimised)
}

fn annotations(asked: &Value) -> Vec<Value> {
    asked["output"]["annotations"].as_array().cloned().unwrap_or_default()
}

fn shown(run: &CheckRun) -> Value {
    things::check_run(run.id, "github-actions", &run.asked, run.annotations.len())
}
