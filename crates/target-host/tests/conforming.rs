//! Runs the suite over files, links and directories, with and without root.

use std::fs;
use std::future::ready;
use std::os::unix::fs::{PermissionsExt, symlink};

use setpoint_core::key::Key;
use setpoint_core::resource::Resource;
use setpoint_core::time::Timestamp;
use setpoint_core::value::Value;
use setpoint_target::Target;
use setpoint_target::conformance::{Finished, Form, Subject, failures};

use crate::scene::{Scene, directory, file, is_root, link, now};

/// The kind of the samples.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Sample {
    File,
    Link,
    Folder,
}

struct OnDisk {
    scene: Scene,
    sample: Sample,
}

impl OnDisk {
    fn new(sample: Sample) -> Self {
        Self { scene: Scene::new(), sample }
    }

    fn spec<'v>(resource: &'v Resource, field: &str) -> &'v str {
        resource.body.get("spec").and_then(|spec| spec.get(field)).and_then(Value::as_str).unwrap()
    }

    fn clear(&self, key: &Key) {
        let place = self.scene.at(key.name());
        let _ = if self.sample == Sample::Folder { fs::remove_dir(&place) } else { fs::remove_file(&place) };
    }

    fn make(&self, resource: &Resource) {
        let place = self.scene.at(resource.key.name());
        match self.sample {
            Sample::File => {
                fs::write(&place, Self::spec(resource, "content")).unwrap();
                fs::set_permissions(&place, fs::Permissions::from_mode(0o644)).unwrap();
            }
            Sample::Link => symlink(Self::spec(resource, "target"), &place).unwrap(),
            Sample::Folder => {
                fs::create_dir(&place).unwrap();
                self.change_mode(resource);
            }
        }
    }

    fn change_mode(&self, resource: &Resource) {
        let mode = u32::from_str_radix(Self::spec(resource, "mode"), 8).unwrap();
        fs::set_permissions(self.scene.at(resource.key.name()), fs::Permissions::from_mode(mode)).unwrap();
    }
}

fn done<'a>() -> Finished<'a, ()> {
    Box::pin(ready(()))
}

impl Subject for OnDisk {
    fn target(&self) -> &dyn Target {
        &self.scene.target
    }

    fn now(&self) -> Timestamp {
        now()
    }

    fn sample(&self, number: usize, form: Form) -> Resource {
        let path = format!("/sample-{number}");
        let first = form == Form::First;
        match self.sample {
            Sample::File => file(&path, if first { "one\n" } else { "two\n" }),
            Sample::Link => link(&path, if first { "/one" } else { "/two" }),
            Sample::Folder => directory(&path, if first { "0755" } else { "0700" }),
        }
    }

    fn tells_own_creates(&self) -> bool {
        // An edit removes the mark, and there is no other trace.
        false
    }

    fn edit<'a>(&'a self, resource: &'a Resource) -> Finished<'a, ()> {
        match self.sample {
            Sample::File => fs::write(self.scene.at(resource.key.name()), Self::spec(resource, "content")).unwrap(),
            Sample::Link => {
                self.clear(&resource.key);
                self.make(resource);
            }
            Sample::Folder => self.change_mode(resource),
        }
        done()
    }

    fn remove<'a>(&'a self, key: &'a Key) -> Finished<'a, ()> {
        self.clear(key);
        done()
    }

    fn recreate<'a>(&'a self, resource: &'a Resource) -> Finished<'a, ()> {
        self.clear(&resource.key);
        self.make(resource);
        done()
    }

    fn hide<'a>(&'a self, _: &'a Key) -> Finished<'a, ()> {
        // Root can read everything, so for root the directory is replaced by a file.
        let root = self.scene.root();
        if is_root() && root.is_dir() {
            fs::rename(&root, root.with_extension("away")).unwrap();
            fs::write(&root, "").unwrap();
        } else if !is_root() {
            fs::set_permissions(&root, fs::Permissions::from_mode(0o000)).unwrap();
        }
        done()
    }

    fn replace_system(&self) -> Finished<'_, ()> {
        let root = self.scene.root();
        fs::rename(&root, root.with_extension("old")).unwrap();
        fs::create_dir(&root).unwrap();
        done()
    }
}

impl Drop for OnDisk {
    fn drop(&mut self) {
        // Directories without permissions could not be removed.
        let _ = fs::set_permissions(self.scene.root(), fs::Permissions::from_mode(0o755));
    }
}

async fn failures_of(sample: Sample) -> Vec<(&'static str, String)> {
    let failures = failures(async || OnDisk::new(sample)).await;
    failures.into_iter().map(|failure| (failure.check, failure.detail)).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn files_conform() {
    assert_eq!(failures_of(Sample::File).await, []);
}

#[tokio::test(flavor = "multi_thread")]
async fn links_conform() {
    assert_eq!(failures_of(Sample::Link).await, []);
}

#[tokio::test(flavor = "multi_thread")]
async fn folders_conform_but_for_a_write_that_changes_nothing() {
    let failures = failures_of(Sample::Folder).await;
    // The times of a directory change with its entries, so they are not part of its version:
    // setting the mode that it already has goes unnoticed.
    let checks: Vec<_> = failures.iter().map(|(check, _)| *check).collect();
    assert_eq!(checks, ["what_was_refused_is_never_settled_as_done"], "{failures:?}");
}
