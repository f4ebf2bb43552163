//! Lookups in the built-in schema and in given ones.

use super::*;
use crate::origin::Origin;
use crate::read::read;

#[track_caller]
fn list<'a>(schema: &'a Schema, (api_version, kind): (&str, &str), path: &[&str]) -> ListMerge<'a> {
    let resource = schema.resource_of(api_version, kind).unwrap();
    let step = |cursor: Cursor<'a>, name: &&str| if *name == "[]" { cursor.items() } else { cursor.field(name) };
    path.iter().try_fold(resource, step).unwrap().list()
}

#[test]
fn lists_of_kubernetes_are_merged_as_its_openapi_says() {
    let schema = Schema::kubernetes();
    let by = |keys: &[&'static str]| ListMerge::ByKeys(keys.to_vec());
    let pod = ("v1", "Pod");
    assert_eq!(list(&schema, pod, &["spec", "containers"]), by(&["name"]));
    assert_eq!(list(&schema, pod, &["spec", "containers", "[]", "ports"]), by(&["containerPort", "protocol"]));
    assert_eq!(list(&schema, pod, &["spec", "containers", "[]", "args"]), ListMerge::Replace);
    assert_eq!(list(&schema, pod, &["spec", "tolerations"]), ListMerge::Replace);
    assert_eq!(list(&schema, pod, &["metadata", "finalizers"]), ListMerge::Set);
    assert_eq!(list(&schema, pod, &["metadata", "labels", "any"]), ListMerge::Replace);
    let deployment = ("apps/v1", "Deployment");
    assert_eq!(list(&schema, deployment, &["spec", "template", "spec", "volumes"]), by(&["name"]));
    assert_eq!(list(&schema, ("v1", "Service"), &["spec", "ports"]), by(&["port", "protocol"]));
}

#[test]
fn what_openapi_does_not_name_is_not_known() {
    let schema = Schema::kubernetes();
    for (api_version, kind) in
        [("example.com/v1", "Thing"), ("v1", "Deployment"), ("", ""), ("v1", ""), ("zz/v1", "Pod")]
    {
        assert!(schema.resource_of(api_version, kind).is_none(), "{api_version} {kind}");
    }
    let pod = schema.resource(&Gvk::new("", "v1", "Pod")).unwrap();
    for name in ["other", "", "*", "[]", "+", "spec="] {
        assert!(pod.field(name).is_none(), "{name}");
    }
    assert!(pod.items().is_none());
    assert!(pod.field("spec").unwrap().field("containers").unwrap().field("[]").is_none());
}

#[test]
fn every_number_in_the_table_is_a_line_of_it() {
    let table = include_str!("kubernetes.txt");
    let parts: Vec<&str> = table.splitn(4, "\n\n").collect();
    let (kinds, definitions, shapes) = (parts[0], parts[2], parts[3].lines().collect::<Vec<&str>>());
    for part in [kinds, definitions] {
        assert!(part.lines().is_sorted_by_key(|line| line.rsplit_once(' ').unwrap().0));
    }
    for line in kinds.lines().chain(definitions.lines()) {
        assert!(line.rsplit_once(' ').unwrap().1.parse::<usize>().unwrap() < shapes.len(), "{line}");
    }
    for word in
        shapes.iter().flat_map(|line| line.split(' ')).filter(|word| !word.is_empty() && !word.starts_with("+="))
    {
        assert!(word.rsplit_once('=').unwrap().1.parse::<usize>().unwrap() < shapes.len(), "{word}");
    }
}

#[test]
fn kinds_that_are_certainly_in_no_namespace_are_known() {
    let schema = Schema::kubernetes();
    let is = |group, version, kind| schema.is_cluster_scoped(&Gvk::new(group, version, kind));
    assert!(is("", "v1", "Namespace"));
    assert!(is("rbac.authorization.k8s.io", "v1", "ClusterRole"));
    assert!(is("apiextensions.k8s.io", "v1beta1", "CustomResourceDefinition"));
    assert!(!is("", "v1", "Pod"));
    assert!(!is("example.com", "v1", "Thing"));
    assert!(!is("", "v2", "Namespace"), "the version counts");
    assert!(!is("rbac.authorization.k8s.io", "v1", "Role"));
}

const GIVEN: &str = r##"
definitions:
  thing:
    x-kubernetes-group-version-kind:
    - {group: example.com, version: v1, kind: Thing}
    - {version: v1, kind: Pod}
    properties:
      spec: {$ref: "#/definitions/a~1spec"}
      deeper: {$ref: "#/definitions/a~1spec/properties/parts"}
      missing: {$ref: "#/definitions/none"}
      circle: {$ref: "#/definitions/circle"}
  a/spec:
    properties:
      parts:
        type: array
        items: {$ref: "#/definitions/part"}
        x-kubernetes-patch-strategy: merge,retainKeys
        x-kubernetes-patch-merge-key: id
      marks:
        type: [array]
        items: {type: string}
        x-kubernetes-patch-strategy: merge
    additionalProperties: {$ref: "#/definitions/part"}
  part:
    properties:
      ports:
        type: array
        items: {}
        x-kubernetes-patch-strategy: merge
        x-kubernetes-patch-merge-key: a
        x-kubernetes-list-map-keys: [a, b]
      plain: {type: array, items: {}, x-kubernetes-list-map-keys: [a]}
  circle: {$ref: "#/definitions/circle"}
paths:
  /apis/example.com/v1/things/{name}:
    get: {x-kubernetes-group-version-kind: {group: example.com, version: v1, kind: Thing}}
  /apis/example.com/v1/namespaces/{namespace}/others:
    get: {x-kubernetes-group-version-kind: {group: example.com, version: v1, kind: Other}}
  /apis/example.com/v1/others:
    get: {x-kubernetes-group-version-kind: {group: example.com, version: v1, kind: Other}}
  /pods:
    get: {x-kubernetes-group-version-kind: {version: v1, kind: Pod}}
"##;

fn given(text: &str) -> Result<Schema, NoSchema> {
    given_after(BuiltIn::Unread, text)
}

fn given_after(built_in: BuiltIn, text: &str) -> Result<Schema, NoSchema> {
    Schema::from_openapi(&read("openapi", text, Origin::default()).unwrap()[0], built_in)
}

#[test]
fn a_given_schema_stands_in_the_place_of_the_built_in_one() {
    let schema = given(GIVEN).unwrap();
    let thing = ("example.com/v1", "Thing");
    assert_eq!(list(&schema, thing, &["spec", "parts"]), ListMerge::ByKeys(vec!["id"]));
    assert_eq!(list(&schema, thing, &["deeper"]), ListMerge::ByKeys(vec!["id"]));
    assert_eq!(list(&schema, thing, &["deeper", "[]", "ports"]), ListMerge::ByKeys(vec!["a", "b"]));
    assert_eq!(list(&schema, thing, &["spec", "any", "plain"]), ListMerge::Replace, "keys alone do not merge");
    assert_eq!(list(&schema, thing, &["spec", "marks"]), ListMerge::Set);
    let pod = schema.resource_of("v1", "Pod").unwrap();
    assert!(pod.field("spec").unwrap().items().is_none());
    assert!(pod.field("missing").is_none());
    assert!(pod.field("circle").is_none());
    assert!(schema.resource_of("apps/v1", "Deployment").is_none());
    assert!(schema.resource_of("kustomize.config.k8s.io/v1beta1", "Kustomization").is_some());
}

#[test]
fn a_given_schema_stands_beside_the_built_in_one_if_that_was_asked_before() {
    let text = r##"
definitions:
  thing:
    x-kubernetes-group-version-kind: [{group: example.com, version: v1, kind: Thing}, {version: v1, kind: Pod}]
    properties:
      template: {$ref: "#/definitions/io.k8s.api.core.v1.PodTemplateSpec"}
      meta: {$ref: "#/definitions/io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta"}
  io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta: {properties: {finalizers: {type: array, items: {}}}}
"##;
    let thing = ("example.com/v1", "Thing");
    let unread = given_after(BuiltIn::Unread, text).unwrap();
    assert!(unread.resource_of("example.com/v1", "Thing").unwrap().field("template").is_none());
    assert!(unread.resource_of("apps/v1", "Deployment").is_none());
    for (built_in, finalizers, has_spec) in
        [(BuiltIn::Asked, ListMerge::Set, true), (BuiltIn::Read, ListMerge::Replace, false)]
    {
        let schema = given_after(built_in, text).unwrap();
        let containers = list(&schema, thing, &["template", "spec", "containers"]);
        assert_eq!(containers, ListMerge::ByKeys(vec!["name"]), "{built_in:?}");
        assert_eq!(list(&schema, thing, &["meta", "finalizers"]), finalizers, "{built_in:?}");
        let pod = schema.resource_of("v1", "Pod").unwrap();
        assert_eq!(pod.field("spec").is_some(), has_spec, "{built_in:?}");
        assert!(schema.resource_of("apps/v1", "Deployment").is_some(), "{built_in:?}");
    }
}

#[test]
fn a_given_schema_says_what_is_in_no_namespace_unless_kubernetes_knows() {
    let schema = given(GIVEN).unwrap();
    let is = |group, kind| schema.is_cluster_scoped(&Gvk::new(group, "v1", kind));
    assert!(is("example.com", "Thing"));
    assert!(!is("example.com", "Other"), "one path under a namespace is enough");
    assert!(!is("", "Pod"));
    assert!(is("", "Node"));
}

#[test]
fn a_document_that_is_no_schema_is_refused() {
    assert_eq!(given("[]").unwrap_err(), NoSchema::NoMap { field: "the document".into() });
    assert_eq!(given("{definitions: []}").unwrap_err(), NoSchema::NoMap { field: "definitions".into() });
    assert_eq!(given("{paths: a}").unwrap_err(), NoSchema::NoMap { field: "paths".into() });
    let kindless = "{definitions: {a: {x-kubernetes-group-version-kind: [{group: b, kind: c}]}}}";
    assert_eq!(given(kindless).unwrap_err(), NoSchema::NoKind { at: "a".into() });
    assert!(given("{}").unwrap().resource_of("v1", "Pod").is_none());
}
