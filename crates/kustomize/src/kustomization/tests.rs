//! Valid and invalid kustomizations.

use super::*;
use crate::read::read_document;

fn read(text: &str) -> Result<Kustomization, BadField> {
    Kustomization::of(read_document("kustomization.yaml", text, Origin::default()).unwrap().as_ref())
}

#[test]
fn old_fields_are_those_that_took_their_place() {
    let read = read(
        "bases: [../base]\nresources: [a.yaml]\nimageTags: [{name: x, newTag: '1'}]\nconfigMapGenerator: [{name: c, env: e, envs: [f]}]\n\
         vars: [{name: V, objref: {kind: Service, apiVersion: v1, name: s}}]\n",
    )
    .unwrap();
    assert_eq!(read.resources, ["a.yaml".into(), "../base".into()] as [Arc<str>; 2]);
    assert_eq!(&*read.images[0].name, "x");
    assert_eq!(read.config_maps[0].envs, ["f".into(), "e".into()] as [Arc<str>; 2]);
    let var = &read.vars[0];
    assert_eq!((var.gvk.clone(), &*var.field_path), (Gvk::new("", "v1", "Service"), "metadata.name"));
    assert_eq!(read.deprecated, [("bases", "resources"), ("imageTags", "images"), ("vars", "replacements")]);
}

#[test]
fn what_is_no_kustomization_is_refused() {
    for (text, problem) in [
        ("", "kustomization.yaml is empty"),
        ("kind: Kustomization\n", "kustomization.yaml is empty"),
        ("kind: Deployment\nresources: [a]\n", "kind should be Kustomization or Component"),
        ("apiVersion: v1\nresources: [a]\n", "apiVersion for Kustomization should be kustomize.config.k8s.io/v1beta1"),
        ("kind: Component\napiVersion: kustomize.config.k8s.io/v1beta1\nresources: [a]\n", "v1alpha1"),
        ("resource: [a]\n", "unknown field \"resource\""),
        ("patches: [{path: a, target: {kinds: x}}]\n", "patches[0].target.kinds: unknown field"),
        ("- a\n", "expected a map, got a list"),
    ] {
        let error = read(text).unwrap_err().to_string();
        assert!(error.contains(problem), "{text:?}: {error}");
    }
}
