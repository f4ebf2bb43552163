//! A webhook on loopback that follows a script, one request after the other, and records the
//! requests.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex};

use serde_json::Value;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinSet;

/// The reaction of the receiver to a request.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Does {
    Answer(u16),
    /// Reads the request and never responds.
    Hang,
    /// Resets the connection before reading anything.
    Reset,
}

/// A received request.
#[derive(Clone, Debug)]
pub(crate) struct Heard {
    pub(crate) head: String,
    pub(crate) body: Value,
}

/// A receiver that returns 200 once its script is over.
pub(crate) struct Receiver {
    port: u16,
    heard: Arc<Mutex<Vec<Heard>>>,
    _serving: JoinSet<()>,
}

impl Receiver {
    pub(crate) async fn new(script: &[Does]) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
        let port = listener.local_addr().expect("an address").port();
        let heard = Arc::new(Mutex::new(Vec::new()));
        let mut serving = JoinSet::new();
        serving.spawn(serve(listener, script.iter().copied().collect(), Arc::clone(&heard)));
        Self { port, heard, _serving: serving }
    }

    /// Returns its URL, with a secret in the path as real webhooks have it.
    pub(crate) fn url(&self) -> String {
        format!("http://127.0.0.1:{}/services/T0/B0/hush-hush", self.port)
    }

    pub(crate) fn heard(&self) -> Vec<Heard> {
        self.heard.lock().expect("no thread panics while holding it").clone()
    }
}

async fn serve(listener: TcpListener, mut script: VecDeque<Does>, heard: Arc<Mutex<Vec<Heard>>>) {
    let mut hanging = Vec::new();
    while let Ok((mut stream, _)) = listener.accept().await {
        match script.pop_front().unwrap_or(Does::Answer(200)) {
            Does::Reset => {
                // If it is closed with unread bytes in it, a connection is reset and not ended.
                stream.readable().await.expect("a request comes");
            }
            Does::Hang => hanging.push(stream),
            Does::Answer(status) => {
                let request = read(&mut stream).await;
                heard.lock().expect("no thread panics while holding it").push(request);
                let answer =
                    format!("HTTP/1.1 {status} Any\r\nlocation: http://127.0.0.1:1/\r\ncontent-length: 0\r\n\r\n");
                stream.write_all(answer.as_bytes()).await.expect("the client waits for it");
            }
        }
    }
}

async fn read(stream: &mut TcpStream) -> Heard {
    let mut bytes = Vec::new();
    loop {
        let text = String::from_utf8_lossy(&bytes).into_owned();
        if let Some((head, body)) = text.split_once("\r\n\r\n") {
            let head = head.to_lowercase();
            let length = head.lines().find_map(|line| line.strip_prefix("content-length: ")).expect("a length");
            if body.len() == length.parse::<usize>().expect("a number") {
                return Heard { head, body: serde_json::from_str(body).expect("JSON") };
            }
        }
        let read = stream.read_buf(&mut bytes).await.expect("the client is connected");
        assert_ne!(read, 0, "a request ends after its body");
    }
}
