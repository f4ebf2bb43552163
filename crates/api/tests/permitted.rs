//! The permissions of callers. On Linux each thread has credentials of its own, so a thread can be
//! another user while the agent keeps its own.

use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use rustix::process::{Uid, geteuid};
use rustix::thread::set_thread_uid;
use setpoint_api::answer::Overview;
use setpoint_api::{AskError, Client, ProblemKind};

use crate::place::Place;

const NOBODY: u32 = 65_534;

/// Sends a request as the user `nobody`; `None` if the tests have no permission to do so.
#[expect(clippy::disallowed_methods, reason = "another user needs a thread of its own")]
async fn asked_by_nobody(socket: &Path) -> Option<Result<Overview, AskError>> {
    if !geteuid().is_root() {
        setpoint_testbed::skipped("only root can become another user; run the tests as root");
        return None;
    }
    let client = Client::new(socket);
    let asking = tokio::task::spawn_blocking(move || {
        let thread = std::thread::Builder::new().spawn(move || {
            set_thread_uid(Uid::from_raw(NOBODY)).expect("root may become anyone");
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
            runtime.block_on(client.overview())
        });
        thread.expect("a thread").join().expect("it ends without a panic")
    });
    Some(asking.await.expect("it ends without a panic"))
}

/// Sets the mode that a careless administrator would set.
fn open_to_all(path: &Path) {
    set_mode(path, 0o777);
}

fn set_mode(path: &Path, mode: u32) {
    fs::set_permissions(path, Permissions::from_mode(mode)).expect("its owner may");
}

#[tokio::test(flavor = "multi_thread")]
async fn another_user_cannot_even_connect() {
    let place = Place::new().await;
    open_to_all(place.folder.path());
    let Some(asked) = asked_by_nobody(&place.socket()).await else { return };
    let error = asked.expect_err("nobody may not");
    assert!(matches!(error, AskError::Denied { .. }), "{error:?}");
    assert!(error.to_string().ends_with("it belongs to root; run this with sudo"), "{error}");
}

#[tokio::test(flavor = "multi_thread")]
async fn another_user_is_refused_also_where_the_mode_was_opened() {
    let place = Place::new().await;
    open_to_all(place.folder.path());
    open_to_all(&place.socket());
    let Some(asked) = asked_by_nobody(&place.socket()).await else { return };
    let Err(AskError::Refused(problem)) = asked else { panic!("{asked:?}") };
    assert_eq!(problem.kind, ProblemKind::Forbidden);
    assert_eq!(
        problem.message,
        "user:nobody has no permission to use this agent: run the command as user:root or root"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_closed_folder_is_told_apart_from_no_agent() {
    let place = Place::new().await;
    set_mode(place.folder.path(), 0o700);
    let Some(asked) = asked_by_nobody(&place.socket()).await else { return };
    let error = asked.expect_err("nobody may not");
    assert!(error.to_string().contains("its directory is closed to you"), "{error}");
}
