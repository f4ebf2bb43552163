//! A client of the HTTP server: one connection, requests one after the other.

use std::net::SocketAddr;

use anyhow::{Context, ensure};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

/// A connection with the cookie of a session.
pub(super) struct Connection {
    stream: TcpStream,
    address: SocketAddr,
    pub(super) cookie: String,
    read: Vec<u8>,
}

/// A response.
pub(super) struct Response {
    pub(super) status: u16,
    pub(super) head: String,
    pub(super) body: Vec<u8>,
}

impl Connection {
    pub(super) async fn open(address: SocketAddr, cookie: &str) -> anyhow::Result<Self> {
        let stream = TcpStream::connect(address).await?;
        stream.set_nodelay(true)?;
        Ok(Self { stream, address, cookie: cookie.to_owned(), read: Vec::new() })
    }

    pub(super) async fn get(&mut self, path: &str) -> anyhow::Result<Response> {
        self.send("GET", path, "", "").await
    }

    /// Sends a form from a page of the server, and keeps the cookie of the response.
    pub(super) async fn post(&mut self, path: &str, form: &str) -> anyhow::Result<Response> {
        let headers = format!("content-type: application/x-www-form-urlencoded\r\norigin: http://{}\r\n", self.address);
        let response = self.send("POST", path, &headers, form).await?;
        let cookie = response.head.lines().find_map(|line| line.strip_prefix("set-cookie: "));
        if let Some(cookie) = cookie.and_then(|cookie| cookie.split(';').next()) {
            cookie.clone_into(&mut self.cookie);
        }
        ensure!(response.status == 303, "{path} answered {}", response.status);
        Ok(response)
    }

    pub(super) async fn send(
        &mut self,
        method: &str,
        path: &str,
        headers: &str,
        body: &str,
    ) -> anyhow::Result<Response> {
        self.request(method, path, headers, body).await?;
        self.response().await
    }

    /// Sends a request whose response has no end.
    pub(super) async fn stream(mut self, path: &str) -> anyhow::Result<TcpStream> {
        self.request("GET", path, "", "").await?;
        let mut first = [0; 15];
        self.stream.read_exact(&mut first).await?;
        ensure!(first.ends_with(b"200 OK"), "{path} is not a stream");
        Ok(self.stream)
    }

    async fn request(&mut self, method: &str, path: &str, headers: &str, body: &str) -> anyhow::Result<()> {
        let (host, cookie, length) = (self.address, &self.cookie, body.len());
        let request = format!(
            "{method} {path} HTTP/1.1\r\nhost: {host}\r\ncookie: {cookie}\r\n{headers}content-length: {length}\r\n\r\n{body}"
        );
        Ok(self.stream.write_all(request.as_bytes()).await?)
    }

    async fn response(&mut self) -> anyhow::Result<Response> {
        let end = loop {
            if let Some(end) = self.read.windows(4).position(|bytes| bytes == b"\r\n\r\n") {
                break end;
            }
            self.more().await?;
        };
        let head = String::from_utf8_lossy(&self.read[..end]).into_owned();
        let length = head.lines().find_map(|line| line.strip_prefix("content-length: "));
        let length: usize = length.map_or(Ok(0), str::parse)?;
        while self.read.len() < end + 4 + length {
            self.more().await?;
        }
        let rest = self.read.split_off(end + 4 + length);
        let body = std::mem::replace(&mut self.read, rest).split_off(end + 4);
        let status =
            head.split(' ').nth(1).and_then(|status| status.parse().ok()).context("a response has a status")?;
        Ok(Response { status, head, body })
    }

    async fn more(&mut self) -> anyhow::Result<()> {
        let read = self.stream.read_buf(&mut self.read).await?;
        ensure!(read > 0, "the server has closed the connection");
        Ok(())
    }
}
