//! Two kinds of targets, and the fields of Target documents that belong to them.

use setpoint_documents::declaration::object;
use setpoint_documents::{AbsolutePath, Document, Label, Line, Spec, TargetKind, TargetKinds, read_documents};

object! {
    /// A machine.
    pub struct Machine {
        /// The directory to manage.
        "root" root: Option<AbsolutePath> = None,
    }
}

object! {
    /// A fleet of machines.
    pub struct Fleet {
        /// The name of the fleet.
        "fleet" fleet: Label,
    }
}

pub(crate) fn targets() -> TargetKinds {
    let host = TargetKind::new::<Machine>("host", "A machine.");
    [host, TargetKind::new::<Fleet>("fleet", "A fleet.")].into_iter().collect()
}

fn read(spec: &str) -> Result<Vec<Document>, String> {
    let text = format!("apiVersion: setpoint.dev/v1\nkind: Target\nmetadata: {{ name: a }}\nspec: {{ {spec} }}\n");
    read_documents("a.yaml", &text, &targets()).map_err(|found| found.to_string())
}

#[test]
fn a_target_has_the_fields_of_its_kind_and_those_of_all_kinds() {
    let documents = read("kind: host, root: /srv, identity: host-1").unwrap();
    let Spec::Target(target) = &documents[0].spec else { panic!("a Target") };
    assert_eq!((target.kind, target.identity.as_ref().map(Line::as_str)), ("host", Some("host-1")));
    assert_eq!(target.section::<Machine>().unwrap().root.as_ref().map(AbsolutePath::as_str), Some("/srv"));
    assert_eq!(target.section::<Fleet>(), None);
    assert_eq!(read("kind: host, root: /srv, identity: host-1"), Ok(documents.clone()));
    assert_ne!(read("kind: host, root: /other, identity: host-1"), Ok(documents));
}

#[test]
fn a_field_of_another_kind_of_target_is_refused_with_that_kind() {
    let found = read("kind: fleet, fleet: all, root: /srv").unwrap_err();
    assert!(found.contains("`root` has no effect on this kind of target"), "{found}");
    assert!(found.contains("remove it, or set `kind: host`"), "{found}");
}

#[test]
fn the_required_fields_of_a_kind_are_required_of_that_kind_only() {
    assert!(read("kind: host").is_ok());
    assert!(read("kind: fleet").unwrap_err().contains("the field `fleet` is missing"));
    let found = read("kind: fleeet, root: relative").unwrap_err();
    assert!(found.contains("did you mean `fleet`?") && found.contains("`root`:"), "{found}");
    assert!(!found.contains("missing"), "{found}");
}

#[test]
fn an_unknown_field_is_refused_with_the_nearest_of_any_kind() {
    assert!(read("kind: host, rot: /srv").unwrap_err().contains("did you mean `root`?"));
}
