//! The reasons that commands give for changes that are not made: the cause of a failure, and what a
//! change waits for.

use super::lab::{Lab, withholds};

const MISSING: &str = "/etc does not exist: declare it as a Directory";

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_command_shows_why_a_change_fails() {
    let mut lab = Lab::new();
    lab.app("shop").file("shop", "etc/motd", "Hello\n").commit();
    let mut agent = lab.start().await;
    agent.until_app("shop", "fails", |detail| withholds(detail, MISSING)).await;
    // While the change is tried again, there is nothing that is withheld.
    for command in [&["status"][..], &["get", "shop"], &["why", "shop"], &["plan", "shop"]] {
        let shown = async |_: &_| lab.command(command).output.contains(MISSING).then_some(());
        agent.until(&format!("{command:?} shows the cause"), shown).await;
    }
    let why = lab.told(&["why", "shop"]);
    assert!(!why.contains("until") && !why.contains("failures or a fight"), "{why}");
    agent.stop().await;
}

#[test]
fn apply_shows_why_a_change_fails() {
    let mut lab = Lab::new();
    lab.app("shop").file("shop", "etc/motd", "Hello\n").commit();
    let applied = lab.with_config(&["apply", "--once"]);
    assert_eq!(applied.code, Some(4), "{applied:?}");
    assert!(applied.output.contains(&format!("file /etc/motd: the directory {MISSING}")), "{applied:?}");
}
