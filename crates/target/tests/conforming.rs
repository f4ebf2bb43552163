//! Runs the suite on all variants of the in-memory target.

use std::future::ready;
use std::sync::Arc;

use setpoint_core::key::Key;
use setpoint_core::name::TargetIdentity;
use setpoint_core::observed::UnknownReason;
use setpoint_core::resource::Resource;
use setpoint_core::time::Timestamp;
use setpoint_target::conformance::{Finished, Form, Subject, failures, names};
use setpoint_target::{Granularity, MemoryOptions, MemoryTarget, Target};

use crate::scene::{at, at_once, resource, world};

/// A target over the world in memory: the one in memory itself, or one that adds a mistake.
pub(crate) struct InMemory<T> {
    pub(crate) target: T,
    pub(crate) memory: MemoryTarget,
    pub(crate) marks: bool,
}

impl InMemory<MemoryTarget> {
    pub(crate) fn new(options: MemoryOptions) -> Self {
        let memory = MemoryTarget::new(world(options));
        memory.set_now(at(0));
        Self { target: memory.clone(), memory, marks: options.marks }
    }
}

impl<T: Target> Subject for InMemory<T> {
    fn target(&self) -> &dyn Target {
        &self.target
    }

    fn now(&self) -> Timestamp {
        at(0)
    }

    fn sample(&self, number: usize, form: Form) -> Resource {
        resource(&format!("sample-{number}"), if form == Form::First { 1 } else { 2 })
    }

    fn tells_own_creates(&self) -> bool {
        self.marks
    }

    fn edit<'a>(&'a self, resource: &'a Resource) -> Finished<'a, ()> {
        let value = Arc::clone(&resource.body);
        assert!(self.memory.with_world(|world| world.edit(&resource.key, &value, "kubectl")));
        Box::pin(ready(()))
    }

    fn remove<'a>(&'a self, key: &'a Key) -> Finished<'a, ()> {
        assert!(self.memory.with_world(|world| world.remove(key)));
        Box::pin(ready(()))
    }

    fn recreate<'a>(&'a self, resource: &'a Resource) -> Finished<'a, ()> {
        let value = Arc::clone(&resource.body);
        self.memory.with_world(|world| world.recreate(&resource.key, value, "kubectl"));
        Box::pin(ready(()))
    }

    fn hide<'a>(&'a self, key: &'a Key) -> Finished<'a, ()> {
        self.memory.hide(key, UnknownReason::Denied { detail: "no right to read".to_owned() });
        Box::pin(ready(()))
    }

    fn replace_system(&self) -> Finished<'_, ()> {
        let other = TargetIdentity::new("machine-2").expect("a valid identity");
        self.memory.with_world(|world| world.become_another(other));
        Box::pin(ready(()))
    }
}

#[test]
fn the_target_in_memory_conforms_in_every_variant() {
    for granularity in [Granularity::Resource, Granularity::Unit] {
        for (checks_epochs, marks) in [(true, true), (true, false), (false, true), (false, false)] {
            let options = MemoryOptions { granularity, checks_epochs, marks, ..MemoryOptions::default() };
            let failures = at_once(failures(async || InMemory::new(options)));
            assert_eq!(failures, [], "{options:?}");
        }
    }
}

#[test]
fn a_cloud_that_makes_one_more_object_for_each_create_does_not_conform() {
    let options = MemoryOptions { idempotent_create: false, ..MemoryOptions::default() };
    let failures = at_once(failures(async || InMemory::new(options)));
    let found: Vec<_> = failures.iter().map(|failure| failure.check).collect();
    assert_eq!(found, ["a_create_finds_nothing_or_changes_nothing", "what_was_refused_is_never_settled_as_done"]);
}

#[test]
fn every_check_has_a_name_of_its_own() {
    let all: Vec<_> = names().collect();
    let distinct: std::collections::BTreeSet<_> = names().collect();
    assert_eq!(all.len(), distinct.len());
}
