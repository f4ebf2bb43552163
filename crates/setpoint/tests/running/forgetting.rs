//! Losing state: lost caches cost time and nothing else, and after a lost data directory, deletes
//! need a person's confirmation. Also erasing the body of a record.

use std::collections::BTreeSet;
use std::fs;

use setpoint_api::answer::{AppDetail, DriftRecord};

use super::lab::{Agent, Lab, withholds};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn wiping_everything_disposable_changes_nothing_but_time() {
    let mut lab = Lab::new();
    lab.app("hello").file("hello", "greeting", "Hello\n").file("hello", "colours", "red\n");
    let first = lab.commit();
    let mut agent = lab.start().await;
    let before = agent.until_converged("hello", &first).await;
    assert_eq!(agent.renders(), 1);
    agent.stop().await;

    let mut agent = lab.start().await;
    agent.until_converged("hello", &first).await;
    agent.until("the head is considered", async |agent| agent.has_considered_all().await.then_some(())).await;
    assert_eq!(agent.renders(), 0, "what an app was rendered from is remembered");
    agent.stop().await;

    // Copies of stores, the disposable database, and everything else that is not the installation
    // or its ledger.
    for entry in fs::read_dir(lab.data()).expect("it is there") {
        let path = entry.expect("it can be listed").path();
        let name = path.file_name().expect("entries have names").to_string_lossy().into_owned();
        if name.starts_with("ledger") || name.starts_with("installation") || name == "machine-id" {
            continue;
        }
        if path.is_dir() { fs::remove_dir_all(&path) } else { fs::remove_file(&path) }.expect("it is ours");
    }
    assert!(!lab.data().join("stores").exists() && !lab.data().join("state.db").exists());

    let mut agent = lab.start().await;
    let after = agent.until_converged("hello", &first).await;
    agent.until("it is rendered again", async |agent| (agent.renders() == 1).then_some(())).await;
    assert_eq!((after.summary.accepted, after.resources), (before.summary.accepted, before.resources));
    assert!(agent.drift("hello").await.is_empty());
    let second = lab.file("hello", "greeting", "Good day\n").remove("apps/hello/colours.yaml").commit();
    agent.until_converged("hello", &second).await;
    agent.until("the removed file is gone", async |_| lab.text("colours").is_none().then_some(())).await;
    assert_eq!(lab.text("greeting").as_deref(), Some("Good day\n"));
    agent.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn after_the_data_folder_is_lost_recovered_objects_are_held_and_deleted_only_after_a_release() {
    let mut lab = Lab::new();
    lab.app("hello").file("hello", "greeting", "Hello\n").file("hello", "colours", "red\n");
    let first = lab.commit();
    let mut agent = lab.start().await;
    agent.until_converged("hello", &first).await;
    let config = lab.bootstrap().display().to_string();
    let recover = ["recover", "--config", &config, "--reason", "the disk is gone"];
    let while_running = lab.command(&recover);
    assert_eq!(while_running.code, Some(1), "{}", while_running.output);
    assert!(while_running.complaints.contains("in use"), "{}", while_running.complaints);
    agent.stop().await;
    fs::remove_dir_all(lab.data()).expect("it is ours");

    assert_eq!(lab.command(&["recover", "--config", &config]).code, Some(1), "a recovery has a reason");
    let told = lab.told(&recover);
    assert!(told.contains("2 objects of 1 apps are owned again"), "{told}");
    let again = lab.command(&recover);
    assert_eq!(again.code, Some(1), "what a ledger knows is not overwritten: {}", again.output);

    let mut agent = lab.start().await;
    agent.until_converged("hello", &first).await;
    fs::write(lab.at("greeting"), "by hand\n").expect("anyone may");
    let healed = async |_: &_| (lab.text("greeting").as_deref() == Some("Hello\n")).then_some(());
    agent.until("what was recovered is healed", healed).await;
    lab.remove("apps/hello/colours.yaml").commit();
    agent.hint().await;
    let kept = |detail: &AppDetail| withholds(detail, "setpoint release");
    agent.until_app("hello", "keeps what was recovered", kept).await;
    assert_eq!(lab.text("colours").as_deref(), Some("red\n"));
    assert!(lab.told(&["history", "hello"]).contains("the disk is gone"));

    lab.told(&["release", "hello", "--reason", "I looked at all of it"]);
    agent.until("the removed file is gone", async |_| lab.text("colours").is_none().then_some(())).await;
    agent.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn without_a_recovery_what_is_there_is_a_stranger_s() {
    let mut lab = Lab::new();
    lab.app_with("hello", "sync: { adopt: false }").file("hello", "greeting", "Hello\n");
    let first = lab.commit();
    let mut agent = lab.start().await;
    agent.until_converged("hello", &first).await;
    agent.stop().await;
    fs::remove_dir_all(lab.data()).expect("it is ours");
    fs::write(lab.at("greeting"), "someone's\n").expect("anyone may");
    let mut agent = lab.start().await;
    agent.until_app("hello", "leaves it alone", |detail| withholds(detail, "is not ours")).await;
    assert_eq!(lab.text("greeting").as_deref(), Some("someone's\n"));
    agent.stop().await;
}

/// Reports whether a text occurs anywhere in the files of the ledger.
fn is_kept(lab: &Lab, text: &str) -> bool {
    let holds = |file: &str| fs::read(lab.data().join(file)).unwrap_or_default();
    let files = ["ledger.db", "ledger.db-wal"].map(holds);
    files.iter().any(|bytes| bytes.windows(text.len()).any(|part| part == text.as_bytes()))
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_a_record_says_in_its_body_is_erased_for_good_and_the_ledger_stays_sound() {
    const WORD: &str = "ada lives at 12 analytical road";
    let mut lab = Lab::new();
    lab.app("hello").file("hello", "greeting", "Hello\n");
    let head = lab.commit();
    let mut agent = lab.start().await;
    agent.until_converged("hello", &head).await;
    fs::write(lab.at("greeting"), WORD).expect("anyone may");
    let told = |records: Vec<DriftRecord>| -> BTreeSet<u64> {
        let says = |record: &&DriftRecord| format!("{:?}", record.differences).contains(WORD);
        records.iter().filter(says).map(|record| record.seq).collect()
    };
    let is_over = async |agent: &Agent| {
        let records = agent.drift("hello").await;
        let healed =
            records.iter().all(|record| record.healed.is_some()) && lab.text("greeting").as_deref() == Some("Hello\n");
        Some(told(records)).filter(|found| healed && !found.is_empty())
    };
    let records = agent.until("the drift is recorded and healed", is_over).await;
    let erase = |record: u64| {
        lab.with_config(&["ledger", "erase", "--record", &record.to_string(), "--reason", "asked for by ada"])
    };
    assert_eq!(erase(0).code, Some(1), "the agent is running");
    agent.stop().await;
    assert!(is_kept(&lab, WORD));

    for record in &records {
        let erased = erase(*record);
        assert_eq!(erased.code, Some(0), "{erased:?}");
        assert!(erased.output.contains(&format!("the body of record {record} is erased")), "{erased:?}");
    }
    assert!(!is_kept(&lab, WORD), "nothing of it is left");
    let verified = lab.verify(&[]);
    assert!(verified.contains(&format!("erased {}", records.len())), "{verified}");
    for (record, complaint) in [(*records.first().expect("some"), "no body to erase"), (100_000, "there is no record")]
    {
        let refused = erase(record);
        assert_eq!(refused.code, Some(1), "{refused:?}");
        assert!(refused.complaints.contains(complaint), "{refused:?}");
    }
    let mut agent = lab.start().await;
    agent.until_converged("hello", &head).await;
    assert!(told(agent.drift("hello").await).is_empty());
    let history = lab.told(&["history"]);
    assert!(history.contains("asked for by ada"), "{history}");
    agent.stop().await;
}
