//! The life of the socket file: its mode, what it replaces, and what is left when it is removed.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::UnixListener;

use setpoint_api::{AskError, BindError, Client, Server, socket_in};

use crate::place::Place;

#[tokio::test]
async fn only_its_owner_may_open_the_socket_and_nothing_else_is_left_in_the_folder() {
    let place = Place::new().await;
    let mode = fs::metadata(place.socket()).expect("it is there").permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
    let names: Vec<_> = fs::read_dir(place.folder.path())
        .expect("a folder")
        .map(|entry| entry.expect("an entry").file_name())
        .collect();
    assert_eq!(names, ["agent.sock"]);
}

#[tokio::test]
async fn a_live_agent_is_not_replaced() {
    let place = Place::new().await;
    let second = Server::bind(&place.socket()).await;
    assert!(matches!(second, Err(BindError::Taken { .. })), "{second:?}");
    assert!(place.client().overview().await.is_ok());
}

#[tokio::test]
async fn the_socket_of_a_dead_agent_is_replaced() {
    let folder = tempfile::tempdir().expect("a folder");
    let socket = socket_in(folder.path());
    drop(UnixListener::bind(&socket).expect("a socket"));
    // A killed agent leaves this directory too.
    fs::create_dir(folder.path().join(".new")).expect("a folder");
    let server = Server::bind(&socket).await;
    assert!(server.is_ok(), "{server:?}");
}

#[tokio::test]
async fn what_is_not_a_socket_is_left_alone() {
    let folder = tempfile::tempdir().expect("a folder");
    let socket = socket_in(folder.path());
    fs::write(&socket, "mine").expect("a file");
    let server = Server::bind(&socket).await;
    assert!(matches!(server, Err(BindError::NotASocket { .. })), "{server:?}");
    assert_eq!(fs::read_to_string(&socket).expect("still there"), "mine");
}

#[tokio::test]
async fn a_path_that_no_socket_can_have_is_told_with_its_limit() {
    let folder = tempfile::tempdir().expect("a folder");
    let deep = folder.path().join("d".repeat(100));
    fs::create_dir(&deep).expect("a folder");
    let error = Server::bind(&socket_in(&deep)).await.expect_err("too long");
    assert!(error.to_string().contains("more than the 107"), "{error}");
}

#[tokio::test]
async fn a_missing_data_folder_is_told_and_not_made() {
    let folder = tempfile::tempdir().expect("a folder");
    let error = Server::bind(&socket_in(&folder.path().join("gone"))).await.expect_err("nowhere to be");
    assert!(matches!(error, BindError::Unusable { .. }), "{error}");
    assert!(!folder.path().join("gone").exists());
}

#[tokio::test]
async fn an_agent_that_stops_takes_its_socket_with_it() {
    let mut place = Place::new().await;
    place.stop().await;
    assert!(!place.socket().exists());
    let asked = place.client().overview().await;
    assert!(matches!(asked, Err(AskError::NoAgent { .. })), "{asked:?}");
}

#[tokio::test]
async fn without_an_agent_one_is_told_where_it_was_looked_for_and_how_to_start_one() {
    let folder = tempfile::tempdir().expect("a folder");
    let socket = socket_in(folder.path());
    let error = Client::new(&socket).overview().await.expect_err("nobody is there");
    let text = error.to_string();
    assert!(text.contains(socket.to_str().expect("a plain path")), "{text}");
    assert!(text.contains("setpoint run --config"), "{text}");
}

#[tokio::test]
async fn an_agent_that_breaks_off_is_told_apart_from_none() {
    let folder = tempfile::tempdir().expect("a folder");
    let socket = socket_in(folder.path());
    let listener = tokio::net::UnixListener::bind(&socket).expect("a socket");
    let client = Client::new(&socket);
    let (asked, _) = tokio::join!(client.overview(), async { drop(listener.accept().await) });
    assert!(matches!(asked, Err(AskError::BrokenOff { .. })), "{asked:?}");
}
