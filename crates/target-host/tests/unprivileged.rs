//! Runs the whole suite once more as an agent without root. Permissions belong to a process, so
//! this needs another process.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::CommandExt;

use crate::scene::is_root;

const NOBODY: u32 = 65534;

#[test]
#[expect(clippy::disallowed_methods, reason = "another user needs another process")]
fn the_whole_suite_holds_for_an_agent_without_rights() {
    if !is_root() {
        return; // This process is that run, or the whole suite already ran without root.
    }
    // The directory of the binary may be closed to other users.
    let folder = tempfile::tempdir().unwrap();
    fs::set_permissions(folder.path(), PermissionsExt::from_mode(0o777)).unwrap();
    let binary = folder.path().join("suite");
    // Copied by another process: a process that another test starts meanwhile would inherit a
    // descriptor that is open for writing, and then the copy could not be executed.
    let copied = std::process::Command::new("cp").arg(std::env::current_exe().unwrap()).arg(&binary).status().unwrap();
    assert!(copied.success());
    let mut suite = std::process::Command::new(&binary);
    let output = suite.env("TMPDIR", folder.path()).uid(NOBODY).gid(NOBODY).output().unwrap();
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "{text}{}", String::from_utf8_lossy(&output.stderr));
    assert!(text.contains("looks::an_unreadable_file_is_unknown_to_an_agent_without_rights ... ok"), "{text}");
}
