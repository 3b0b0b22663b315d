//! The things of GitHub as its API shows them: whole, so that they can be held against its description.

use serde_json::{Value, json};

/// A moment at which everything here was made.
const THEN: &str = "2026-11-02T10:20:30Z";

const USER_URLS: &str = "avatar events followers following gists html organizations received_events repos starred subscriptions";
const REPOSITORY_URLS: &str = "archive assignees blobs branches collaborators comments commits compare contents contributors deployments \
    downloads events forks git_commits git_refs git_tags hooks html issue_comment issue_events issues keys labels languages merges milestones \
    notifications pulls releases stargazers statuses subscribers subscription tags teams trees clone git mirror ssh svn";
const PULL_URLS: &str = "comments commits diff html issue patch review_comment review_comments statuses";
const LINKS: &str = "comments commits statuses html issue review_comments review_comment self";

/// Adds a made-up address for each of these names.
fn with_urls(mut value: Value, names: &str, base: &str) -> Value {
    for name in names.split_whitespace() {
        let field = format!("{name}_url");
        if value.get(&field).is_none() {
            value[field] = format!("{base}/{name}").into();
        }
    }
    value
}

pub fn user(login: &str) -> Value {
    let kind = if login.ends_with("[bot]") { "Bot" } else { "User" };
    let base = format!("https://github.example/{}", login.trim_end_matches("[bot]"));
    let id = 100 + login.len();
    let user = json!({
        "login": login, "id": id, "node_id": format!("U{id}"), "gravatar_id": "", "type": kind, "site_admin": false, "url": base,
    });
    with_urls(user, USER_URLS, &base)
}

/// The user that a token belongs to.
pub fn own_user(login: &str) -> Value {
    let mut user = user(login);
    let more = json!({
        "name": null, "company": null, "blog": null, "location": null, "email": null, "hireable": null, "bio": null,
        "public_repos": 1, "public_gists": 0, "followers": 0, "following": 0, "created_at": THEN, "updated_at": THEN,
    });
    for (name, value) in more.as_object().unwrap() {
        user[name] = value.clone();
    }
    user
}

fn app(slug: &str) -> Value {
    json!({
        "id": 7, "slug": slug, "node_id": "A7", "owner": user("example-org"), "name": slug, "description": null,
        "external_url": "https://github.example/apps", "html_url": "https://github.example/apps/x",
        "created_at": THEN, "updated_at": THEN, "permissions": {"issues": "write"}, "events": [],
    })
}

pub fn comment(id: u64, number: u64, login: &str, body: &str, minimised: Option<&str>) -> Value {
    let slug = login.strip_suffix("[bot]");
    json!({
        "id": id, "node_id": format!("C{id}"), "url": format!("https://api.github.example/comments/{id}"),
        "html_url": format!("https://github.example/pull/{number}#issuecomment-{id}"),
        "issue_url": format!("https://api.github.example/issues/{number}"),
        "user": user(login), "body": body, "created_at": THEN, "updated_at": THEN,
        "author_association": if slug.is_some() { "NONE" } else { "MEMBER" },
        "performed_via_github_app": slug.map(app), "pin": null,
        "minimized": minimised.map(|reason| json!({"reason": reason})),
    })
}

fn repository(full_name: &str, id: u64) -> Value {
    let (owner, name) = full_name.split_once('/').unwrap();
    let base = format!("https://api.github.example/repos/{full_name}");
    let repository = json!({
        "id": id, "node_id": format!("R{id}"), "name": name, "full_name": full_name, "owner": user(owner), "private": false,
        "description": null, "fork": id != 1, "url": base, "default_branch": "main", "forks": 0, "forks_count": 0,
        "has_downloads": true, "has_issues": true, "has_projects": false, "has_wiki": false, "has_pages": false, "homepage": null,
        "language": null, "archived": false, "disabled": false, "open_issues": 1, "open_issues_count": 1, "license": null,
        "pushed_at": THEN, "size": 1, "stargazers_count": 0, "watchers": 0, "watchers_count": 0, "created_at": THEN, "updated_at": THEN,
        "mirror_url": null,
    });
    with_urls(repository, REPOSITORY_URLS, &base)
}

fn branch(full_name: &str, id: u64, name: &str, sha: &str) -> Value {
    let owner = full_name.split('/').next().unwrap();
    json!({
        "label": format!("{owner}:{name}"), "ref": name, "sha": sha, "user": user(owner), "repo": repository(full_name, id),
    })
}

pub fn pull(number: u64, full_name: &str, head: &str, open: bool, locked: bool) -> Value {
    let base = format!("https://api.github.example/repos/{full_name}/pulls/{number}");
    let links: serde_json::Map<String, Value> = LINKS
        .split_whitespace()
        .map(|name| (name.to_owned(), json!({"href": format!("{base}/{name}")})))
        .collect();
    let pull = json!({
        "url": base, "id": 1000 + number, "node_id": format!("P{number}"), "number": number, "locked": locked, "title": "A change",
        "state": if open { "open" } else { "closed" }, "user": user("octavia"), "body": null, "labels": [], "milestone": null,
        "created_at": THEN, "updated_at": THEN, "closed_at": if open { Value::Null } else { THEN.into() }, "merged_at": null,
        "merge_commit_sha": null, "assignee": null, "head": branch(full_name, 1, "change", head),
        "base": branch(full_name, 1, "main", &"0".repeat(40)), "_links": links, "author_association": "MEMBER", "auto_merge": null,
        "additions": 1, "deletions": 1, "changed_files": 1, "commits": 1, "comments": 0, "review_comments": 0, "mergeable": true,
        "mergeable_state": "clean", "merged": false, "merged_by": null, "maintainer_can_modify": false,
    });
    with_urls(pull, PULL_URLS, &base)
}

pub fn status(id: u64, login: &str, asked: &Value) -> Value {
    json!({
        "url": format!("https://api.github.example/statuses/{id}"), "avatar_url": null, "id": id, "node_id": format!("S{id}"),
        "state": asked["state"], "description": asked["description"], "target_url": asked["target_url"], "context": asked["context"],
        "created_at": THEN, "updated_at": THEN, "creator": user(login),
    })
}

/// A check run from what was asked for, with so many annotations by now.
pub fn check_run(id: u64, slug: &str, asked: &Value, annotations: usize) -> Value {
    json!({
        "id": id, "node_id": format!("K{id}"), "head_sha": asked["head_sha"], "name": asked["name"],
        "url": format!("https://api.github.example/check-runs/{id}"), "html_url": format!("https://github.example/runs/{id}"),
        "details_url": asked["details_url"], "external_id": "", "status": asked["status"], "conclusion": asked["conclusion"],
        "started_at": THEN, "completed_at": THEN, "check_suite": {"id": 5}, "app": app(slug), "pull_requests": [],
        "output": {
            "title": asked["output"]["title"], "summary": asked["output"]["summary"], "text": null, "annotations_count": annotations,
            "annotations_url": format!("https://api.github.example/check-runs/{id}/annotations"),
        },
    })
}
