//! The family of targets in memory: systems that exist as long as the agent runs, for experiments
//! and tests.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, PoisonError};

use setpoint_core::key::Key;
use setpoint_core::name::TargetIdentity;
use setpoint_core::time::Span;
use setpoint_core::value::Value;
use setpoint_documents::declaration::object;
use setpoint_documents::{FieldProblem, Label, TargetKind, TargetSpec};

use super::{MemoryOptions, MemoryTarget, MemoryWorld, naming};
use crate::connection::{Agent, Connection};
use crate::contract::Unidentifiable;
use crate::family::{Effects, Family, NotConnected};
use crate::kinds::Kinds;

/// The word that begins the identities of targets in memory.
const FAMILY: &str = "memory";

object! {
    /// A system in the memory of the agent.
    pub struct MemorySection {
        /// The name of a system in memory. Targets with the same name are the same system.
        "system" system: Label = Label::new("default").expect("a valid name"),
    }
}

/// The family of targets in memory. Clones share their systems.
#[derive(Clone, Debug, Default)]
pub struct MemoryFamily(Arc<Mutex<BTreeMap<Label, MemoryTarget>>>);

impl Family for MemoryFamily {
    fn kind(&self) -> TargetKind {
        TargetKind::new::<MemorySection>(FAMILY, "A target in the memory of the agent, for experiments.")
    }

    fn noun(&self) -> &'static str {
        "a target in memory"
    }

    fn tag(&self) -> &'static str {
        FAMILY
    }

    fn effects(&self) -> Effects {
        Effects { lands_within: Some(Span::ZERO), ends_with_agent: true, ..Effects::default() }
    }

    fn offline_kinds(&self, _: &TargetSpec) -> Arc<dyn Kinds + Send + Sync> {
        Arc::new(AnyKinds)
    }

    fn connect(&self, spec: &TargetSpec, agent: &Agent) -> Result<Connection, NotConnected> {
        let section: &MemorySection = spec.section().expect("the family is asked about its own documents only");
        let identity = TargetIdentity::new(&format!("{FAMILY}-{}", section.system.as_str()))?;
        let created = || {
            let target = MemoryTarget::new(MemoryWorld::new(identity, MemoryOptions::default()));
            target.follow(Arc::clone(&agent.clock));
            target
        };
        let mut systems = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let target = systems.entry(section.system.clone()).or_insert_with(created).clone();
        Ok(Connection { target: Arc::new(target), kinds: Arc::new(AnyKinds), tasks: Vec::new() })
    }
}

/// Objects of any kind with a name, for the accept plane.
#[derive(Debug)]
struct AnyKinds;

impl Kinds for AnyKinds {
    fn check(&self, _: &str, _: &str, _: &Value) -> Vec<FieldProblem> {
        Vec::new()
    }

    fn key(&self, api_version: &str, kind: &str, body: &Value) -> Result<Key, Unidentifiable> {
        naming::key_of(api_version, kind, body)
    }

    fn after(&self, _: &[(Key, &Value)]) -> BTreeMap<Key, BTreeSet<Key>> {
        BTreeMap::new()
    }

    /// No object contains others.
    fn is_protected(&self, _: &str, _: &str) -> bool {
        false
    }
}
