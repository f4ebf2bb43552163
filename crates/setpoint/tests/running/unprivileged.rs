//! Runs all of these tests once more as an agent without root. Permissions belong to a process, so
//! this needs another process.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::CommandExt;
use std::path::Path;

use crate::setpoint::copy_program;

const NOBODY: u32 = 65_534;

#[test]
#[expect(clippy::disallowed_methods, reason = "another user needs another process")]
fn all_of_it_holds_for_an_agent_without_rights() {
    if !rustix::process::geteuid().is_root() {
        return; // This process is that run, or all tests already ran without root.
    }
    // The directory of the binaries may be closed to other users.
    let folder = tempfile::tempdir().expect("a folder for the test");
    fs::set_permissions(folder.path(), PermissionsExt::from_mode(0o777)).expect("it is ours");
    let suite = folder.path().join("suite");
    copy_program(&std::env::current_exe().expect("it runs"), &suite);
    copy_program(Path::new(env!("CARGO_BIN_EXE_setpoint")), &folder.path().join("setpoint"));
    let mut suite = std::process::Command::new(&suite);
    // The permissions on a cluster do not depend on the user here, and other users may not have
    // access to the tools of those tests. The same applies to identity providers, Schemathesis and browsers.
    let apart = ["envtest::", "serving::providers::", "serving::contract::", "browsing::"];
    suite.args(["running::", "--test-threads", "2"]).args(apart.iter().flat_map(|name| ["--skip", name]));
    suite.env("TMPDIR", folder.path()).env("SETPOINT_KILLS", "10");
    let output = suite.uid(NOBODY).gid(NOBODY).output().expect("it starts");
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "{text}{}", String::from_utf8_lossy(&output.stderr));
    assert!(text.contains("healing::an_edit_a_delete_and_a_chmod_are_healed_and_recorded ... ok"), "{text}");
}
