//! A browser of its simplest kind: it sends requests byte for byte, and keeps one cookie.

use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::time::Duration;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpSocket, TcpStream};
use tokio::time::timeout;

/// Longer than any response takes on a busy machine.
const PATIENCE: Duration = Duration::from_secs(60);

/// A response.
#[derive(Debug)]
pub(super) struct Response {
    pub(super) status: u16,
    pub(super) head: String,
    pub(super) body: String,
}

impl Response {
    /// Returns the value of a header; empty if it is missing.
    pub(super) fn header(&self, name: &str) -> &str {
        let mut headers = self.head.lines().filter_map(|line| line.split_once(": "));
        headers.find(|(known, _)| known.eq_ignore_ascii_case(name)).map_or("", |(_, value)| value.trim())
    }

    /// Returns the value of the first hidden field of this name.
    pub(super) fn field(&self, name: &str) -> String {
        let start = format!("name=\"{name}\" value=\"");
        let value = self.body.split_once(&start).and_then(|(_, rest)| rest.split_once('"'));
        value.map(|(value, _)| value.to_owned()).unwrap_or_default()
    }
}

/// A client with at most one cookie.
#[derive(Clone, Debug)]
pub(super) struct Browser {
    pub(super) address: SocketAddr,
    pub(super) cookie: String,
    /// The address that requests come from.
    pub(super) from: IpAddr,
}

impl Browser {
    pub(super) fn new(address: SocketAddr) -> Self {
        Self { address, cookie: String::new(), from: Ipv4Addr::LOCALHOST.into() }
    }

    async fn connect(&self) -> TcpStream {
        let socket = TcpSocket::new_v4().expect("a socket");
        socket.bind((self.from, 0).into()).expect("an address of this machine");
        socket.connect(self.address).await.expect("the server listens")
    }

    /// Sends these bytes, and returns everything that the server sends until it closes.
    pub(super) async fn exchange(&self, request: &[u8]) -> Response {
        let answer = timeout(PATIENCE, async {
            let mut stream = self.connect().await;
            // The server may respond and close before all of an invalid request was written.
            let _ = stream.write_all(request).await;
            let mut answer = Vec::new();
            let _ = stream.read_to_end(&mut answer).await;
            String::from_utf8_lossy(&answer).into_owned()
        });
        let answer = answer.await.expect("the server responds or closes");
        let (head, body) = answer.split_once("\r\n\r\n").unwrap_or((&answer, ""));
        let status = head.split(' ').nth(1).and_then(|status| status.parse().ok()).unwrap_or_default();
        Response { status, head: head.to_owned(), body: body.to_owned() }
    }

    /// Sends a request with more header lines, each ending with `\r\n`.
    pub(super) async fn send(&self, method: &str, path: &str, headers: &str, body: &str) -> Response {
        let (host, length) = (self.address, body.len());
        let cookie = if self.cookie.is_empty() { String::new() } else { format!("cookie: {}\r\n", self.cookie) };
        let request = format!(
            "{method} {path} HTTP/1.1\r\nhost: {host}\r\nconnection: close\r\n{cookie}{headers}content-length: {length}\r\n\r\n{body}"
        );
        self.exchange(request.as_bytes()).await
    }

    pub(super) async fn get(&self, path: &str) -> Response {
        self.send("GET", path, "", "").await
    }

    /// Sends a form from a page of the server, and keeps the cookie of the response.
    pub(super) async fn post(&mut self, path: &str, fields: &[(&str, &str)]) -> Response {
        let origin = format!("origin: http://{}\r\n", self.address);
        self.post_with(path, &origin, fields).await
    }

    pub(super) async fn post_with(&mut self, path: &str, headers: &str, fields: &[(&str, &str)]) -> Response {
        let body: Vec<String> = fields.iter().map(|(name, value)| format!("{name}={}", encoded(value))).collect();
        let headers = format!("content-type: application/x-www-form-urlencoded\r\n{headers}");
        let response = self.send("POST", path, &headers, &body.join("&")).await;
        let cookie = response.header("set-cookie");
        if !cookie.is_empty() {
            self.cookie = cookie.split(';').next().unwrap_or_default().to_owned();
        }
        response
    }
}

fn encoded(text: &str) -> String {
    let byte = |byte: u8| match byte {
        b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'_' | b'.' => char::from(byte).to_string(),
        other => format!("%{other:02X}"),
    };
    text.bytes().map(byte).collect()
}
