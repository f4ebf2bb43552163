//! The lab of this suite: a repository whose apps declare objects of a namespace.

use std::path::Path;

use super::workload::{Object, documents};
use crate::agent::lab::{Lab, app_document, control, write};

impl Lab {
    /// A lab whose target is a cluster, and whose apps declare these objects.
    pub(super) fn of_cluster(
        kubeconfig: &Path,
        namespace: &str,
        apps: impl Iterator<Item = (String, Vec<Object>)>,
    ) -> anyhow::Result<Self> {
        let lab = Self::new()?;
        let spec = format!("{{ kind: kubernetes, kubeconfig: {}, namespace: {namespace} }}", kubeconfig.display());
        let mut changes = vec![control("machine", "Target", &spec)?];
        for (name, objects) in apps {
            changes.push(app_document(&name)?);
            changes.push(write(&format!("apps/{name}/objects.yaml"), documents(&objects))?);
        }
        lab.commit(&changes)?;
        Ok(lab)
    }
}
