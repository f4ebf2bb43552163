//! Many connections at once: idle ones do not keep out those with requests.

use std::time::Duration;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::UnixStream;
use tokio::time::timeout;

use crate::place::Place;

/// Several times the number of simultaneous connections.
const CROWD: usize = 300;

/// Well below the time after which an idle connection is closed.
const SOON: Duration = Duration::from_secs(5);

/// Opens connections that send these bytes and then wait.
async fn crowd(place: &Place, sent: &[u8]) -> Vec<UnixStream> {
    let mut idle = Vec::new();
    for _ in 0..CROWD {
        let mut stream = UnixStream::connect(place.socket()).await.expect("the agent is running");
        stream.write_all(sent).await.expect("it is received");
        idle.push(stream);
    }
    idle
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn connections_that_ask_nothing_make_room_for_a_newcomer() {
    let place = Place::new().await;
    let half = b"POST /api/v1/plan HTTP/1.1\r\nhost: agent\r\ncontent-length: 100\r\n\r\n{";
    for sent in [&b""[..], b"GET /api/v1/over", half] {
        let idle = crowd(&place, sent).await;
        for _ in 0..10 {
            let overview = timeout(SOON, place.client().overview()).await.expect("a response soon");
            assert_eq!(overview.expect("a response"), place.agent.overview);
        }
        drop(idle);
    }
}

#[tokio::test]
async fn a_response_has_no_date_which_cannot_be_made_before_1970() {
    let place = Place::new().await;
    let mut stream = UnixStream::connect(place.socket()).await.expect("the agent is running");
    stream.write_all(b"GET /api/v1/overview HTTP/1.1\r\nhost: agent\r\n\r\n").await.expect("it is received");
    let mut answer = String::new();
    stream.read_to_string(&mut answer).await.expect("a response");
    let (head, _) = answer.split_once("\r\n\r\n").expect("a head and a body");
    assert!(head.starts_with("HTTP/1.1 200") && !head.to_lowercase().contains("\r\ndate:"), "{head}");
}
