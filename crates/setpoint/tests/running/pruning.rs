//! Objects that are no longer declared: deleted last, late and within a budget, and never because
//! something disappeared by accident.

use std::borrow::Cow;
use std::collections::BTreeSet;
use std::ffi::CStr;
use std::mem::MaybeUninit;
use std::os::unix::fs::MetadataExt as _;
use std::path::Path;

use rustix::fs::inotify;
use setpoint_api::AskError;
use setpoint_api::answer::AppState;
use setpoint_api::question::OrderKind;
use setpoint_core::time::Span;
use setpoint_engine::Settings;

use super::lab::{Agent, Lab, is_at, withholds};

/// Returns a lab whose app `hello` has created these files and no longer declares the last of them.
async fn after_a_removal(settings: Settings) -> (Lab, Agent, String) {
    let mut lab = Lab::new();
    lab.settings = settings;
    lab.app("hello").file("hello", "greeting", "Hello\n").file("hello", "colours", "red\n");
    let first = lab.commit();
    let mut agent = lab.start().await;
    agent.until_converged("hello", &first).await;
    let second = lab.remove("apps/hello/colours.yaml").commit();
    agent.hint().await;
    (lab, agent, second)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_removed_file_stays_through_the_quarantine_and_goes_after_it() {
    let (mut lab, mut agent, head) = after_a_removal(Settings::default()).await;
    let kept = |detail: &_| withholds(detail, "deletes are withheld for");
    agent.until_app("hello", "keeps what was removed", kept).await;
    assert!(lab.told(&["why", "hello"]).contains("deletes are withheld for"));
    agent.stop().await;
    assert_eq!(lab.text("colours").as_deref(), Some("red\n"));

    lab.settings.quarantine = Span::ZERO;
    let mut agent = lab.start().await;
    agent.until("the removed file is gone", async |_| lab.text("colours").is_none().then_some(())).await;
    agent.until_converged("hello", &head).await;
    assert_eq!(lab.text("greeting").as_deref(), Some("Hello\n"));
    agent.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_end_of_the_quarantine_is_noticed_without_anything_else_happening() {
    let quarantine = Span::seconds(3);
    let before = setpoint::doors::Clock::start().now();
    let (lab, mut agent, head) = after_a_removal(Settings { quarantine, ..Settings::default() }).await;
    agent.until("the removed file is gone", async |_| lab.text("colours").is_none().then_some(())).await;
    assert!(agent.overview().await.now >= before + quarantine);
    agent.until_converged("hello", &head).await;
    agent.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn deletes_stay_within_the_budget_until_a_person_allows_more() {
    let mut lab = Lab::new();
    lab.app("many");
    let name = |number: u32| format!("file-{number:02}");
    for number in 0..20 {
        lab.file("many", &name(number), "x\n");
    }
    let first = lab.commit();
    let mut agent = lab.start().await;
    agent.until_converged("many", &first).await;
    for number in 0..4 {
        lab.remove(&format!("apps/many/{}.yaml", name(number)));
    }
    lab.commit();
    agent.hint().await;
    let standing = |lab: &Lab| (0..20).filter(|number| lab.text(&name(*number)).is_some()).count();
    // A tenth of twenty may be deleted. Later observations do not permit more.
    agent.until("two are gone", async |_| (standing(&lab) == 18).then_some(())).await;
    agent.order("many", OrderKind::Sync { allow_prune: 0 }).await;
    let told = async |_: &_| lab.told(&["why", "many"]).contains("--allow-prune").then_some(());
    agent.until("a person is told what would let them go", told).await;
    assert_eq!(standing(&lab), 18);

    lab.told(&["sync", "many", "--allow-prune", "2", "--reason", "OPS-1"]);
    agent.until("all four are gone", async |_| (standing(&lab) == 16).then_some(())).await;
    assert!(lab.told(&["history", "many"]).contains("OPS-1"), "who allowed more, and why, is recorded");
    agent.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_emptied_folder_prunes_nothing_and_why_says_so() {
    let mut lab = Lab::new();
    lab.app("hello").file("hello", "greeting", "Hello\n").file("hello", "colours", "red\n");
    lab.write("apps/hello/README.md", "what is here\n");
    let first = lab.commit();
    let mut agent = lab.start().await;
    agent.until_converged("hello", &first).await;
    lab.remove("apps/hello/greeting.yaml").remove("apps/hello/colours.yaml").commit();
    agent.hint().await;
    agent.until_app("hello", "keeps everything", |detail| withholds(detail, "an empty render never prunes")).await;
    assert!(lab.told(&["why", "hello"]).contains("spec.retire: true"));

    // A missing directory is an error and not an empty app.
    lab.remove("apps/hello/README.md").commit();
    agent.hint().await;
    agent.until_app("hello", "refuses the version", |detail| detail.refused.is_some()).await;
    assert!(lab.told(&["why", "hello"]).contains("apps/hello"));
    assert!(lab.text("greeting").is_some() && lab.text("colours").is_some());
    agent.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_app_whose_document_is_removed_freezes() {
    let mut lab = Lab::new();
    lab.app("hello").file("hello", "greeting", "Hello\n").app("other").file("other", "other", "x\n");
    let first = lab.commit();
    let mut agent = lab.start().await;
    agent.until_converged("hello", &first).await;
    lab.remove("setpoint/hello.yaml").file("hello", "greeting", "Bye\n").file("other", "other", "y\n");
    let second = lab.commit();
    agent.hint().await;
    agent.until_app("hello", "is frozen", |detail| detail.summary.state == AppState::Frozen).await;
    agent.until_converged("other", &second).await;
    assert_eq!(lab.text("greeting").as_deref(), Some("Hello\n"));
    assert!(lab.told(&["why", "hello"]).contains("frozen"));
    agent.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_renamed_app_goes_on_with_the_same_files_and_its_old_name_is_forgotten() {
    let mut lab = Lab::new();
    lab.app("hello").file("hello", "greeting", "Hello\n");
    let first = lab.commit();
    let mut agent = lab.start().await;
    agent.until_converged("hello", &first).await;
    let inode = |lab: &Lab| std::fs::metadata(lab.at("greeting")).expect("it is there").ino();
    let before = inode(&lab);

    lab.remove("setpoint/hello.yaml").remove("apps/hello/greeting.yaml");
    let second = lab.app("welcome").file("welcome", "greeting", "Hello\n").commit();
    agent.until_converged("welcome", &second).await;
    let forgotten = async |agent: &Agent| matches!(agent.detail("hello").await, Err(AskError::Refused(_)));
    agent.until("the old name is forgotten", async |agent| forgotten(agent).await.then_some(())).await;
    assert_eq!(inode(&lab), before, "the file was not written again");
    let owned = agent.detail("welcome").await.expect("it answers").resources;
    assert!(!owned.is_empty() && owned.iter().all(|line| line.owned), "{owned:?}");
    agent.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_retired_app_is_pruned_and_then_forgotten() {
    let mut lab = Lab::new();
    lab.app("hello").file("hello", "greeting", "Hello\n").file("hello", "colours", "red\n");
    lab.app("other").file("other", "other", "x\n");
    let first = lab.commit();
    let mut agent = lab.start().await;
    agent.until_converged("hello", &first).await;
    lab.app_with("hello", "retire: true").commit();
    agent.hint().await;
    let forgotten = async |agent: &Agent| matches!(agent.detail("hello").await, Err(AskError::Refused(_)));
    agent.until("the app is forgotten", async |agent| forgotten(agent).await.then_some(())).await;
    assert_eq!((lab.text("greeting"), lab.text("colours")), (None, None));
    assert_eq!(lab.text("other").as_deref(), Some("x\n"));
    agent.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_resource_that_moves_to_another_app_is_handed_over_and_never_absent() {
    let mut lab = Lab::new();
    lab.app("from").file("from", "moving", "x\n").file("from", "staying", "x\n");
    lab.app("to").file("to", "waiting", "x\n");
    let first = lab.commit();
    let mut agent = lab.start().await;
    agent.until_converged("from", &first).await;
    agent.until_converged("to", &first).await;
    let watch = Watch::on(&lab.at(""));

    lab.remove("apps/from/moving.yaml").file("to", "moving", "x\n");
    let second = lab.commit();
    agent.hint().await;
    let owned = |detail: &setpoint_api::answer::AppDetail| {
        is_at(detail, &second)
            && detail.resources.iter().any(|line| line.owned && line.key.to_string().ends_with("/moving"))
    };
    agent.until_app("to", "owns what moved", owned).await;
    agent.until_converged("to", &second).await;
    agent.until_converged("from", &second).await;
    assert_eq!(lab.text("moving").as_deref(), Some("x\n"));
    assert!(!watch.gone().contains("moving"), "it was absent for a while");
    agent.stop().await;
}

/// A watch for names that disappear from a directory.
struct Watch(rustix::fd::OwnedFd);

impl Watch {
    fn on(folder: &Path) -> Self {
        let events = inotify::init(inotify::CreateFlags::NONBLOCK | inotify::CreateFlags::CLOEXEC).expect("it starts");
        let flags = inotify::WatchFlags::DELETE | inotify::WatchFlags::MOVED_FROM;
        inotify::add_watch(&events, folder, flags).expect("the folder is there");
        Self(events)
    }

    /// Returns the names that have disappeared at any time since.
    fn gone(self) -> BTreeSet<String> {
        let mut space = [MaybeUninit::uninit(); 4096];
        let mut events = inotify::Reader::new(&self.0, &mut space);
        let mut gone = BTreeSet::new();
        while let Ok(event) = events.next() {
            gone.extend(event.file_name().map(CStr::to_string_lossy).map(Cow::into_owned));
        }
        gone
    }
}
