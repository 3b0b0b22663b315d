//! A server of HTTP/1.1 on the loopback address, over TLS where that is wanted: one thread a connection, kept alive.

use std::io::{BufRead as _, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use rustls::{ServerConfig, ServerConnection, StreamOwned};
use serde_json::Value;

/// Largest body that is taken.
const BODY_MAX_BYTES: usize = 1 << 20;

/// A request as it came in.
#[derive(Debug, Clone)]
pub struct Request {
    pub method: String,
    /// Path without the query.
    pub path: String,
    pub query: Vec<(String, String)>,
    pub authorization: Option<String>,
    pub body: Option<Value>,
}

impl Request {
    pub fn query(&self, name: &str) -> Option<&str> {
        let (_, value) = self.query.iter().find(|(known, _)| known == name)?;
        Some(value)
    }
}

/// What is answered.
#[derive(Debug, Clone, Default)]
pub struct Response {
    pub status: u16,
    pub headers: Vec<(String, String)>,
    /// JSON, or any other text.
    pub body: Body,
}

#[derive(Debug, Clone, Default)]
pub enum Body {
    #[default]
    Nothing,
    Json(Value),
    Html(String),
}

impl Response {
    pub fn json(status: u16, value: Value) -> Self {
        Self {
            status,
            headers: Vec::new(),
            body: Body::Json(value),
        }
    }

    pub fn html(status: u16, text: &str) -> Self {
        Self {
            status,
            headers: Vec::new(),
            body: Body::Html(text.to_owned()),
        }
    }

    #[must_use]
    pub fn with(mut self, name: &str, value: &str) -> Self {
        self.headers.push((name.to_owned(), value.to_owned()));
        self
    }
}

/// How a request ends.
pub enum Ending {
    Answer(Response),
    /// The connection is closed without a word.
    Hangup,
    /// Nothing comes for so long; then the connection is closed.
    Silence(Duration),
}

type Handler = dyn Fn(Request) -> Ending + Send + Sync;

/// Serves until the process ends; gives the address, `127.0.0.1:PORT`.
pub fn serve(handler: impl Fn(Request) -> Ending + Send + Sync + 'static, tls: Option<Arc<ServerConfig>>) -> String {
    let handler: Arc<Handler> = Arc::new(handler);
    let port = listen(move |stream| match &tls {
        None => converse(stream, &*handler),
        Some(config) => {
            let connection = ServerConnection::new(Arc::clone(config)).expect("a sound configuration");
            converse(StreamOwned::new(connection, stream), &*handler);
        }
    });
    format!("127.0.0.1:{port}")
}

/// Hands every connection to a thread of its own until the process ends; gives the port.
pub fn listen(meet: impl Fn(TcpStream) + Send + Sync + 'static) -> u16 {
    let listener = TcpListener::bind(("127.0.0.1", 0)).unwrap();
    let port = listener.local_addr().unwrap().port();
    let meet = Arc::new(meet);
    thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            let meet = Arc::clone(&meet);
            thread::spawn(move || meet(stream));
        }
    });
    port
}

fn converse(stream: impl Read + Write, handler: &Handler) {
    let mut reader = BufReader::new(stream);
    while let Some(request) = read(&mut reader) {
        match handler(request) {
            Ending::Answer(response) => {
                if write(reader.get_mut(), &response).is_none() {
                    return;
                }
            }
            Ending::Hangup => return,
            Ending::Silence(time) => return thread::sleep(time),
        }
    }
}

fn read(reader: &mut BufReader<impl Read>) -> Option<Request> {
    let mut line = String::new();
    reader.read_line(&mut line).ok()?;
    let mut words = line.split_whitespace();
    let (method, target) = (words.next()?.to_owned(), words.next()?.to_owned());
    let (mut length, mut authorization) = (0, None);
    loop {
        let mut line = String::new();
        reader.read_line(&mut line).ok()?;
        let Some((name, value)) = line.trim_end().split_once(':') else {
            break;
        };
        match name.to_ascii_lowercase().as_str() {
            "content-length" => length = value.trim().parse().ok()?,
            "authorization" => authorization = Some(value.trim().to_owned()),
            _ => {}
        }
    }
    assert!(length <= BODY_MAX_BYTES, "a body of {length} bytes");
    let mut body = vec![0; length];
    reader.read_exact(&mut body).ok()?;
    let (path, query) = target.split_once('?').unwrap_or((&target, ""));
    let pair = |pair: &str| {
        let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
        (unescaped(name), unescaped(value))
    };
    Some(Request {
        method,
        path: path.to_owned(),
        query: query.split('&').filter(|pair| !pair.is_empty()).map(pair).collect(),
        authorization,
        body: (length > 0).then(|| serde_json::from_slice(&body).expect("a JSON body")),
    })
}

fn unescaped(text: &str) -> String {
    let mut bytes = Vec::new();
    let mut rest = text.bytes();
    while let Some(byte) = rest.next() {
        if byte == b'%' {
            let digits: Vec<u8> = rest.by_ref().take(2).collect();
            bytes.push(u8::from_str_radix(&String::from_utf8_lossy(&digits), 16).expect("an escape"));
        } else {
            bytes.push(byte);
        }
    }
    String::from_utf8(bytes).expect("UTF-8")
}

fn write(stream: &mut impl Write, response: &Response) -> Option<()> {
    let (kind, text) = match &response.body {
        Body::Nothing => ("", String::new()),
        Body::Json(value) => ("content-type: application/json; charset=utf-8\r\n", value.to_string()),
        Body::Html(text) => ("content-type: text/html\r\n", text.clone()),
    };
    let headers: String = response
        .headers
        .iter()
        .map(|(name, value)| format!("{name}: {value}\r\n"))
        .collect();
    let length = if response.status == 204 {
        String::new()
    } else {
        format!("content-length: {}\r\n", text.len())
    };
    let head = format!("HTTP/1.1 {} X\r\n{kind}{headers}{length}\r\n", response.status);
    stream.write_all((head + &text).as_bytes()).ok()?;
    stream.flush().ok()
}
