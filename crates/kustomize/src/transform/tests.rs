//! Compares transformers with kustomize, case by case; `record/transformers` recorded the expected
//! results.

use std::collections::BTreeMap;
use std::error::Error;
use std::sync::Arc;

use serde_json::{Value, json};

use super::*;
use crate::defaults::Defaults;
use crate::field_spec::FieldSpec;
use crate::json_patch::JsonPatch;
use crate::limits::Budget;
use crate::node::{Content, Node};
use crate::origin::Origin;
use crate::read::read;
use crate::resource::Resource;

const RECORDED: &str = include_str!("../../tests/recorded/transformers.jsonl");

type Outcome = Result<(Vec<String>, Vec<Value>), Box<dyn Error>>;

#[test]
fn transformers_do_what_kustomize_does() {
    let mut wrong = Vec::new();
    for line in RECORDED.lines() {
        let case: Value = serde_json::from_str(line).expect("a case");
        let config = case["config"].as_str().expect("a configuration");
        let expected = case.get("written").map(|written| (written.clone(), case["notes"].clone()));
        let found = outcome(
            case["do"].as_str().expect("a transformer"),
            config,
            case["resources"].as_str().expect("documents"),
        );
        let is_right = match (&expected, &found) {
            (Some((written, notes)), Ok((own, own_notes))) => {
                json!(own) == *written
                    && (notes.is_null() || json!(own_notes) == once_each(notes) || case["do"] == "build")
            }
            (None, Err(_)) => true,
            _ => false,
        };
        if !is_right {
            wrong.push(format!("{line}\n  we: {found:?}"));
        }
    }
    assert!(wrong.is_empty(), "{} differ:\n{}", wrong.len(), wrong.join("\n"));
    assert!(RECORDED.lines().count() > 400);
}

fn outcome(what: &str, config: &str, documents: &str) -> Outcome {
    if what == "merge" {
        let mut merged = Vec::new();
        for list in items(&read_one(config)?) {
            FieldSpec::merge(&mut merged, &specs(Some(list)))?;
        }
        return Ok((merged.iter().map(FieldSpec::to_string).collect(), Vec::new()));
    }
    let mut resources: Vec<Resource> =
        read("resources.yaml", documents, Origin::default())?.into_iter().map(Resource::new).collect();
    match what {
        "json_patch" => {
            let patch = JsonPatch::parse("patch.yaml", config, Origin::default())?;
            resources
                .iter_mut()
                .try_for_each(|resource| patch.apply(&mut resource.node, Origin::default(), &Budget::default()))?;
        }
        "build" => build(config, &mut resources)?,
        _ => {
            for config in config.split("\n---\n") {
                let other = config.lines().next().and_then(|line| line.strip_prefix("# "));
                transform(other.unwrap_or(what), &read_one(config)?, &mut resources)?;
            }
        }
    }
    let notes = resources.iter().map(noted).collect();
    let written = resources.into_iter().map(written).collect::<Result<_, _>>()?;
    Ok((written, notes))
}

fn written(mut resource: Resource) -> Result<String, Box<dyn Error>> {
    resource.is_annotated = true;
    resource.finish(false, false).unwrap();
    check(&resource.node)?;
    let mut text = String::new();
    setpoint_yaml::go::write(&resource.node, &mut text)?;
    Ok(text)
}

/// A null written in place of an invalid value is an error.
fn check(node: &Node) -> Result<(), Box<dyn Error>> {
    match &node.content {
        Content::Scalar(scalar) => scalar.value().map(drop)?,
        Content::Seq(items) => items.iter().try_for_each(check)?,
        Content::Map(map) => map.iter().try_for_each(|(_, field)| check(field))?,
    }
    Ok(())
}

fn noted(resource: &Resource) -> Value {
    let former = |part: fn(&crate::resource::Former) -> &Arc<str>| {
        resource.former.iter().map(|former| part(former).to_string()).collect::<Vec<_>>()
    };
    let texts = |texts: &[Arc<str>]| texts.iter().map(ToString::to_string).collect::<Vec<_>>();
    json!({
        "names": former(|former| &former.name),
        "namespaces": former(|former| &former.namespace),
        "kinds": former(|former| &former.kind),
        "prefixes": texts(&resource.prefixes),
        "suffixes": texts(&resource.suffixes),
    })
}

/// Returns kustomize's records without consecutive duplicates.
fn once_each(notes: &Value) -> Value {
    let parts = ["names", "namespaces", "kinds"];
    let mut notes = notes.clone();
    for noted in notes.as_array_mut().into_iter().flatten() {
        let mut former: Vec<[Value; 3]> = Vec::new();
        for at in 0..noted["names"].as_array().map_or(0, Vec::len) {
            let one = parts.map(|part| noted[part][at].clone());
            if former.last() != Some(&one) {
                former.push(one);
            }
        }
        for (at, part) in parts.into_iter().enumerate() {
            noted[part] = former.iter().map(|one| one[at].clone()).collect();
        }
    }
    notes
}

fn is_cluster_scoped(gvk: &Gvk) -> bool {
    match &*gvk.group {
        "" => &*gvk.version == "v1" && matches!(&*gvk.kind, "Namespace" | "PersistentVolume"),
        "rbac.authorization.k8s.io" => gvk.kind.starts_with("ClusterRole"),
        "apiregistration.k8s.io" | "apiextensions.k8s.io" => true,
        _ => false,
    }
}

fn read_one(text: &str) -> Result<Node, Box<dyn Error>> {
    Ok(read("config.yaml", text, Origin::default())?.into_iter().next().ok_or("nothing")?)
}

fn items(node: &Node) -> &[Node] {
    match &node.content {
        Content::Seq(items) => items,
        _ => &[],
    }
}

fn text(node: &Node, path: &[&str]) -> Arc<str> {
    node.at(path).and_then(Node::as_text).unwrap_or_default().into()
}

fn specs(node: Option<&Node>) -> Vec<FieldSpec> {
    let spec = |node: &Node| FieldSpec {
        gvk: Gvk { group: text(node, &["group"]), version: text(node, &["version"]), kind: text(node, &["kind"]) },
        path: text(node, &["path"]),
        create: &*text(node, &["create"]) == "true",
    };
    node.map(items).unwrap_or_default().iter().map(spec).collect()
}

fn entries(node: Option<&Node>) -> BTreeMap<Arc<str>, Arc<str>> {
    let map = node.and_then(Node::as_map).into_iter().flat_map(crate::node::Map::iter);
    map.map(|(name, node)| (Arc::clone(name), text(node, &[]))).collect()
}

fn image(node: &Node) -> NewImage {
    NewImage {
        name: text(node, &["name"]),
        new_name: text(node, &["newName"]),
        new_tag: text(node, &["newTag"]),
        tag_suffix: text(node, &["tagSuffix"]),
        digest: text(node, &["digest"]),
    }
}

fn transform(what: &str, config: &Node, resources: &mut [Resource]) -> Result<(), Box<dyn Error>> {
    let specs = specs(config.at(&["fieldSpecs"]));
    let (origin, budget) = (Origin::default(), &Budget::default());
    match what {
        "labels" => labels(resources, &entries(config.at(&["labels"])), &specs, origin, budget)?,
        "annotations" => annotations(resources, &entries(config.at(&["annotations"])), &specs, origin, budget)?,
        "prefix" | "suffix" if config.at(&["fieldSpecs"]).is_none() => return Err("no field specs".into()),
        "prefix" => prefix(resources, &text(config, &["prefix"]), &specs, &is_cluster_scoped, origin, budget)?,
        "suffix" => suffix(resources, &text(config, &["suffix"]), &specs, &is_cluster_scoped, origin, budget)?,
        "images" => images(resources, &image(config.at(&["imageTag"]).expect("an image")), &specs, origin, budget)?,
        "replicas" => {
            let count = text(config, &["replica", "count"]).parse().unwrap_or_default();
            replicas(resources, &text(config, &["replica", "name"]), count, &specs, origin, budget)?;
        }
        "namespace" => {
            let subjects = Subjects::from_written(&text(config, &["setRoleBindingSubjects"])).ok_or("subjects")?;
            let name = text(config, &["metadata", "namespace"]);
            let unset_only = &*text(config, &["unsetOnly"]) == "true";
            namespace(
                resources,
                &Namespace { name, unset_only, subjects },
                &specs,
                &is_cluster_scoped,
                origin,
                budget,
            )?;
        }
        "patch6902" => {
            let patch = JsonPatch::parse("patch.yaml", &text(config, &["jsonOp"]), origin)?;
            if patch.is_empty() {
                return Err("no operations".into());
            }
            resources.iter_mut().try_for_each(|resource| patch.apply_unnoted(resource, origin, budget))?;
        }
        "patch" => {
            let patch = JsonPatch::parse("patch.yaml", &text(config, &["patch"]), origin)?;
            resources
                .iter_mut()
                .try_for_each(|resource| patch.apply_to(resource, &is_cluster_scoped, origin, budget))?;
        }
        _ => return Err(what.into()),
    }
    Ok(())
}

/// Runs the transformer for one field of a kustomization, with its default field specs.
fn build(config: &str, resources: &mut [Resource]) -> Result<(), Box<dyn Error>> {
    let config = read_one(config)?;
    let (field, node) = config.as_map().and_then(|map| map.iter().next()).ok_or("no field")?;
    let defaults = Defaults::get();
    let (origin, budget) = (Origin::default(), &Budget::default());
    let first = || items(node).first().ok_or("no item");
    match &**field {
        "commonLabels" => labels(resources, &entries(Some(node)), &defaults.common_labels, origin, budget)?,
        "labels" => labels(resources, &entries(first()?.at(&["pairs"])), &defaults.template_labels, origin, budget)?,
        "commonAnnotations" => {
            annotations(resources, &entries(Some(node)), &defaults.common_annotations, origin, budget)?;
        }
        "namePrefix" => prefix(resources, &text(node, &[]), &defaults.name_prefix, &is_cluster_scoped, origin, budget)?,
        "nameSuffix" => suffix(resources, &text(node, &[]), &defaults.name_suffix, &is_cluster_scoped, origin, budget)?,
        "images" => images(resources, &image(first()?), &defaults.images, origin, budget)?,
        "replicas" => {
            let count = text(first()?, &["count"]).parse()?;
            replicas(resources, &text(first()?, &["name"]), count, &defaults.replicas, origin, budget)?;
        }
        "namespace" => {
            let namespace = Namespace { name: text(node, &[]), unset_only: false, subjects: Subjects::default() };
            super::namespace(resources, &namespace, &defaults.namespace, &is_cluster_scoped, origin, budget)?;
        }
        other => return Err(other.into()),
    }
    Ok(())
}

fn resources(text: &str) -> Vec<Resource> {
    read("resources.yaml", text, Origin::default()).unwrap().into_iter().map(Resource::new).collect()
}

#[test]
fn what_is_set_comes_from_whoever_set_it_and_the_rest_from_where_it_was() {
    let mut sources = crate::origin::Sources::default();
    let by = sources.add("kustomization.yaml".into(), Some("images".into()));
    let mut all =
        resources("kind: Pod\nmetadata: {name: a}\nspec:\n  containers:\n  - image: web:1\n  - image: web:2\n");
    let image = NewImage { name: "web".into(), new_tag: "2".into(), ..NewImage::default() };
    images(&mut all, &image, &[], by, &Budget::default()).unwrap();
    let containers = items(all[0].node.at(&["spec", "containers"]).unwrap());
    let origin = |at: usize| containers[at].at(&["image"]).unwrap().origin;
    assert_eq!((origin(0), origin(1)), (by, Origin::default().on(6)), "the second is as it was");
}

#[test]
fn a_resource_that_helm_made_keeps_its_namespace() {
    let helm = "internal.config.kubernetes.io/helm-generated: 'true'";
    let mut all = resources(&format!("kind: Pod\nmetadata: {{name: a, annotations: {{{helm}}}}}\n"));
    let shop = Namespace { name: "shop".into(), unset_only: false, subjects: Subjects::default() };
    namespace(&mut all, &shop, &[], &is_cluster_scoped, Origin::default(), &Budget::default()).unwrap();
    assert_eq!((all[0].namespace(), all[0].former.len()), ("", 0));
}

#[test]
fn labels_that_are_one_node_are_changed_together_by_whatever_step() {
    let mut all = resources("kind: Deployment\nmetadata: {name: a}\n");
    let app = BTreeMap::from([("app".into(), "one".into())]);
    labels(&mut all, &app, &Defaults::get().common_labels, Origin::default(), &Budget::default()).unwrap();
    let set = |resource: &mut Resource, text: &str| {
        let metadata = resource.node.as_map_mut().unwrap().get_mut("metadata").unwrap().as_map_mut().unwrap();
        let labels = metadata.get_mut("labels").unwrap().as_map_mut().unwrap();
        labels.set("app", Node::text(text, Origin::default()));
    };
    let selector = |resource: &Resource| text(&resource.node, &["spec", "selector", "matchLabels", "app"]);
    for step in ["two", "three"] {
        all[0].sharing(&Budget::default(), |resource| set(resource, step));
        assert_eq!(&*selector(&all[0]), step);
    }
    let patch = JsonPatch::parse("p", "- {op: add, path: /spec/x, value: 1}", Origin::default()).unwrap();
    patch.apply_to(&mut all[0], &is_cluster_scoped, Origin::default(), &Budget::default()).unwrap();
    all[0].sharing(&Budget::default(), |resource| set(resource, "four"));
    assert_eq!(&*selector(&all[0]), "three", "a JSON patch ends it");
}

#[test]
fn many_resources_are_put_into_a_namespace_in_time() {
    let text: String = (0..20_000).map(|at| format!("---\nkind: ConfigMap\nmetadata: {{name: c{at}}}\n")).collect();
    let mut all = resources(&text);
    let shop = Namespace { name: "shop".into(), unset_only: false, subjects: Subjects::default() };
    namespace(&mut all, &shop, &Defaults::get().namespace, &is_cluster_scoped, Origin::default(), &Budget::default())
        .unwrap();
    assert!(all.iter().all(|resource| resource.namespace() == "shop"));
}

#[test]
fn messages_name_the_field_and_the_resource() {
    let mut all = resources("apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: a, labels: [x]}\n");
    let specs = [FieldSpec::new(Gvk::default(), "metadata/labels", true)];
    let error =
        labels(&mut all, &BTreeMap::from([("a".into(), "b".into())]), &specs, Origin::default(), &Budget::default())
            .unwrap_err();
    assert_eq!(error.to_string(), "considering field 'metadata/labels' of object Deployment.v1.apps/a.[noNs]");
    let source = error.source().map(ToString::to_string).unwrap_or_default();
    assert!(source.starts_with("wrong node kind: expected MappingNode but got SequenceNode"), "{source}");
}
