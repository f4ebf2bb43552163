//! Prints how long a host target takes for many small files: `cargo run --release --example figures
//! -- 1000`.
#![expect(clippy::disallowed_methods, clippy::print_stdout, reason = "a measurement reads the clock and prints it")]

use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime};

use setpoint_core::digest::DigestKey;
use setpoint_core::live::Presence;
use setpoint_core::observed::Observed;
use setpoint_core::resource::Resource;
use setpoint_core::time::{Span, Timestamp};
use setpoint_core::value::Value;
use setpoint_target::conformance::Steps;
use setpoint_target::{Asker, Fence, Outcome, Target, Wanted};
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
    Resource::new(key, API_VERSION, "File", body)
}

/// Returns the argument at this position, or the default.
fn argument(place: usize, usual: usize) -> usize {
    std::env::args().nth(place).and_then(|text| text.parse().ok()).unwrap_or(usual)
}

/// Arguments: the number of files, of files in each directory, and of observations.
#[tokio::main]
async fn main() {
    let (count, per_folder, looks) = (argument(1, 1_000), argument(2, 100), argument(3, 7));
    for trust_stat in [false, true] {
        measure(count, per_folder, looks, trust_stat).await;
    }
}

async fn measure(count: usize, per_folder: usize, looks: usize, trust_stat: bool) {
    let folder = tempfile::tempdir().expect("a temporary directory");
    let root = folder.path().join("root");
    for number in 0..count.div_ceil(per_folder) {
        std::fs::create_dir_all(root.join(format!("d{number}"))).expect("a directory");
    }
    let mut options = HostOptions::new(Some(root), folder.path().to_owned(), Arc::new(now), DigestKey::new([1; 32]));
    options.trust_stat = trust_stat;
    let target = HostTarget::open(options).expect("a host");
    let resources: Vec<Arc<Resource>> = (0..count).map(|number| Arc::new(file(number, per_folder))).collect();
    let wanted: Wanted = resources.iter().map(|one| (one.key.clone(), Some(Arc::clone(one)))).collect();
    let empty = look(&target, &wanted, false).await;
    let written = write(&target, &resources).await;
    // Until then, the written files are too fresh to be trusted by their stat.
    std::thread::sleep(Duration::from_millis(50));
    let first = look(&target, &wanted, true).await;
    let mut rest = Vec::new();
    for _ in 1..looks {
        rest.push(look(&target, &wanted, true).await);
    }
    rest.sort();
    let median = rest.get(rest.len() / 2).copied().unwrap_or(first);
    println!("{count} files, trust_stat {trust_stat}: first write {written:.1?}");
    println!("  look at nothing {empty:.1?}, first look {first:.1?}, look at all equal {median:.1?} (median)");
}

async fn look(target: &HostTarget, wanted: &Wanted, there: bool) -> Duration {
    let start = Instant::now();
    let seen = target.observe(wanted.clone(), Asker::default(), now()).await;
    let elapsed = start.elapsed();
    let right = |state: &Observed<Presence>| matches!(state.as_known(), Some(Presence::Present(_))) == there;
    assert!(seen.states.values().all(right));
    elapsed
}

async fn write(target: &HostTarget, resources: &[Arc<Resource>]) -> Duration {
    let steps = Steps::new(target.identity().await.expect("an identity"));
    let work = resources.iter().map(|one| steps.create(one)).collect();
    let (leave_by, land_by) = (now() + Span::seconds(60), now() + Span::seconds(600));
    let start = Instant::now();
    let outcomes = target.execute(work, Fence { epoch: Steps::EPOCH, leave_by, land_by }).await;
    let elapsed = start.elapsed();
    assert!(outcomes.iter().all(|outcome| matches!(outcome, Outcome::Done { .. })));
    elapsed
}
