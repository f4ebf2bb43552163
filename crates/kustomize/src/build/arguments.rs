//! What the document of a plugin says. Kustomize reads it less strictly than a kustomization: it passes over fields that it does not know, and makes texts of
//! numbers and booleans where it wants texts, though not where a type of its own is part of another one.

use setpoint_yaml::go::written_number;

use super::BadBuild;
use crate::fields::is_yes;
use crate::load::in_json;
use crate::node::{Content, Node, Scalar, Tag, Value};
use crate::resource::Resource;

const SELECTOR: &[&str] = &["group", "version", "kind", "name", "namespace", "annotationSelector", "labelSelector"];

/// The fields of the document of a generator.
const GENERATOR: &[&str] = &["behavior", "env", "envs", "files", "literals", "name", "namespace", "options", "type"];

/// The fields of the document of a transformer.
const TRANSFORMER: &[&str] = &[
    "annotations",
    "fieldSpecs",
    "imageTag",
    "jsonOp",
    "labels",
    "options",
    "patch",
    "patches",
    "path",
    "paths",
    "prefix",
    "replacements",
    "replica",
    "setRoleBindingSubjects",
    "suffix",
    "target",
    "targetFilePath",
    "targets",
    "unsetOnly",
    "value",
];

/// What may stand in a map that is in the field of this name; `None` if anything may.
fn known(field: &str) -> Option<&'static [&'static str]> {
    Some(match field {
        "target" | "selector" | "select" | "reject" => SELECTOR,
        "source" => &["group", "version", "kind", "name", "namespace", "fieldPath", "options"],
        "options" => &[
            "allowNameChange",
            "allowKindChange",
            "labels",
            "annotations",
            "disableNameSuffixHash",
            "immutable",
            "delimiter",
            "index",
            "encoding",
            "create",
        ],
        "imageTag" => &["name", "newName", "tagSuffix", "newTag", "digest"],
        "replica" => &["name", "count"],
        "fieldSpecs" => &["group", "version", "kind", "path", "create"],
        "replacements" => &["path", "source", "sourceValue", "targets"],
        // Of a replacement, or of a value to add.
        "targets" => &["select", "reject", "fieldPaths", "options", "selector", "fieldPath", "filePathPosition"],
        _ => return None,
    })
}

/// Whether a field wants a text, and gets one whatever stands there.
fn wants_text(within: &str, field: &str) -> bool {
    match within {
        "labels" | "annotations" | "imageTag" => true,
        "replica" => field == "name",
        "replacements" => field == "sourceValue",
        "" => matches!(field, "prefix" | "suffix" | "value" | "patch" | "path" | "jsonOp" | "targetFilePath"),
        "fieldSpecs" => field == "path",
        "options" => matches!(field, "delimiter" | "encoding"),
        "target" | "selector" | "select" | "reject" => matches!(field, "annotationSelector" | "labelSelector"),
        "source" | "targets" => field == "fieldPath",
        _ => false,
    }
}

/// The arguments in the document of a plugin, without what says which plugin it is for. They come by way of JSON, which has no times.
pub(super) fn arguments(plugin: &Resource) -> Result<Node, BadBuild> {
    let mut arguments = in_json(&plugin.node).map_err(|problem| {
        BadBuild::of(format!("marshalling yaml from {} `{}`: {problem}: correct it", plugin.kind(), plugin.name()))
    })?;
    let top = if plugin.kind().ends_with("Generator") { GENERATOR } else { TRANSFORMER };
    prepare(&mut arguments, "", Some(top));
    Ok(arguments)
}

/// Replacements in a file of their own, which is read in the same way.
pub(super) fn prepare_replacements(document: &mut Node) {
    prepare(document, "replacements", None);
}

/// A file of `configurations`, whose paths are texts whatever stands there.
pub(super) fn prepare_configuration(document: &mut Node) {
    match &mut document.content {
        Content::Scalar(_) => {}
        Content::Seq(items) => items.iter_mut().for_each(prepare_configuration),
        Content::Map(map) => map.iter_mut().for_each(|(name, node)| match &**name {
            "path" => as_text(node),
            _ => prepare_configuration(node),
        }),
    }
}

fn prepare(node: &mut Node, within: &str, known_here: Option<&[&str]>) {
    match &mut node.content {
        Content::Scalar(_) => {}
        Content::Seq(items) => items.iter_mut().for_each(|item| prepare(item, within, known_here)),
        Content::Map(map) => {
            let is_known =
                |name: &str| known_here.is_none_or(|known| known.iter().any(|own| own.eq_ignore_ascii_case(name)));
            map.retain(|name| is_known(name));
            for (name, node) in map.iter_mut() {
                if wants_text(within, name) {
                    as_text(node);
                }
                // Those of what a generator makes are part of another type.
                let name = if within == "options" { "an option" } else { name };
                prepare(node, name, known(name));
            }
        }
    }
}

fn as_text(node: &mut Node) {
    let Content::Scalar(scalar) = &mut node.content else { return };
    match (scalar.tag, scalar.value()) {
        (Tag::Bool, _) => *scalar = Scalar::text(is_yes(&scalar.text).to_string()),
        (Tag::Int | Tag::Float, Ok(Value::Number(json))) => *scalar = Scalar::text(number_text(&json)),
        _ => {}
    }
}

/// What is no integer has 32 bits where it becomes a text.
fn number_text(json: &str) -> String {
    let is_integer = json.parse::<i64>().is_ok() || json.parse::<u64>().is_ok();
    match json.parse::<f32>() {
        Ok(value) if is_integer || value.is_nan() => written_number(json).into_owned(),
        Ok(f32::INFINITY) => "+Inf".to_owned(),
        Ok(f32::NEG_INFINITY) => "-Inf".to_owned(),
        Ok(value) => written_number(&format!("{value:e}")).into_owned(),
        Err(_) => json.to_owned(),
    }
}
