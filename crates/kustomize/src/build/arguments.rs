//! Reads the arguments in the document of a plugin. Kustomize is less strict here than with a
//! kustomization: it ignores unknown fields, and converts numbers and booleans to strings where it
//! expects strings, but not where one of its own types is embedded in another.

use setpoint_yaml::go::written_number;

use super::BadBuild;
use crate::fields::is_yes;
use crate::folded::refold;
use crate::load::in_json;
use crate::node::{Content, Map, Node, Scalar, Tag, Value};
use crate::resource::Resource;

const FIELD_SPEC: &[&str] = &["group", "version", "kind", "path", "create"];
const SELECTOR: &[&str] = &["group", "version", "kind", "name", "namespace", "annotationSelector", "labelSelector"];

/// A replacement in a file of its own, as opposed to one in the document of a plugin.
const REPLACEMENT: &str = "Replacement";

/// Returns the fields that the document of a plugin may have in addition to apiVersion and kind,
/// and to its metadata if none of that is an argument.
fn fields_of(plugin: &str) -> &'static [&'static str] {
    match plugin {
        "AnnotationsTransformer" => &["annotations", "fieldSpecs"],
        "ConfigMapGenerator" => {
            &["behavior", "env", "envs", "files", "literals", "metadata", "name", "namespace", "options"]
        }
        "IAMPolicyGenerator" => &["cloud", "kubernetesService", "serviceAccount"],
        "ImageTagTransformer" => &["fieldSpecs", "imageTag"],
        "LabelTransformer" => &["fieldSpecs", "labels"],
        "NamespaceTransformer" => &["fieldSpecs", "metadata", "setRoleBindingSubjects", "unsetOnly"],
        "PatchJson6902Transformer" => &["jsonOp", "path", "target"],
        "PatchStrategicMergeTransformer" => &["patches", "paths"],
        "PatchTransformer" => &["options", "patch", "path", "target"],
        "PrefixSuffixTransformer" => &["fieldSpecs", "prefix", "suffix"],
        "PrefixTransformer" => &["fieldSpecs", "prefix"],
        REPLACEMENT => &["source", "sourceValue", "targets"],
        "ReplacementTransformer" => &["replacements"],
        "ReplicaCountTransformer" => &["fieldSpecs", "replica"],
        "SecretGenerator" => {
            &["behavior", "env", "envs", "files", "literals", "metadata", "name", "namespace", "options", "type"]
        }
        "SuffixTransformer" => &["fieldSpecs", "suffix"],
        "ValueAddTransformer" => &["targetFilePath", "targets", "value"],
        _ => &[],
    }
}

/// Returns the fields that a map in the field of this name may have; `None` if any are allowed.
fn known(plugin: &str, field: &str) -> Option<&'static [&'static str]> {
    Some(match field {
        "target" | "selector" | "select" | "reject" => SELECTOR,
        "source" => &["group", "version", "kind", "name", "namespace", "fieldPath", "options"],
        "options" => match plugin {
            "PatchTransformer" => &["allowNameChange", "allowKindChange"],
            "ConfigMapGenerator" | "SecretGenerator" => {
                &["labels", "annotations", "disableNameSuffixHash", "immutable"]
            }
            _ => &["delimiter", "index", "encoding", "create"],
        },
        "imageTag" => &["name", "newName", "tagSuffix", "newTag", "digest"],
        "replica" => &["name", "count"],
        "fieldSpecs" => FIELD_SPEC,
        "replacements" => &["path", "source", "sourceValue", "targets"],
        "targets" if plugin == "ValueAddTransformer" => &["selector", "fieldPath", "filePathPosition"],
        "targets" => &["select", "reject", "fieldPaths", "options"],
        "metadata" => &["name", "namespace", "labels", "annotations"],
        "kubernetesService" => &["name", "namespace"],
        "serviceAccount" => &["name", "projectId"],
        _ => return None,
    })
}

/// Reports whether a field expects a string and converts any scalar to one.
fn wants_text(plugin: &str, within: &str, field: &str) -> bool {
    match (plugin, within) {
        ("ReplacementTransformer", _) => within == "replacements" && field == "path",
        ("IAMPolicyGenerator", _) => false,
        (_, "labels" | "annotations" | "imageTag") => true,
        (_, "metadata") => matches!(field, "name" | "namespace"),
        (_, "replica") => field == "name",
        (_, "") => {
            matches!(field, "sourceValue" | "value" | "patch" | "patches" | "path" | "jsonOp" | "targetFilePath")
        }
        (_, "fieldSpecs") => field == "path",
        (_, "options") => matches!(field, "delimiter" | "encoding"),
        (_, "target" | "selector" | "select" | "reject") => matches!(field, "annotationSelector" | "labelSelector"),
        (_, "source" | "targets") => field == "fieldPath",
        _ => false,
    }
}

/// Returns the arguments in the document of a plugin, without the fields that identify the plugin.
/// They pass through JSON, which has no timestamps.
pub(super) fn arguments(plugin: &Resource) -> Result<Node, BadBuild> {
    // Kustomize writes the document before it reads the arguments.
    let mut written = plugin.node.clone();
    refold(&mut written);
    let mut arguments = in_json(&written).map_err(|problem| {
        BadBuild::of(format!("marshalling yaml from {} `{}`: {problem}: correct it", plugin.kind(), plugin.name()))
    })?;
    match plugin.kind() {
        kind @ ("PrefixTransformer" | "SuffixTransformer" | "PrefixSuffixTransformer") => {
            prepare_affixes(&mut arguments, fields_of(kind));
        }
        kind => prepare(&mut arguments, kind, "", Some(fields_of(kind))),
    }
    Ok(arguments)
}

/// Prepares replacements in a file of their own, which is read in the same way.
pub(super) fn prepare_replacements(document: &mut Node) {
    prepare(document, REPLACEMENT, "", Some(fields_of(REPLACEMENT)));
}

/// Prepares a file with the targets that a value is added to.
pub(super) fn prepare_targets(document: &mut Node) {
    prepare(document, "ValueAddTransformer", "", Some(&["targets"]));
}

/// Prepares a file of `configurations`, whose paths become strings whatever their type.
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

fn prepare(node: &mut Node, plugin: &str, within: &str, known_here: Option<&[&str]>) {
    match &mut node.content {
        Content::Scalar(_) => {}
        Content::Seq(items) => items.iter_mut().for_each(|item| prepare(item, plugin, within, known_here)),
        Content::Map(map) => {
            let own_name = |name: &str| known_here?.iter().copied().find(|own| own.eq_ignore_ascii_case(name));
            map.retain(|name| known_here.is_none() || own_name(name).is_some());
            for (name, node) in map.iter_mut() {
                let name = own_name(name).unwrap_or(name);
                if wants_text(plugin, within, name) {
                    as_text(node);
                }
                // Options in generator arguments are part of another type.
                let name = if within == "options" { "an option" } else { name };
                prepare(node, plugin, name, known(plugin, name));
            }
        }
    }
}

/// Prepares the arguments of prefix and suffix transformers. Kustomize reads them with another
/// reader: names are case-sensitive, every scalar becomes a string where one is expected, booleans
/// of YAML 1.1 are accepted, and null items are skipped.
fn prepare_affixes(arguments: &mut Node, known: &[&str]) {
    let Some(fields) = arguments.as_map_mut() else { return };
    fields.retain(|name| known.contains(&name));
    for (name, node) in fields.iter_mut() {
        match &mut node.content {
            Content::Seq(specs) if **name == *"fieldSpecs" => {
                specs.retain(|spec| !spec.is_null());
                specs.iter_mut().filter_map(Node::as_map_mut).for_each(prepare_spec);
            }
            _ => as_whole_text(node),
        }
    }
}

fn prepare_spec(spec: &mut Map) {
    spec.retain(|name| FIELD_SPEC.contains(&name));
    for (name, node) in spec.iter_mut() {
        match &**name {
            "create" => as_boolean(node),
            _ => as_whole_text(node),
        }
    }
}

/// Converts a scalar to its text in YAML converted from JSON.
fn as_whole_text(node: &mut Node) {
    let Content::Scalar(scalar) = &mut node.content else { return };
    match (scalar.tag, scalar.value()) {
        (Tag::Int | Tag::Float, Ok(Value::Number(json))) => *scalar = Scalar::text(written_number(&json)),
        (Tag::Bool, _) => as_text(node),
        _ => {}
    }
}

fn as_boolean(node: &mut Node) {
    let Content::Scalar(scalar) = &mut node.content else { return };
    let value = match (scalar.tag, &*scalar.text) {
        (Tag::Text, "y" | "Y" | "yes" | "Yes" | "YES" | "on" | "On" | "ON") => "true",
        (Tag::Text, "n" | "N" | "no" | "No" | "NO" | "off" | "Off" | "OFF") => "false",
        _ => return,
    };
    *scalar = Scalar { text: value.into(), tag: Tag::Bool };
}

fn as_text(node: &mut Node) {
    let Content::Scalar(scalar) = &mut node.content else { return };
    match (scalar.tag, scalar.value()) {
        (Tag::Bool, _) => *scalar = Scalar::text(is_yes(&scalar.text).to_string()),
        (Tag::Int | Tag::Float, Ok(Value::Number(json))) => *scalar = Scalar::text(number_text(&json)),
        _ => {}
    }
}

/// Formats a number as text. A number that is not an integer has 32 bits.
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
