//! Patches in sequence, each applied to resources that earlier ones changed.

use std::sync::Arc;

use crate::build::{Options, build};
use crate::files::{FileError, Files};

struct Folder(&'static str, String);

impl Files for Folder {
    fn read(&self, path: &str) -> Result<Arc<[u8]>, FileError> {
        match path {
            "all.yaml" => Ok(self.0.as_bytes().into()),
            "kustomization.yaml" => Ok(self.1.as_bytes().into()),
            _ => Err(FileError::Missing { path: path.to_owned() }),
        }
    }
}

const MAPS: &str = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\n---\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: b}\n---\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: c}\n";

/// Builds three maps with these patches and returns the name and value of each that remains. The
/// expected results are recorded from kustomize.
fn patched(patches: &[&str]) -> Result<Vec<(String, String)>, String> {
    let patches: String = patches.iter().map(|patch| format!("- {patch}\n")).collect();
    let folder = Folder(MAPS, format!("resources: [all.yaml]\npatches:\n{patches}"));
    let built = build(&folder, "", &Options::default()).map_err(|error| error.message)?;
    let value = |resource: &crate::resource::Resource| {
        let value = resource.node.at(&["data", "k"]).and_then(crate::node::Node::as_text);
        (resource.name().to_owned(), value.unwrap_or_default().to_owned())
    };
    Ok(built.resources.iter().map(value).collect())
}

fn set(name: &str, value: &str) -> String {
    format!("patch: '{{apiVersion: v1, kind: ConfigMap, metadata: {{name: {name}}}, data: {{k: {value}}}}}'")
}

const DELETE_A: &str = "patch: '{apiVersion: v1, kind: ConfigMap, metadata: {name: a}, $patch: delete}'";

#[test]
fn what_a_patch_took_away_is_not_there_for_those_behind_it() {
    let all =
        "{target: {kind: ConfigMap}, patch: '[{\"op\": \"add\", \"path\": \"/data\", \"value\": {\"k\": \"y\"}}]'}";
    let left = |pairs: &[(&str, &str)]| Ok(pairs.iter().map(|(n, v)| ((*n).to_owned(), (*v).to_owned())).collect());
    assert_eq!(patched(&[DELETE_A, &set("c", "x")]), left(&[("b", ""), ("c", "x")]));
    assert_eq!(patched(&[DELETE_A, all, &set("b", "x")]), left(&[("b", "x"), ("c", "y")]));
    let error = patched(&[DELETE_A, &set("a", "x")]).unwrap_err();
    assert!(error.contains("no matches for Id ConfigMap.v1.[noGrp]/a.[noNs]"), "{error}");
}

#[test]
fn a_patch_finds_what_others_have_renamed_and_no_two_may_be_called_the_same() {
    let rename = |to: &str| {
        format!(
            "{{target: {{name: a}}, patch: '[{{\"op\": \"replace\", \"path\": \"/metadata/name\", \"value\": \"{to}\"}}]'}}"
        )
    };
    let left = patched(&[&set("b", "1"), &rename("d"), &set("d", "x")]);
    assert_eq!(left.as_deref().map(|left| left[2].clone()), Ok(("d".to_owned(), "x".to_owned())));
    let error = patched(&[&set("c", "1"), &rename("b"), &set("c", "x")]).unwrap_err();
    assert!(error.contains("may not add resource with an already registered id: ConfigMap.v1.[noGrp]/b"), "{error}");
}

#[test]
fn many_patches_select_the_same_as_few() {
    let json = |name: &str, field: &str, value: &str| {
        format!(
            "{{target: {{name: {name}}}, patch: '[{{\"op\": \"add\", \"path\": \"{field}\", \"value\": {value}}}]'}}"
        )
    };
    let last = [
        json("a", "/metadata/name", "\"d\""),
        DELETE_A.replace("name: a", "name: b"),
        json("b|c", "/data", "{\"k\": \"1\"}"),
        json("a", "/data", "{\"k\": \"2\"}"),
        json("d", "/data/more", "\"3\""),
        json("b", "/data", "{\"k\": \"4\"}"),
    ];
    let few = patched(&last.each_ref().map(String::as_str));
    let many: Vec<String> =
        (0..20).map(|at| json("c", "/metadata/labels", &format!("{{\"at\": \"{at}\"}}"))).chain(last).collect();
    let many: Vec<&str> = many.iter().map(String::as_str).collect();
    assert_eq!(patched(&many), few);
    let left = [("c", "1"), ("d", "2")].map(|(name, value)| (name.to_owned(), value.to_owned()));
    assert_eq!(few.as_deref(), Ok(&left[..]));
}

#[test]
fn many_json_patches_note_a_name_once_that_stays_the_same() {
    let patch = "{target: {name: a}, patch: '- {op: add, path: /data, value: {k: v}}'}\n";
    let folder = Folder(MAPS, format!("resources: [all.yaml]\npatches:\n{}", format!("- {patch}").repeat(1_000)));
    let built = build(&folder, "", &Options::default()).unwrap();
    assert_eq!(built.resources[0].former.len(), 1);
}
