//! Cached renders: a version that comes back costs no render, even in another process, and nothing
//! is deleted because of the cache.

use std::fs;
use std::path::PathBuf;

use serde_json::Value;
use setpoint::agent::folder::DataFolder;
use setpoint_core::canonical;
use setpoint_core::digest::Digest;

use super::lab::{Agent, Lab, withholds};

/// Returns the files of cached renders that contain this text.
fn entries(lab: &Lab, text: &str) -> Vec<PathBuf> {
    let folder = DataFolder::open(&lab.data()).expect("it is ours").renders();
    let files = fs::read_dir(folder).expect("it is there").map(|file| file.expect("it can be listed").path());
    files.filter(|file| fs::read_to_string(file).expect("entries are text").contains(text)).collect()
}

/// Changes the objects in the cached render that contains this text, with a valid seal, as if the
/// agent itself had written it.
fn plant(lab: &Lab, text: &str, keep: impl Fn(&Value) -> bool) {
    let found = entries(lab, text);
    let [file] = &found[..] else { panic!("one render says {text}: {found:?}") };
    let written = fs::read_to_string(file).expect("it is text");
    let [_, header, objects] = written.splitn(3, '\n').collect::<Vec<_>>()[..] else { panic!("{written}") };
    let mut header: Value = serde_json::from_str(header).expect("it is JSON");
    let mut objects: Vec<Value> = serde_json::from_str(objects).expect("it is JSON");
    objects.retain(keep);
    let objects = serde_json::to_vec(&objects).expect("it is JSON");
    header["objects"] = Digest::of(&objects).to_string().into();
    let header = serde_json::to_vec(&header).expect("it is JSON");
    let installation = DataFolder::open(&lab.data()).and_then(|folder| folder.installation()).expect("it is installed");
    let seal = canonical::to_bytes(&installation.digest_key.digest(&header));
    fs::write(file, [seal, header, objects].join(&b'\n')).expect("it is ours");
}

/// Returns a lab whose app declared two files with a greeting, then with another one.
async fn after_two_versions() -> Lab {
    let mut lab = Lab::new();
    lab.app("hello").file("hello", "greeting", "Hello\n").file("hello", "colours", "red\n");
    let first = lab.commit();
    let mut agent = lab.start().await;
    agent.until_converged("hello", &first).await;
    let second = lab.file("hello", "greeting", "Good day\n").commit();
    agent.until_converged("hello", &second).await;
    assert_eq!(agent.renders(), 2);
    agent.stop().await;
    lab
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_version_that_comes_back_is_not_rendered_again_and_neither_is_one_that_is_planned() {
    let mut lab = after_two_versions().await;
    let mut agent = lab.start().await;
    let third = lab.file("hello", "greeting", "Hello\n").commit();
    agent.until_converged("hello", &third).await;
    assert_eq!(lab.text("greeting").as_deref(), Some("Hello\n"));
    let planned = lab.command(&["plan", "hello", "--rev", &third]);
    assert_eq!(planned.code, Some(0), "{planned:?}");
    assert_eq!(agent.renders(), 0);
    let fourth = lab.file("hello", "greeting", "Good evening\n").commit();
    agent.until_converged("hello", &fourth).await;
    assert_eq!(agent.renders(), 1);
    agent.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_delete_takes_a_fresh_render_though_the_version_is_remembered() {
    let mut lab = Lab::new();
    let one = lab.app("hello").file("hello", "greeting", "Hello\n").commit();
    let mut agent = lab.start().await;
    agent.until_converged("hello", &one).await;
    let both = lab.file("hello", "colours", "red\n").commit();
    agent.until_converged("hello", &both).await;
    assert_eq!(agent.renders(), 2);
    let one_again = lab.remove("apps/hello/colours.yaml").commit();
    agent.hint().await;
    agent.until("the removed file is gone", async |_| lab.text("colours").is_none().then_some(())).await;
    assert!(agent.renders() > 2);
    agent.until_converged("hello", &one_again).await;
    agent.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn nothing_is_deleted_for_a_planted_render_that_leaves_something_out() {
    let mut lab = after_two_versions().await;
    plant(&lab, "Hello", |object| object["body"]["metadata"]["name"] == "greeting");
    let mut agent = lab.start().await;
    lab.file("hello", "greeting", "Hello\n").commit();
    agent.hint().await;
    let kept = |detail: &_| withholds(detail, "a fresh render from the store differs");
    agent.until_app("hello", "keeps what was left out", kept).await;
    assert_eq!(lab.text("greeting").as_deref(), Some("Hello\n"), "what is remembered was taken");
    assert_eq!(lab.text("colours").as_deref(), Some("red\n"));

    let next = lab.file("hello", "greeting", "Good evening\n").commit();
    agent.until_converged("hello", &next).await;
    assert_eq!(lab.text("colours").as_deref(), Some("red\n"));
    assert_eq!(entries(&lab, "Hello").len(), 1, "the fresh render took its place");
    assert!(fs::read_to_string(&entries(&lab, "Hello")[0]).expect("it is text").contains("colours"));
    agent.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn nothing_is_deleted_for_a_planted_render_that_declares_nothing() {
    let mut lab = after_two_versions().await;
    plant(&lab, "Hello", |_| false);
    let mut agent = lab.start().await;
    lab.file("hello", "greeting", "Hello\n").commit();
    agent.hint().await;
    agent.until_app("hello", "keeps everything", |detail| withholds(detail, "an empty render never prunes")).await;
    assert_eq!((lab.text("greeting").as_deref(), lab.text("colours").as_deref()), (Some("Good day\n"), Some("red\n")));
    agent.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_damaged_render_is_said_once_and_made_again() {
    let mut lab = after_two_versions().await;
    let damaged = entries(&lab, "Hello").remove(0);
    let text = fs::read_to_string(&damaged).expect("it is text");
    fs::write(&damaged, text.replace("Hello", "Hallo")).expect("it is ours");
    let mut agent = lab.start().await;
    let third = lab.file("hello", "greeting", "Hello\n").commit();
    agent.until_converged("hello", &third).await;
    assert_eq!((agent.renders(), lab.text("greeting").as_deref()), (1, Some("Hello\n")));
    let complaints =
        |agent: &Agent| agent.said().iter().filter(|line| line.contains("has changed since it was written")).count();
    assert_eq!(complaints(&agent), 1, "{:?}", agent.said());
    agent.stop().await;
}
