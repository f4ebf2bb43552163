//! `IAMPolicyGenerator`: a service account bound to one of Google Cloud.

use std::sync::Arc;

use super::BadBuild;
use super::arguments::arguments;
use crate::fields::{BadField, Fields};
use crate::load::inline_resources;
use crate::node::Node;
use crate::resource::Resource;

/// Generates the service account. Kustomize writes it as text and parses that, so an unquoted name
/// may become a number, or be invalid YAML.
pub(super) fn service_account(plugin: &Resource) -> Result<Resource, BadBuild> {
    let bad = |error: BadField| BadBuild::new(&error);
    let arguments = arguments(plugin)?;
    let fields = Fields::of(&arguments, "").map_err(bad)?;
    let cloud = fields.text_or_empty("cloud").map_err(bad)?;
    let [name, namespace] = texts(&fields, "kubernetesService", ["name", "namespace"]).map_err(bad)?;
    let [account, project] = texts(&fields, "serviceAccount", ["name", "projectId"]).map_err(bad)?;
    if &*cloud != "gke" {
        return Err(BadBuild::of(format!("cloud provider {cloud} not supported yet: write gke")));
    }
    let mut text = format!(
        "apiVersion: v1\nkind: ServiceAccount\nmetadata:\n  annotations:\n    iam.gke.io/gcp-service-account: {account}@{project}.iam.gserviceaccount.com\n  name: {name}\n"
    );
    if !namespace.is_empty() {
        text.push_str(&format!("  namespace: {namespace}\n"));
    }
    let made = inline_resources("<IAMPolicyGenerator>", &text, plugin.node.origin);
    let made = made.map_err(|error| BadBuild::new(&error).of_inner_text());
    let of_names = |error: BadBuild| error.within("with these names, the service account is not a valid resource");
    made.map_err(of_names)?.into_iter().next().ok_or_else(|| of_names(BadBuild::of("correct them".to_owned())))
}

fn texts<const N: usize>(fields: &Fields<'_>, field: &str, names: [&str; N]) -> Result<[Arc<str>; N], BadField> {
    let read = |node: &Node, path: &str| {
        let fields = Fields::of(node, path)?;
        let mut texts = names.map(|_| Arc::default());
        for (text, name) in texts.iter_mut().zip(names) {
            *text = fields.text_or_empty(name)?;
        }
        Ok(texts)
    };
    Ok(fields.inner(field, read)?.unwrap_or_else(|| names.map(|_| Arc::default())))
}
