//! Changes by others are corrected, and recorded with their differences, the time of observation
//! and the time of healing.

use std::collections::BTreeSet;
use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;

use setpoint_api::answer::DriftRecord;
use setpoint_core::modes::Cause;

use super::lab::{Agent, Lab, file_document};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_edit_a_delete_and_a_chmod_are_healed_and_recorded() {
    let mut lab = Lab::new();
    lab.app("hello").file("hello", "greeting", "Hello\n").file("hello", "colours", "red\n");
    lab.write("apps/hello/key.yaml", &format!("{}  mode: \"0600\"\n", file_document("key", "k\n")));
    let head = lab.commit();
    let mut agent = lab.start().await;
    agent.until_converged("hello", &head).await;

    fs::write(lab.at("greeting"), "Bye\n").expect("anyone may");
    healed(&mut agent, "/greeting").await;
    fs::remove_file(lab.at("colours")).expect("anyone may");
    healed(&mut agent, "/colours").await;
    fs::set_permissions(lab.at("key"), Permissions::from_mode(0o666)).expect("anyone may");
    let mode = healed(&mut agent, "/key").await;

    let differences: Vec<_> = mode.differences.iter().map(|difference| difference.path.to_string()).collect();
    assert!(differences.iter().any(|path| path.contains("mode")), "{differences:?}");
    assert_eq!(lab.text("greeting").as_deref(), Some("Hello\n"));
    assert_eq!(lab.text("colours").as_deref(), Some("red\n"));
    let mode = fs::metadata(lab.at("key")).expect("it is there").permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
    // An edit may be observed twice: as an empty file at first, and with its final content.
    let drifted: BTreeSet<_> = agent.drift("hello").await.into_iter().map(|record| record.key.to_string()).collect();
    assert_eq!(drifted.len(), 3, "{drifted:?}");
    let told = lab.told(&["drift"]);
    for part in ["/greeting", "/colours", "/key", "healed after"] {
        assert!(told.contains(part), "{told}");
    }
    agent.stop().await;
}

/// Waits until drift of a path was recorded and healed.
async fn healed(agent: &mut Agent, path: &str) -> DriftRecord {
    let record = agent
        .until(&format!("drift of {path} is healed"), async |agent| {
            let records = agent.drift("hello").await;
            records.into_iter().find(|record| record.key.to_string().ends_with(path) && record.healed.is_some())
        })
        .await;
    assert_eq!(record.cause, Cause::Drift);
    assert!(record.healed >= Some(record.seen), "{record:?}");
    record
}
