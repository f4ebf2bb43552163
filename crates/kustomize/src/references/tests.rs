//! References to renamed resources.

use super::*;
use crate::defaults::Defaults;
use crate::read::read;
use crate::resource::Former;

/// Reads resources and renames each; the former names are recorded.
fn renamed(text: &str, prefix: &str) -> Vec<Resource> {
    let nodes = read("resources.yaml", text, Origin::default()).unwrap();
    nodes.into_iter().map(|node| rename(Resource::new(node), prefix)).collect()
}

fn rename(mut resource: Resource, prefix: &str) -> Resource {
    let namespace = if resource.namespace().is_empty() { "default" } else { resource.namespace() };
    let former = Former { name: resource.name().into(), namespace: namespace.into(), kind: resource.kind().into() };
    let name = format!("{prefix}{}", former.name);
    resource.former.push(former);
    resource.prefixes.push(prefix.into());
    let metadata = resource.node.as_map_mut().unwrap().get_mut("metadata").unwrap();
    metadata.as_map_mut().unwrap().set("name", Node::text(name, Origin::default()));
    resource
}

fn ids(resources: &[Resource]) -> Vec<Id> {
    let id = |resource: &Resource| Id {
        gvk: resource.gvk(),
        name: resource.name().into(),
        namespace: resource.namespace().into(),
        is_cluster_scoped: resource.kind().starts_with("Cluster"),
    };
    resources.iter().map(id).collect()
}

fn correct_all(resources: &mut [Resource]) -> Result<(), BadReference> {
    let ids = ids(resources);
    correct(resources, &ids, &Defaults::get().name_reference, Origin::default().on(7), &Budget::default())
}

const CONFIG: &str = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: config}\n";
const POD: &str = "apiVersion: v1\nkind: Pod\nmetadata: {name: pod}\nspec:\n  volumes:\n  - configMap: {name: config}\n  - configMap: {name: other}\n  - secret: null\n";

#[test]
fn whoever_names_a_renamed_resource_is_given_its_new_name() {
    let mut resources = renamed(&format!("{CONFIG}---\n{POD}"), "new-");
    correct_all(&mut resources).unwrap();
    let Content::Seq(volumes) = &resources[1].node.at(&["spec", "volumes"]).unwrap().content else { panic!() };
    let names: Vec<_> =
        volumes.iter().map(|volume| volume.at(&["configMap", "name"]).and_then(Node::as_text)).collect();
    assert_eq!(names, [Some("new-config"), Some("other"), None]);
    assert_eq!(volumes[0].at(&["configMap", "name"]).unwrap().origin.line(), 7, "and it is known who set it");
    assert_eq!(resources[0].referred_by.len(), 1);
    assert_eq!(&*resources[0].referred_by[0].name, "new-pod");
}

#[test]
fn a_name_is_of_the_namespace_of_who_has_it() {
    let elsewhere = CONFIG.replace("{name: config}", "{name: config, namespace: shop}");
    let mut resources = renamed(&format!("{elsewhere}---\n{POD}"), "new-");
    correct_all(&mut resources).unwrap();
    let volumes = format!("{:?}", resources[1].node.at(&["spec", "volumes"]).unwrap());
    assert!(!volumes.contains("new-config"), "{volumes}");
}

#[test]
fn of_several_it_is_the_one_with_the_same_prefixes_and_else_nobody_knows() {
    let mut resources = renamed(CONFIG, "a-");
    resources.extend(renamed(CONFIG, "b-"));
    resources.extend(renamed(POD, "b-"));
    correct_all(&mut resources).unwrap();
    assert!(format!("{:?}", resources[2].node).contains("b-config"));

    let mut resources = renamed(CONFIG, "a-");
    resources.extend(renamed(CONFIG, "b-"));
    resources.extend(renamed(POD, "c-"));
    correct_all(&mut resources).unwrap();
    assert!(!format!("{:?}", resources[2].node).contains("-config"), "none of them has its prefix");

    for resource in &mut resources {
        resource.prefixes.clear();
    }
    let error = correct_all(&mut resources).unwrap_err().to_string();
    let known = "updating name reference in 'spec/volumes/configMap/name' field of 'Pod.v1.[noGrp]/c-pod.[noNs]': found multiple possible referrals: \
                 ConfigMap.v1.[noGrp]/a-config.[noNs], ConfigMap.v1.[noGrp]/b-config.[noNs]";
    assert!(error.starts_with(known), "{error}");
}

#[test]
fn bindings_name_accounts_across_namespaces_and_roles_by_their_kind() {
    let text = "apiVersion: rbac.authorization.k8s.io/v1\nkind: RoleBinding\nmetadata: {name: b, namespace: one}\n\
                roleRef: {apiGroup: rbac.authorization.k8s.io, kind: Role, name: r}\nsubjects:\n- {kind: ServiceAccount, name: a, namespace: two}\n\
                ---\napiVersion: v1\nkind: ServiceAccount\nmetadata: {name: a, namespace: two}\n\
                ---\napiVersion: rbac.authorization.k8s.io/v1\nkind: ClusterRole\nmetadata: {name: r}\n\
                ---\napiVersion: rbac.authorization.k8s.io/v1\nkind: Role\nmetadata: {name: r, namespace: one}\n";
    let mut resources = renamed(text, "new-");
    correct_all(&mut resources).unwrap();
    let binding = &resources[0].node;
    assert_eq!(binding.at(&["roleRef", "name"]).and_then(Node::as_text), Some("new-r"));
    let Content::Seq(subjects) = &binding.at(&["subjects"]).unwrap().content else { panic!() };
    assert_eq!(subjects[0].at(&["name"]).and_then(Node::as_text), Some("new-a"));
    assert_eq!((resources[2].referred_by.len(), resources[3].referred_by.len()), (0, 1), "it is the Role's");
}

#[test]
fn a_field_that_leads_nowhere_is_told_with_its_place() {
    let mut resources = renamed(&format!("{CONFIG}---\n{}", POD.replace("spec:\n", "spec: x\nrest:\n")), "new-");
    let error = correct_all(&mut resources).unwrap_err();
    assert_eq!((error.origin.line(), error.problem.clone()), (8, Problem::NoFields));
    assert!(error.to_string().contains("expected sequence or mapping node"), "{error}");
}

#[test]
fn paths_have_slashes_in_names_and_marks_of_lists() {
    let parts = |path: &str| parts(&FieldSpec::new(Gvk::default(), path, false));
    assert_eq!(parts("metadata/annotations/a.b\\/c"), ["metadata", "annotations", "a.b/c"]);
    assert_eq!(parts("/spec/items[]/name"), ["spec", "items", "name"]);
}
