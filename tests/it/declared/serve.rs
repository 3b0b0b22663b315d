//! A server under test: started for each slot, ready, used, gone.

use std::net::TcpStream;

use super::{Project, outcome, verdicts};
use crate::sandbox::{is_running, program, samples};

const GATE: &str = r#"version = 1
source = "run"

[serve]
command = ["python3", "{tree}/server.py", "{port}"]
ready = "http://127.0.0.1:{port}/health"
timeout = "10s"

[run]
command = ["python3", "{tree}/client.py", "{port}"]
timeout = "30s"
env = { LOG = "LOGFILE" }

[plan]
max_blocks = 2
max_attempts = 100

[[metric]]
name = "ms"
unit = "ms"
better = "lower"
tolerance = "5%"
"#;

/// Ready at the third question; then it answers with its figure.
const SERVER: &str = r#"import http.server, os, sys
asked = 0
class Handler(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        global asked
        asked += 1
        self.send_response(200 if asked > 2 else 503)
        self.end_headers()
        self.wfile.write(b"ms=100\n")
    def log_message(self, *words):
        sys.stderr.write("asked for " + self.path + "\n")
open(os.environ["LOG"], "a").write(f"{os.getpid()} {sys.argv[1]}\n")
http.server.HTTPServer(("127.0.0.1", int(sys.argv[1])), Handler).serve_forever()
"#;

const CLIENT: &str = r#"import sys, urllib.request
print(urllib.request.urlopen(f"http://127.0.0.1:{sys.argv[1]}/work").read().decode())
"#;

fn project() -> Option<Project> {
    program("python3")?;
    let project = Project::new();
    let log = project.sandbox.path("../tmp").canonicalize().unwrap().join("log");
    project.write("gates/perf.toml", GATE.replace("LOGFILE", log.to_str().unwrap()));
    project.write("server.py", SERVER);
    project.write("client.py", CLIENT);
    project.commit("a server");
    // Where python3 is a wrapper it may need its user's home.
    Some(project)
}

#[test]
fn a_server_is_ready_measured_and_gone() {
    let Some(project) = project() else { return };
    project.write("server.py", SERVER.replace("ms=100", "ms=120"));
    let done = project.perf(&[]).exits(1);
    let record = done.record();
    assert_eq!(verdicts(&record), ["regression"]);
    let lines = project.sandbox.lines("../tmp/log");
    assert_eq!(lines.len(), samples(&record).len(), "a server a slot");
    for line in lines {
        let (pid, port) = line.split_once(' ').unwrap();
        assert!(!is_running(pid), "server {pid} still runs");
        assert!(
            TcpStream::connect(("127.0.0.1", port.parse().unwrap())).is_err(),
            "port {port} is taken"
        );
    }
    let artifacts = record["identity"]["arms"]["B"]["artifacts"].to_string();
    assert!(artifacts.contains("client.py"), "{artifacts}");
}

#[test]
fn a_server_that_does_not_come_up_fails_its_arm_and_tells_why() {
    let Some(project) = project() else { return };
    project.write("server.py", "import sys\nsys.exit('cannot load the model')\n");
    let record = project.perf(&[]).exits(1).record();
    assert_eq!(verdicts(&record), ["candidate_failed"]);
    let failed = samples(&record).iter().find(|sample| !sample["failed"].is_null()).unwrap();
    assert_eq!(
        (&failed["arm"], &failed["failed"]),
        (&"B".into(), &"the server ended before it was ready".into())
    );
    assert_eq!(failed["detail"]["server_tail"], "cannot load the model");

    // One that never gets ready, within its own limit.
    let gate = project
        .sandbox
        .text("gates/perf.toml")
        .replace("timeout = \"10s\"", "timeout = \"2s\"");
    project.write("gates/perf.toml", gate);
    project.write("server.py", SERVER.replace("asked > 2", "asked < 0"));
    let record = project.perf(&[]).exits(1).record();
    let failed = samples(&record).iter().find(|sample| !sample["failed"].is_null()).unwrap();
    assert_eq!(failed["failed"], "the server was not ready after 2 s");
    assert!(
        failed["detail"]["server_tail"].as_str().unwrap().contains("asked for /health"),
        "{failed}"
    );

    // In arm A that is no verdict about the change.
    project.commit("broken");
    project.write("server.py", SERVER);
    let record = project.perf(&[]).exits(2).record();
    assert_eq!(outcome(&record), "error");
}

#[test]
fn a_failing_client_keeps_the_servers_words() {
    let Some(project) = project() else { return };
    project.write("client.py", CLIENT.to_owned() + "sys.exit(4)\n");
    let record = project.perf(&[]).exits(1).record();
    let failed = samples(&record).iter().find(|sample| !sample["failed"].is_null()).unwrap();
    assert_eq!(failed["failed"], "exit code 4");
    assert!(
        failed["detail"]["server_tail"].as_str().unwrap().contains("asked for /work"),
        "{failed}"
    );
    let left = project.sandbox.lines("../tmp/log");
    assert!(left.iter().all(|line| !is_running(line.split(' ').next().unwrap())));
}
