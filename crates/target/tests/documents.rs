//! Targets in memory, declared in documents.

use std::collections::BTreeMap;
use std::sync::Arc;

use setpoint_core::digest::DigestKey;
use setpoint_core::live::Presence;
use setpoint_core::name::TargetIdentity;
use setpoint_core::observed::Observed;
use setpoint_documents::{Spec, TargetSpec, read_documents};
use setpoint_target::conformance::Steps;
use setpoint_target::{Agent, Asker, Connection, Families, Family, MemoryFamily, NoCache, Outcome};

use crate::scene::{at, at_once, fence, resource};

fn families() -> Families {
    Families::new([Arc::new(MemoryFamily::default()) as Arc<dyn Family>])
}

fn target(spec: &str, families: &Families) -> TargetSpec {
    let text = format!("apiVersion: setpoint.dev/v1\nkind: Target\nmetadata: {{ name: a }}\nspec: {{ {spec} }}\n");
    match read_documents("a.yaml", &text, families.kinds()).expect("a valid document").remove(0).spec {
        Spec::Target(target) => *target,
        other => panic!("a Target, not a {}", other.kind()),
    }
}

fn agent() -> Agent {
    Agent {
        clock: Arc::new(|| at(0)),
        digest_key: DigestKey::new([1; 32]),
        data: "/nowhere".into(),
        own: Vec::new(),
        installation: "test".into(),
        log: Arc::new(|_| ()),
        cache: Arc::new(NoCache),
    }
}

fn connect(spec: &str, families: &Families) -> Connection {
    let spec = target(spec, families);
    families.of(&spec).connect(&spec, &agent()).expect("a connection")
}

fn identity_of(connection: &Connection) -> TargetIdentity {
    at_once(connection.target.identity()).expect("an identity")
}

#[test]
fn a_document_declares_a_system_by_its_name() {
    let families = families();
    let (unnamed, named) = (connect("kind: memory", &families), connect("kind: memory, system: lab", &families));
    assert_eq!(identity_of(&unnamed).as_str(), "memory-default");
    assert_eq!(identity_of(&named).as_str(), "memory-lab");
    assert_eq!(identity_of(&named).family(), families.iter().next().expect("a family").tag());
}

#[test]
fn a_system_outlives_its_connection() {
    let families = families();
    let declared = resource("a", 1);
    let first = connect("kind: memory, system: lab", &families);
    let key = first.kinds.key(&declared.api_version, &declared.kind, &declared.body).expect("a key");
    assert_eq!(key, declared.key);
    let create = Steps::new(identity_of(&first)).create(&declared);
    let created = at_once(first.target.execute(vec![create], fence()));
    assert!(matches!(&created[..], [Outcome::Done { .. }]), "{created:?}");
    drop(first);
    for (spec, is_there) in [("kind: memory, system: lab", true), ("kind: memory, system: other", false)] {
        let target = connect(spec, &families).target;
        let wanted = BTreeMap::from([(key.clone(), None)]);
        let observed = at_once(target.observe(wanted, Asker::default(), at(1)));
        let found = matches!(observed.states[&key], Observed::Known { value: Presence::Present(_), .. });
        assert_eq!(found, is_there, "{spec}");
    }
}
