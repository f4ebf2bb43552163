//! The lab of this suite: a repository whose apps declare objects of a namespace.

use std::path::Path;

use super::workload::{Object, documents};
use crate::agent::lab::{Lab, app_document, control, write};

impl Lab {
    /// Creates a lab whose target is a cluster, and whose apps declare these objects.
    pub(super) fn of_cluster(
        kubeconfig: &Path,
        namespace: &str,
        apps: impl Iterator<Item = (String, Vec<Object>)>,
    ) -> anyhow::Result<Self> {
        Self::of_audited_cluster(kubeconfig, namespace, None, apps)
    }

    /// Creates the same with an audit source: the `audit` of the Target.
    pub(super) fn of_audited_cluster(
        kubeconfig: &Path,
        namespace: &str,
        audit: Option<&str>,
        apps: impl Iterator<Item = (String, Vec<Object>)>,
    ) -> anyhow::Result<Self> {
        let lab = Self::new()?;
        let audit = audit.map_or_else(String::new, |audit| format!(", audit: {audit}"));
        let kubeconfig = kubeconfig.display();
        let spec = format!("{{ kind: kubernetes, kubeconfig: {kubeconfig}, namespace: {namespace}{audit} }}");
        let mut changes = vec![control("machine", "Target", &spec)?];
        for (name, objects) in apps {
            changes.push(app_document(&name)?);
            changes.push(write(&format!("apps/{name}/objects.yaml"), documents(&objects))?);
        }
        lab.commit(&changes)?;
        Ok(lab)
    }
}
