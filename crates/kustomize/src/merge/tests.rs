//! Compares patches with kustomize's results, and tests what the records do not cover: origins,
//! errors, many items.

use super::*;
use crate::node::Value;
use crate::origin::{Origin, Sources};
use crate::read::read;

/// Resources, patches, and kustomize's results (`record/schema`).
const CASES: &str = include_str!("cases.txt");

fn one(text: &str, origin: Origin) -> Node {
    let mut nodes = read("case", text, origin).unwrap();
    assert_eq!(nodes.len(), 1, "{text}");
    nodes.remove(0)
}

/// Formats a node as sorted JSON.
fn json(node: &Node) -> String {
    match &node.content {
        Content::Scalar(scalar) => match scalar.value().unwrap() {
            Value::Null => "null".to_owned(),
            Value::Bool(value) => value.to_string(),
            Value::Number(number) => number,
            Value::Text(text) => format!("{text:?}"),
        },
        Content::Seq(items) => format!("[{}]", items.iter().map(json).collect::<Vec<_>>().join(",")),
        Content::Map(map) => {
            let mut fields: Vec<_> = map.iter().collect();
            fields.sort_by_key(|(name, _)| Arc::clone(name));
            let fields: Vec<_> = fields.into_iter().map(|(name, node)| format!("{name:?}:{}", json(node))).collect();
            format!("{{{}}}", fields.join(","))
        }
    }
}

fn answer(resource: &str, patch: &str) -> String {
    let mut node = one(resource, Origin::default());
    match merge(&one(patch, Origin::default()), &mut node, &Schema::kubernetes(), &Budget::default()) {
        Ok(Merged::RetentionReason) => json(&node),
        Ok(Merged::Deleted) => "deleted".to_owned(),
        Err(problem) => format!("error {}", problem.reason),
    }
}

#[test]
fn patches_are_merged_as_kustomize_does_it() {
    let mut count = 0;
    let mut wrong = Vec::new();
    for line in CASES.lines().filter(|line| line.contains('\t')) {
        let columns: Vec<&str> = line.split('\t').collect();
        let found = answer(columns[0], columns[1]);
        // The first of several errors may differ from kustomize's.
        let is_same = if columns[2].starts_with("error") { found.starts_with("error") } else { found == columns[2] };
        if !is_same {
            wrong.push(format!("{}\n  {}\n  wanted {}\n  found  {found}", columns[0], columns[1], columns[2]));
        }
        count += 1;
    }
    assert!(wrong.is_empty(), "{} of {count}\n{}", wrong.len(), wrong.join("\n"));
    assert!(count >= 150, "{count}");
}

/// Lists the nodes in order, each with its source (`resource` or `patch`) and line.
fn told(resource: &str, patch: &str) -> Vec<String> {
    fn tell(node: &Node, path: &str, sources: &Sources, lines: &mut Vec<String>) {
        let source = &sources.get(node.origin).file;
        match &node.content {
            Content::Scalar(scalar) => lines.push(format!("{path}={} {source}:{}", scalar.text, node.origin.line())),
            Content::Seq(items) => items.iter().for_each(|item| tell(item, &format!("{path}[]"), sources, lines)),
            Content::Map(map) => {
                map.iter().for_each(|(name, node)| tell(node, &format!("{path}.{name}"), sources, lines));
            }
        }
    }
    let mut sources = Sources::default();
    let mut node = one(resource, sources.add("resource".into(), None));
    let patch = one(patch, sources.add("patch".into(), None));
    merge(&patch, &mut node, &Schema::kubernetes(), &Budget::default()).unwrap();
    let mut lines = Vec::new();
    tell(node.at(&["spec"]).unwrap(), "", &sources, &mut lines);
    lines
}

#[test]
fn each_node_says_who_set_it() {
    let resource =
        "apiVersion: v1\nkind: Pod\nspec:\n  z: 1\n  containers:\n  - name: a\n    image: b\n    env: [{name: c}]\n";
    let patch = "spec:\n  y: 2\n  x: 3\n  containers:\n  - name: d\n  - name: a\n    image: e\n";
    let wanted = [
        ".z=1 resource:4",
        ".containers[].name=d patch:5",
        ".containers[].name=a resource:6",
        ".containers[].image=e patch:7",
        ".containers[].env[].name=c resource:8",
        ".x=3 patch:3",
        ".y=2 patch:2",
    ];
    assert_eq!(told(resource, patch), wanted);
}

#[test]
fn errors_say_where_and_what_to_write() {
    let error = |patch: &str| {
        let mut pod =
            one("{apiVersion: v1, kind: Pod, spec: {containers: [{name: a, env: [{name: b}]}]}}", Origin::default());
        merge(&one(patch, Origin::default()), &mut pod, &Schema::kubernetes(), &Budget::default())
            .unwrap_err()
            .to_string()
    };
    assert_eq!(
        error("{spec: {containers: [{name: a, env: {b: c}}]}}"),
        "`spec.containers.[name=a].env`: wrong node kind: expected SequenceNode but got MappingNode; \
         write the same kind of node in the patch as in the resource, or remove the field by an earlier patch"
    );
    assert_eq!(
        error("{spec: {$patch: drop}}"),
        "`spec`: unknown patch strategy 'drop'; write `replace`, `delete` or `merge` after `$patch`"
    );
}

/// Builds a pod with this number of containers, and a patch for each of them.
fn pods(count: usize, item: impl Fn(usize) -> String) -> (Node, Node) {
    let containers: Vec<String> = (0..count).map(item).collect();
    let text = format!("{{apiVersion: v1, kind: Pod, spec: {{containers: [{}]}}}}", containers.join(","));
    let labels: Vec<String> = (0..count).map(|at| format!("l{at}: x")).collect();
    let patch =
        format!("{{metadata: {{labels: {{{}}}}}, spec: {{containers: [{}]}}}}", labels.join(","), containers.join(","));
    (one(&text, Origin::default()), one(&patch, Origin::default()))
}

#[test]
fn many_items_with_keys_are_merged_in_time_that_grows_with_their_number() {
    let (mut pod, patch) =
        pods(50_000, |at| format!("{{name: c{at}, ports: [{{containerPort: {at}, protocol: TCP}}]}}"));
    let before = json(&pod);
    assert_eq!(merge(&patch, &mut pod, &Schema::kubernetes(), &Budget::default()), Ok(Merged::RetentionReason));
    assert_eq!(
        json(pod.at(&["spec"]).unwrap()).len() + "{\"apiVersion\":\"v1\",\"kind\":\"Pod\",\"spec\":}".len(),
        before.len()
    );
    assert_eq!(pod.at(&["metadata", "labels"]).and_then(Node::as_map).map(Map::len), Some(50_000));
}

#[test]
fn many_items_without_keys_are_refused() {
    let (mut pod, patch) = pods(513, |at| format!("{{image: c{at}}}"));
    let problem = merge(&patch, &mut pod, &Schema::kubernetes(), &Budget::default()).unwrap_err();
    assert_eq!(problem.reason, Reason::TooIrregular { count: 1_026 });
    assert_eq!(problem.path, "spec.containers");
}

#[test]
fn a_given_schema_says_how_lists_are_merged() {
    let document = "
definitions:
  thing:
    x-kubernetes-group-version-kind: [{group: example.com, version: v1, kind: Thing}]
    properties:
      spec:
        properties:
          parts: {type: array, items: {type: object}, x-kubernetes-patch-strategy: merge, x-kubernetes-patch-merge-key: id}
";
    let schema = Schema::from_openapi(&one(document, Origin::default()), crate::schema::BuiltIn::Unread).unwrap();
    let mut thing = one("{apiVersion: example.com/v1, kind: Thing, spec: {parts: [{id: a, v: 1}]}}", Origin::default());
    let patch = one("{spec: {parts: [{id: b}, {id: a, w: 2}]}}", Origin::default());
    assert_eq!(merge(&patch, &mut thing, &schema, &Budget::default()), Ok(Merged::RetentionReason));
    assert_eq!(json(thing.at(&["spec"]).unwrap()), r#"{"parts":[{"id":"b"},{"id":"a","v":1,"w":2}]}"#);
}

#[test]
fn a_text_in_the_place_of_a_folded_one_is_written_folded() {
    let mut map = one("apiVersion: v1\nkind: ConfigMap\ndata:\n  a: >\n    x\n  b: y\n", Origin::default());
    let patch = one("data:\n  a: \"c\\n d\"\n  b: >-\n    e\n\n     f\n", Origin::default());
    merge(&patch, &mut map, &Schema::kubernetes(), &Budget::default()).unwrap();
    let shape = |field| match setpoint_yaml::go::Tree::shape(map.at(&["data", field]).unwrap()) {
        setpoint_yaml::go::Shape::Text(text) => text.into_owned(),
        _ => panic!("{field} is a text"),
    };
    assert_eq!(shape("a"), "c\n\n d", "which is not what the patch says");
    assert_eq!(shape("b"), "e\n\n f");
}
