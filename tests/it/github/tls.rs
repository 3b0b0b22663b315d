//! A server with an authority of its own, over real TLS, straight and behind a proxy.

use std::fs;
use std::io::{BufRead as _, BufReader, ErrorKind, Read, Write};
use std::net::TcpStream;
use std::process::Command;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use gate::edge::endpoint::free_port;
use rustls::crypto::ring;
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::{ServerConfig, ServerConnection, StreamOwned};

use super::command::{COMMENT, keeps_the_secret, step};
use super::http::listen;
use super::hub::{Hub, TOKEN};
use crate::sandbox::{Sandbox, program};

const STATUS: &[&str] = &["status", "--as", "status", "--records", "records.jsonl", "--api-budget", "2s"];
/// The name of a server that nobody but a proxy can resolve.
const NAME: &str = "ghes.example";
/// Extensions of an authority's certificate and of a server's.
const OPENSSL: &str = "[req]\ndistinguished_name=name\n[name]\n[authority]\nbasicConstraints=critical,CA:TRUE\nkeyUsage=critical,keyCertSign\n\
    [server]\nbasicConstraints=CA:FALSE\nsubjectAltName=DNS:ghes.example,IP:127.0.0.1\n[other]\nbasicConstraints=CA:FALSE\n\
    subjectAltName=DNS:other.example\n";

/// An authority, made for one test, and what it has signed.
struct Authority(Sandbox);

impl Authority {
    /// None where there is no `openssl`.
    fn new() -> Option<Self> {
        let openssl = program("openssl")?;
        let sandbox = Sandbox::new();
        sandbox.write("openssl.cnf", OPENSSL);
        let made = Self(sandbox);
        let request = "req -config openssl.cnf -nodes -newkey ec -pkeyopt ec_paramgen_curve:prime256v1";
        let run = |words: String| {
            let mut command = Command::new(&openssl);
            made.0.furnish(&mut command);
            let done = command.args(words.split_whitespace()).output().expect("openssl runs");
            assert!(done.status.success(), "openssl {words}: {}", String::from_utf8_lossy(&done.stderr));
        };
        run(format!(
            "{request} -x509 -days 2 -subj /CN=authority -extensions authority -keyout ca.key -out ca.pem"
        ));
        for name in ["server", "other"] {
            run(format!("{request} -subj /CN={name} -keyout {name}.key -out {name}.csr"));
            run(format!(
                "x509 -req -in {name}.csr -CA ca.pem -CAkey ca.key -CAcreateserial -days 2 -extfile openssl.cnf -extensions {name} -out {name}.pem"
            ));
        }
        Some(made)
    }

    /// The file with its certificate.
    fn file(&self) -> String {
        self.0.path("ca.pem").display().to_string()
    }

    /// The configuration of a server that shows one of the certificates.
    fn server(&self, name: &str) -> ServerConfig {
        let path = |end: &str| self.0.path(&format!("{name}.{end}"));
        let chain: Result<Vec<CertificateDer<'static>>, _> = CertificateDer::pem_file_iter(path("pem")).unwrap().collect();
        ServerConfig::builder_with_provider(Arc::new(ring::default_provider()))
            .with_safe_default_protocol_versions()
            .unwrap()
            .with_no_client_auth()
            .with_single_cert(chain.unwrap(), PrivateKeyDer::from_pem_file(path("key")).unwrap())
            .unwrap()
    }
}

#[test]
fn row_38_an_authority_of_its_own_is_trusted_once_it_is_named() {
    let Some(authority) = Authority::new() else { return };
    let hub = Hub::over_tls("/api/v3", "127.0.0.1", authority.server("server"));
    let unknown = step(&hub, "pull_request");
    let done = unknown
        .gate(STATUS)
        .exits(2)
        .says("name a file with the certificate of its authority, in PEM form, in SSL_CERT_FILE");
    assert!(done.err.contains(&hub.address()), "{}", done.err);
    let _said = unknown
        .gate(&["comment", "--records", "records.jsonl", "--api-budget", "2s"])
        .exits(0)
        .says("in SSL_CERT_FILE");
    assert!(hub.log().is_empty(), "nothing is said to who cannot show who it is");
    let known = step(&hub, "pull_request").with_env("SSL_CERT_FILE", &authority.file());
    let done = known.gate(STATUS).exits(0).says("gate: status \"gate\" set: ");
    keeps_the_secret(&known, &done);
    let _said = known.gate(COMMENT).exits(0).says("gate: comment created: ");
    assert!(
        hub.log().iter().all(|line| line.ends_with("200") || line.ends_with("201")),
        "{:?}",
        hub.log()
    );
    // A folder of authorities does as well.
    let folder = authority.0.path("authorities");
    fs::create_dir(&folder).unwrap();
    fs::copy(authority.file(), folder.join("own.pem")).unwrap();
    let known = step(&hub, "pull_request").with_env("SSL_CERT_DIR", &folder.display().to_string());
    let _said = known.gate(STATUS).exits(0).says("gate: status \"gate\" set: ");
}

#[test]
fn row_38_a_certificate_that_is_not_the_servers_is_refused_in_words() {
    let Some(authority) = Authority::new() else { return };
    for (certificate, says) in [
        ("other", "not valid for name \"127.0.0.1\""),
        ("ca", "let the authority sign one for the server"),
    ] {
        let hub = Hub::over_tls("", "127.0.0.1", authority.server(certificate));
        let step = step(&hub, "pull_request").with_env("SSL_CERT_FILE", &authority.file());
        let done = step.gate(STATUS).exits(2).says(says);
        assert!(!done.err.contains("SSL_CERT_FILE"), "it would not help: {}", done.err);
    }
}

#[test]
fn row_38_a_file_of_authorities_that_is_none_is_named() {
    let hub = Hub::new();
    for (value, says) in [
        ("/no/such.pem", "SSL_CERT_FILE: /no/such.pem: there is no such file"),
        ("/proc/version", "SSL_CERT_FILE: /proc/version: no authority can be read there"),
        ("", "SSL_CERT_FILE is set and empty"),
    ] {
        let step = step(&hub, "pull_request").with_env("SSL_CERT_FILE", value);
        let _said = step.gate(STATUS).exits(2).says(says);
        let _said = step.gate(COMMENT).exits(0).says(says);
    }
    assert!(hub.log().is_empty());
}

/// A proxy that leads every name to one port on this machine.
struct Proxy {
    port: u16,
    /// The head of every request, and all that went through it then.
    seen: Arc<Mutex<Vec<Vec<u8>>>>,
}

impl Proxy {
    /// One that wants this in `Proxy-Authorization`, where it wants anything; over TLS where that is wanted.
    fn new(to: u16, wanted: Option<&'static str>, tls: Option<ServerConfig>) -> Self {
        let seen = Arc::new(Mutex::new(Vec::new()));
        let (shared, tls) = (Arc::clone(&seen), tls.map(Arc::new));
        let port = listen(move |stream| {
            stream.set_read_timeout(Some(Duration::from_millis(5))).unwrap();
            match &tls {
                None => tunnel(stream, to, wanted, &shared),
                Some(config) => {
                    let connection = ServerConnection::new(Arc::clone(config)).unwrap();
                    tunnel(StreamOwned::new(connection, stream), to, wanted, &shared);
                }
            }
        });
        Self { port, seen }
    }

    fn seen(&self) -> String {
        let seen = self.seen.lock().unwrap();
        String::from_utf8_lossy(&seen.concat()).into_owned()
    }
}

/// What is there to read by now; none at the end.
fn some(from: &mut impl Read) -> Option<Vec<u8>> {
    let mut bytes = vec![0; 16 << 10];
    match from.read(&mut bytes) {
        Ok(0) => None,
        Ok(length) => Some(bytes[..length].to_vec()),
        Err(error) if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut) => Some(Vec::new()),
        Err(_) => None,
    }
}

fn tunnel(mut client: impl Read + Write, to: u16, wanted: Option<&str>, seen: &Mutex<Vec<Vec<u8>>>) {
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        let Some(more) = some(&mut client) else { return };
        head.extend(more);
    }
    seen.lock().unwrap().push(head.clone());
    let lines: Vec<String> = BufReader::new(&head[..]).lines().map_while(Result::ok).collect();
    let given = lines.iter().find_map(|line| line.strip_prefix("Proxy-Authorization: "));
    if given != wanted {
        client
            .write_all(b"HTTP/1.1 407 No\r\nProxy-Authenticate: Basic\r\ncontent-length: 0\r\n\r\n")
            .ok();
        client.flush().ok();
        return;
    }
    let mut server = TcpStream::connect(("127.0.0.1", to)).unwrap();
    server.set_read_timeout(Some(Duration::from_millis(5))).unwrap();
    client.write_all(b"HTTP/1.1 200 Connection established\r\n\r\n").unwrap();
    client.flush().unwrap();
    while let (Some(up), Some(down)) = (some(&mut client), some(&mut server)) {
        seen.lock().unwrap().push(up.clone());
        if server
            .write_all(&up)
            .and_then(|()| client.write_all(&down))
            .and_then(|()| client.flush())
            .is_err()
        {
            return;
        }
    }
}

/// The port at the end of an address, with or without a path.
fn port(hub: &Hub, prefix: &str) -> u16 {
    let address = hub.address();
    let (_, port) = address.trim_end_matches(prefix).rsplit_once(':').unwrap();
    port.parse().unwrap()
}

#[test]
fn row_38_a_proxy_leads_to_the_server_and_sees_nothing_of_what_is_said() {
    let Some(authority) = Authority::new() else { return };
    for (variable, scheme) in [
        ("HTTPS_PROXY", "http"),
        ("https_proxy", "http"),
        ("ALL_PROXY", "http"),
        ("HTTPS_PROXY", "https"),
    ] {
        let hub = Hub::over_tls("/api/v3", NAME, authority.server("server"));
        // What stands in base64 there is "user:p@ss".
        let tls = (scheme == "https").then(|| authority.server("server"));
        let proxy = Proxy::new(port(&hub, "/api/v3"), Some("Basic dXNlcjpwQHNz"), tls);
        let step = step(&hub, "pull_request")
            .with_env("SSL_CERT_FILE", &authority.file())
            .with_env(variable, &format!("{scheme}://user:p%40ss@127.0.0.1:{}", proxy.port))
            .with_env("NO_PROXY", "localhost,127.0.0.0/8");
        let done = step.gate(STATUS).exits(0).says("gate: status \"gate\" set: ");
        keeps_the_secret(&step, &done);
        let _said = step.gate(COMMENT).exits(0).says("gate: comment created: ");
        let seen = proxy.seen();
        assert!(
            seen.starts_with(&format!("CONNECT {NAME}:{} HTTP/1.1\r\n", port(&hub, "/api/v3"))),
            "{seen}"
        );
        assert!(!seen.contains(TOKEN) && !seen.contains("POST"), "{variable}");
    }
}

#[test]
fn row_38_what_is_excepted_is_asked_without_the_proxy() {
    let Some(authority) = Authority::new() else { return };
    let hub = Hub::over_tls("", "127.0.0.1", authority.server("server"));
    let proxy = Proxy::new(port(&hub, ""), None, None);
    let with = |variable: &str, exceptions: &str| {
        step(&hub, "pull_request")
            .with_env("SSL_CERT_FILE", &authority.file())
            .with_env("HTTPS_PROXY", &format!("http://127.0.0.1:{}", proxy.port))
            .with_env(variable, exceptions)
    };
    for (variable, exceptions) in [("NO_PROXY", "127.0.0.1"), ("no_proxy", "x.example, 127.0.0.0/8"), ("NO_PROXY", "*")] {
        let _said = with(variable, exceptions).gate(STATUS).exits(0);
        assert_eq!(proxy.seen(), "", "{exceptions}");
    }
    let _said = with("NO_PROXY", "x.example").gate(STATUS).exits(0);
    assert!(proxy.seen().starts_with("CONNECT 127.0.0.1:"), "{}", proxy.seen());
    // Without TLS there is this machine only, to which no proxy leads.
    let plain = Hub::new();
    let dead = format!("http://127.0.0.1:{}", free_port().unwrap());
    let step = step(&plain, "pull_request")
        .with_env("HTTPS_PROXY", &dead)
        .with_env("HTTP_PROXY", &dead);
    let _said = step.gate(STATUS).exits(0);
}

#[test]
fn row_38_a_proxy_that_does_not_lead_there_is_named_without_its_password() {
    let Some(authority) = Authority::new() else { return };
    let hub = Hub::over_tls("", NAME, authority.server("server"));
    let refusing = Proxy::new(port(&hub, ""), Some("Basic other"), None);
    let nobody = free_port().unwrap();
    let at = |port: u16| format!("http://user:S3cret@127.0.0.1:{port}");
    for (address, says) in [
        (
            at(refusing.port),
            format!(
                "through the proxy 127.0.0.1:{} of HTTPS_PROXY). The proxy asks who it is",
                refusing.port
            ),
        ),
        (at(nobody), format!("through the proxy 127.0.0.1:{nobody} of HTTPS_PROXY)")),
        (
            "socks5://user:S3cret@127.0.0.1:1".to_owned(),
            "HTTPS_PROXY names a SOCKS proxy".to_owned(),
        ),
        (
            "ftp://user:S3cret@127.0.0.1:1".to_owned(),
            "HTTPS_PROXY holds no address of a proxy".to_owned(),
        ),
        ("user:S3cret word".to_owned(), "HTTPS_PROXY holds no address of a proxy".to_owned()),
    ] {
        let step = step(&hub, "pull_request")
            .with_env("SSL_CERT_FILE", &authority.file())
            .with_env("HTTPS_PROXY", &address);
        let done = step.gate(STATUS).exits(2).says(&says);
        assert!(
            !done.err.contains("S3cret") && !done.out.contains("S3cret"),
            "{}{}",
            done.out,
            done.err
        );
        let done = step
            .gate(&["comment", "--records", "records.jsonl", "--api-budget", "2s"])
            .exits(0)
            .says(&says);
        assert!(
            !done.err.contains("S3cret") && !done.out.contains("S3cret"),
            "{}{}",
            done.out,
            done.err
        );
    }
    assert!(hub.log().is_empty());
}
