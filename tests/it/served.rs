//! A client against a server that is started for it.

use std::ffi::OsString;
use std::path::Path;
use std::time::Duration;

use crate::alone::alone;
use gate::edge::endpoint::{answers, free_port};
use gate::edge::process::{Environment, Exit, Launch, become_subreaper, run_served};

const SERVER: &str = "import http.server,sys\nprint('hello from the server',flush=True)\nhttp.server.HTTPServer(('127.0.0.1',int(sys.argv[1])),type('H',(http.server.BaseHTTPRequestHandler,),{'do_GET':lambda s:(s.send_response(200),s.end_headers(),s.wfile.write(b'ok'))})).serve_forever()\n";
const CLIENT: &str = "import sys,urllib.request\nprint(urllib.request.urlopen('http://127.0.0.1:'+sys.argv[1]).read().decode())\n";

fn python() -> Option<std::path::PathBuf> {
    let path = std::env::var_os("PATH")?;
    std::env::split_paths(&path)
        .map(|folder| folder.join("python3"))
        .find(|file| file.is_file())
}

fn launch<'a>(program: &'a Path, args: &'a [OsString], timeout: Duration, env: &'a Environment) -> Launch<'a> {
    Launch {
        program,
        args,
        env,
        cwd: Path::new("/"),
        timeout,
        keep_bytes: 1 << 20,
    }
}

fn words(words: &[&str]) -> Vec<OsString> {
    words.iter().map(OsString::from).collect()
}

#[test]
fn a_client_meets_a_ready_server_and_both_are_gone_afterwards() {
    if !alone("served::a_client_meets_a_ready_server_and_both_are_gone_afterwards") {
        return;
    }
    let python = python().expect("python3 is installed by scripts/test");
    become_subreaper().unwrap();
    let port = free_port().unwrap().to_string();
    let (server, client) = (words(&["-c", SERVER, &port]), words(&["-c", CLIENT, &port]));
    let env: Vec<(OsString, OsString)> = std::env::vars_os().filter(|(name, _)| name == "PATH" || name == "HOME").collect();
    let env = Environment::of(&env);
    let url = format!("http://127.0.0.1:{port}/");
    let limit = Duration::from_secs(60);
    let served = run_served(
        &launch(&python, &server, limit, &env),
        &|| answers(&url),
        &launch(&python, &client, limit, &env),
        None,
    )
    .unwrap();
    let ended = served.client.unwrap();
    assert_eq!(
        (ended.exit, String::from_utf8_lossy(&ended.stdout.kept).trim()),
        (Exit::Code(0), "ok")
    );
    assert!(String::from_utf8_lossy(&served.stdout.kept).contains("hello from the server"));
    assert!(!answers(&url), "the server is still there");
}

#[test]
fn a_server_that_ends_or_never_answers_says_so() {
    if !alone("served::a_server_that_ends_or_never_answers_says_so") {
        return;
    }
    let shell = Path::new("/bin/sh");
    let never = words(&["-c", "echo starting; exec sleep 600"]);
    let dies = words(&["-c", "echo no model >&2; exit 3"]);
    let client = words(&["-c", "exit 0"]);
    let limit = Duration::from_secs(60);
    let served = run_served(
        &launch(shell, &never, Duration::from_millis(200), &Environment::of(&[])),
        &|| false,
        &launch(shell, &client, limit, &Environment::of(&[])),
        None,
    )
    .unwrap();
    assert!(served.client.unwrap_err().contains("not ready"));
    assert_eq!(String::from_utf8_lossy(&served.stdout.kept), "starting\n");
    let served = run_served(
        &launch(shell, &dies, limit, &Environment::of(&[])),
        &|| false,
        &launch(shell, &client, limit, &Environment::of(&[])),
        None,
    )
    .unwrap();
    assert!(served.client.unwrap_err().contains("ended before"));
    assert_eq!(String::from_utf8_lossy(&served.stderr.kept), "no model\n");
}
