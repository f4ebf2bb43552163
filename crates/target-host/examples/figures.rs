//! Prints how long a host target takes for many small files: `cargo run --release --example figures -- 1000`.
#![expect(clippy::disallowed_methods, clippy::print_stdout, reason = "a measurement reads the clock and prints it")]

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::{Instant, SystemTime};

use setpoint_core::digest::DigestKey;
use setpoint_core::live::Presence;
use setpoint_core::observed::Observed;
use setpoint_core::resource::Resource;
use setpoint_core::time::{Span, Timestamp};
use setpoint_core::value::Value;
use setpoint_target::conformance::Steps;
use setpoint_target::{Fence, Outcome, Target, Wanted};
use setpoint_target_host::{API_VERSION, HostOptions, HostTarget, check};

const CONTENT: usize = 1024;

fn now() -> Timestamp {
    let since = SystemTime::UNIX_EPOCH.elapsed().unwrap_or_default();
    Timestamp::from_millis(u64::try_from(since.as_millis()).unwrap_or_default())
}

fn file(number: usize, per_folder: usize) -> Resource {
    let path = format!("/d{}/file-{number}", number / per_folder);
    let content = format!("{number}\n{}", "x".repeat(CONTENT));
    let spec = Value::map([("path", Value::str(&path)), ("content", Value::str(&content))]);
    let body = Value::map([
        ("apiVersion", Value::str(API_VERSION)),
        ("kind", Value::str("File")),
        ("metadata", Value::map([("name", Value::str(&format!("file-{number}")))])),
        ("spec", spec),
    ]);
    let key = check("File", &body).expect("a valid file").key();
    Resource {
        key,
        api_version: API_VERSION.into(),
        kind: "File".into(),
        body,
        after: BTreeSet::new(),
        protected: false,
    }
}

#[tokio::main]
async fn main() {
    let count: usize = std::env::args().nth(1).and_then(|text| text.parse().ok()).unwrap_or(1_000);
    let per_folder: usize = std::env::args().nth(2).and_then(|text| text.parse().ok()).unwrap_or(100);
    for trust_stat in [false, true] {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let root = folder.path().join("root");
        for number in 0..count.div_ceil(per_folder) {
            std::fs::create_dir_all(root.join(format!("d{number}"))).expect("a folder");
        }
        let mut options =
            HostOptions::new(Some(root), folder.path().to_owned(), Arc::new(now), DigestKey::new([1; 32]));
        options.trust_stat = trust_stat;
        let target = HostTarget::open(options).expect("a host");
        let steps = Steps::new(target.identity().await.expect("an identity"));
        let resources: Vec<Arc<Resource>> = (0..count).map(|number| Arc::new(file(number, per_folder))).collect();
        let wanted: Wanted = resources.iter().map(|one| (one.key.clone(), Some(Arc::clone(one)))).collect();

        let start = Instant::now();
        target.observe(wanted.clone(), now()).await;
        let absent = start.elapsed();

        let work = resources.iter().map(|one| steps.create(one)).collect();
        let fence =
            Fence { epoch: Steps::EPOCH, leave_by: now() + Span::seconds(60), land_by: now() + Span::seconds(600) };
        let start = Instant::now();
        let outcomes = target.execute(work, fence).await;
        let written = start.elapsed();
        assert!(outcomes.iter().all(|outcome| matches!(outcome, Outcome::Done { .. })));

        std::thread::sleep(std::time::Duration::from_millis(50));
        let mut looks = Vec::new();
        for _ in 0..7 {
            let start = Instant::now();
            let seen = target.observe(wanted.clone(), now()).await;
            looks.push(start.elapsed());
            let equal = |state: &Observed<Presence>| matches!(state.as_known(), Some(Presence::Present(_)));
            assert!(seen.states.values().all(equal));
        }
        let first = looks.remove(0);
        looks.sort();
        println!(
            "{count} files, trust_stat {trust_stat}: look at nothing {absent:.1?}, first write {written:.1?}, first look {first:.1?}, look at all equal {:.1?} (median of 6)",
            looks[3]
        );
    }
}
