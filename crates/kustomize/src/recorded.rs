//! Replays recorded results of kustomize (`tests/recorded`, made by `record`).

use std::sync::Arc;

use serde_json::Value as Json;
use setpoint_yaml::go;

use crate::field_path::split;
use crate::files::{FileError, Files};
use crate::folder::Folder;
use crate::generator::{Generator, Kind, Options, absorb};
use crate::hash::hash;
use crate::identity::{Gvk, Id};
use crate::limits::Budget;
use crate::node::{Content, Node};
use crate::origin::Origin;
use crate::pattern::Pattern;
use crate::read::read;
use crate::replacement::{FieldOptions, Replacement, Source, Target, replace};
use crate::resource::{Behavior, Former, Resource};
use crate::selector::labels::LabelSelector;
use crate::selector::{Selection, Selector, select};

const SETS: &str = include_str!("../tests/recorded/resources.json");

pub(crate) type Answer = Result<Json, String>;

/// Runs all cases of a file, and lists those with a different result.
#[track_caller]
pub(crate) fn replay(lines: &str, ask: impl Fn(&Json) -> Answer) {
    let mut differences = Vec::new();
    for line in lines.lines() {
        let case: Json = serde_json::from_str(line).unwrap();
        let answer = ask(&case);
        // `ours` is our result where it differs on purpose.
        let is_equal = match (&answer, case.get("ours").or(case.get("result"))) {
            // Kustomize succeeds here, and we return an error on purpose.
            (answer, Some(_)) if case.get("refused").is_some() => answer.is_err(),
            (Ok(answer), Some(result)) => answer == result,
            (answer, result) => answer.is_err() && result.is_none(),
        };
        if !is_equal {
            let short: String = line.chars().take(2000).collect();
            differences.push(format!("{short}\n     we: {answer:?}\n"));
        }
    }
    let count = differences.len();
    assert!(differences.is_empty(), "{count} of {}:\n{}", lines.lines().count(), differences.join("\n"));
}

fn text(json: &Json, field: &str) -> Arc<str> {
    json[field].as_str().unwrap_or_default().into()
}

fn texts(json: &Json) -> Vec<Arc<str>> {
    json.as_array().into_iter().flatten().map(|text| text.as_str().unwrap().into()).collect()
}

fn is_cluster_scoped(gvk: &Gvk) -> bool {
    matches!(&*gvk.kind, "Namespace" | "ClusterRole")
}

fn behavior(text: &str) -> Behavior {
    match text {
        "create" => Behavior::Create,
        "replace" => Behavior::Replace,
        "merge" => Behavior::Merge,
        _ => Behavior::Unspecified,
    }
}

fn resources(case: &Json, field: &str) -> Vec<Resource> {
    let sets: Json = serde_json::from_str(SETS).unwrap();
    let given = match case.get("of") {
        Some(name) => &sets[name.as_str().unwrap()],
        None => &case[field],
    };
    given.as_array().into_iter().flatten().map(resource).collect()
}

fn resource(given: &Json) -> Resource {
    let node = read("given.yaml", given["yaml"].as_str().unwrap(), Origin::default()).unwrap().remove(0);
    let mut resource = Resource::new(node);
    for former in given["former"].as_array().into_iter().flatten() {
        resource.former.push(Former {
            name: text(former, "name"),
            namespace: text(former, "namespace"),
            kind: text(former, "kind"),
        });
    }
    resource.behavior = behavior(&text(given, "behavior"));
    resource.needs_hash = given["hash"].as_bool().unwrap_or_default();
    let annotations = resource.node.at(&["metadata", "annotations"]).and_then(Node::as_map);
    resource.is_annotated = annotations.is_some_and(|map| !map.is_empty())
        || !resource.former.is_empty()
        || resource.needs_hash
        || resource.behavior != Behavior::Unspecified;
    resource
}

fn check(node: &Node) -> Result<(), String> {
    match &node.content {
        Content::Scalar(scalar) => scalar.value().map(|_| ()).map_err(|error| error.to_string()),
        Content::Seq(items) => items.iter().try_for_each(check),
        Content::Map(map) => map.iter().try_for_each(|(_, node)| check(node)),
    }
}

fn yaml(resource: &Resource) -> Result<String, String> {
    let mut resource = resource.clone();
    resource.finish(true, true).unwrap();
    check(&resource.node)?;
    let mut yaml = String::new();
    go::write(&resource.node, &mut yaml).map_err(|error| error.to_string())?;
    Ok(yaml)
}

fn written(resources: &[Resource]) -> Answer {
    let one = |resource: &Resource| {
        let behavior = match resource.behavior {
            Behavior::Unspecified => "unspecified",
            Behavior::Create => "create",
            Behavior::Replace => "replace",
            Behavior::Merge => "merge",
        };
        Ok(serde_json::json!({"yaml": yaml(resource)?, "hash": resource.needs_hash, "behavior": behavior}))
    };
    resources.iter().map(one).collect::<Result<_, String>>().map(Json::Array)
}

fn id(json: &Json) -> Id {
    Id {
        gvk: Gvk::new(&text(json, "group"), &text(json, "version"), &text(json, "kind")),
        name: text(json, "name"),
        namespace: text(json, "namespace"),
        is_cluster_scoped: false,
    }
}

fn selector(json: &Json) -> Selector {
    Selector { id: id(json), labels: text(json, "labelSelector"), annotations: text(json, "annotationSelector") }
}

fn told(error: impl std::error::Error) -> String {
    let mut text = error.to_string();
    let mut source = error.source();
    while let Some(error) = source {
        text.push_str(": ");
        text.push_str(&error.to_string());
        source = error.source();
    }
    text
}

#[test]
fn patterns_match_what_they_match_in_go() {
    replay(include_str!("../tests/recorded/pattern.jsonl"), |case| {
        let pattern = Pattern::new(case["pattern"].as_str().unwrap()).map_err(told)?;
        Ok(texts(&case["texts"]).iter().map(|text| pattern.is_match(text, &Budget::default())).collect())
    });
}

#[test]
fn labels_are_selected_as_in_kubernetes() {
    replay(include_str!("../tests/recorded/labels.jsonl"), |case| {
        let selector = LabelSelector::parse(case["selector"].as_str().unwrap()).map_err(told)?;
        Ok(selector.is_match(|label| case["labels"].get(label).and_then(Json::as_str)).into())
    });
}

#[test]
fn paths_have_the_parts_that_they_have_in_kustomize() {
    replay(include_str!("../tests/recorded/split.jsonl"), |case| {
        Ok(split(case["path"].as_str().unwrap()).map_err(told)?.into())
    });
}

#[test]
fn resources_are_selected_as_in_kustomize() {
    replay(include_str!("../tests/recorded/select.jsonl"), |case| {
        let resources = resources(case, "resources");
        let selection = Selection::new(&selector(&case["selector"])).map_err(told)?;
        let found =
            select(resources.iter().enumerate(), &selection, &is_cluster_scoped, &Budget::default()).map_err(told)?;
        Ok(found.iter().map(|at| format!("{}/{}", resources[*at].kind(), resources[*at].name())).collect())
    });
}

fn options(json: &Json) -> Option<FieldOptions> {
    json.is_object().then(|| FieldOptions {
        delimiter: text(json, "delimiter"),
        index: json["index"].as_i64().unwrap_or_default(),
        encoding: text(json, "encoding"),
        create: json["create"].as_bool().unwrap_or_default(),
    })
}

fn replacement(json: &Json) -> Replacement {
    let target = |json: &Json| Target {
        select: json.get("select").map(selector),
        reject: json["reject"].as_array().into_iter().flatten().map(selector).collect(),
        paths: texts(&json["fieldPaths"]),
        options: options(&json["options"]),
    };
    let source =
        |json: &Json| Source { id: id(json), path: text(json, "fieldPath"), options: options(&json["options"]) };
    Replacement {
        source: json.get("source").map(source),
        value: json.get("sourceValue").map(|value| value.as_str().unwrap().into()),
        targets: json.get("targets").map(|targets| targets.as_array().unwrap().iter().map(target).collect()),
        origin: Origin::default(),
    }
}

fn replaced(case: &Json) -> Answer {
    let before = resources(case, "resources");
    let mut after = before.clone();
    let replacements: Vec<_> = case["replacements"].as_array().into_iter().flatten().map(replacement).collect();
    replace(&mut after, &replacements, &Budget::default()).map_err(|(_, error)| told(error))?;
    let changed = |(before, after)| {
        let (before, after) = (yaml(before)?, yaml(after)?);
        Ok(if before == after { Json::Null } else { after.into() })
    };
    before.iter().zip(&after).map(changed).collect::<Result<_, String>>().map(Json::Array)
}

#[test]
fn values_are_replaced_as_in_kustomize() {
    replay(include_str!("../tests/recorded/replace.jsonl"), replaced);
}

#[test]
fn values_in_yaml_texts_are_replaced_as_in_kustomize() {
    replay(include_str!("../tests/recorded/replace_yaml.jsonl"), replaced);
}

struct Given<'c>(&'c Json);

impl Files for Given<'_> {
    fn read(&self, path: &str) -> Result<Arc<[u8]>, FileError> {
        let missing = || FileError::Missing { path: path.to_owned() };
        let encoded = self.0.get(path).and_then(Json::as_str).ok_or_else(missing)?;
        Ok(data_encoding::BASE64.decode(encoded.as_bytes()).unwrap().into())
    }
}

fn generated(case: &Json) -> Result<Resource, String> {
    let (kind, given) = match (case.get("configMap"), case.get("secret")) {
        (Some(given), _) => (Kind::ConfigMap, given),
        (_, given) => (Kind::Secret { r#type: text(given.unwrap(), "type") }, given.unwrap()),
    };
    let pairs = |json: &Json| {
        let pair = |(name, value): (&String, &Json)| (name.as_str().into(), value.as_str().unwrap().into());
        json.as_object().into_iter().flatten().map(pair).collect()
    };
    let options = &given["options"];
    let generator = Generator {
        kind,
        name: text(given, "name"),
        namespace: text(given, "namespace"),
        behavior: behavior(&text(given, "behavior")),
        literals: texts(&given["literals"]),
        files: texts(&given["files"]),
        envs: texts(&given["envs"]),
        options: Options {
            labels: pairs(&options["labels"]),
            annotations: pairs(&options["annotations"]),
            disables_hash: options["disableNameSuffixHash"].as_bool().unwrap_or_default(),
            is_immutable: options["immutable"].as_bool().unwrap_or_default(),
        },
    };
    let files = Given(&case["files"]);
    generator.generate(&Folder::new(&files, "", true), Origin::default()).map_err(told)
}

#[test]
fn config_maps_and_secrets_are_generated_as_in_kustomize() {
    replay(include_str!("../tests/recorded/generate.jsonl"), |case| written(&[generated(case)?]));
}

#[test]
fn generated_resources_are_absorbed_as_in_kustomize() {
    replay(include_str!("../tests/recorded/absorb.jsonl"), |case| {
        let mut existing = resources(case, "resources");
        let generated = match case.get("configMap") {
            Some(_) => vec![generated(case)?],
            None => resources(case, "generated"),
        };
        absorb(&mut existing, generated, &is_cluster_scoped, &Budget::default()).map_err(told)?;
        written(&existing)
    });
}

#[test]
fn the_hash_is_that_of_kustomize() {
    replay(include_str!("../tests/recorded/hash.jsonl"), |case| {
        Ok(hash(&resources(case, "resources")[0].node).map_err(told)?.into())
    });
}
