//! Sets the namespace of resources, and other fields that name one.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::TransformError;
use crate::field_spec::{Create, FieldError, FieldProblem, FieldSpec, set_text, shown};
use crate::identity::Gvk;
use crate::limits::{Budget, NODE, found_among, named};
use crate::node::{Content, Node, Scalar, Tag};
use crate::noted::IsClusterScoped;
use crate::origin::Origin;
use crate::resource::Resource;

/// The steps to record the former id of a resource, and to compare it with others.
const NOTED: usize = 200;
/// The field that only namespaced kinds have, whatever the field specs.
const NAMESPACE: &str = "metadata/namespace";
/// The field that names a namespace only in Kubernetes' own kind.
const NAME: &str = "metadata/name";
const SUBJECTS: &str = "subjects/namespace";
/// Marks resources for which Helm set the namespace.
const FROM_HELM: &str = "internal.config.kubernetes.io/helm-generated";

/// The subjects of role bindings that get the namespace.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Subjects {
    #[default]
    NamedDefault,
    ServiceAccounts,
    None,
}

/// The namespace to set.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Namespace {
    pub name: Arc<str>,
    /// Fields that already name a namespace are not changed.
    pub unset_only: bool,
    pub subjects: Subjects,
}

impl Subjects {
    /// Parses the value of `setRoleBindingSubjects`.
    pub fn from_written(written: &str) -> Option<Self> {
        match written {
            "" | "defaultOnly" => Some(Self::NamedDefault),
            "allServiceAccounts" => Some(Self::ServiceAccounts),
            "none" => Some(Self::None),
            _ => None,
        }
    }
}

/// Sets the namespace of resources. Their ids must still be distinct then.
pub fn namespace(
    resources: &mut [Resource],
    namespace: &Namespace,
    specs: &[FieldSpec],
    is_cluster_scoped: IsClusterScoped<'_>,
    origin: Origin,
    budget: &Budget,
) -> Result<(), TransformError> {
    if namespace.name.is_empty() {
        return Ok(());
    }
    let key = |resource: &Resource| {
        let id = resource.id(is_cluster_scoped);
        let namespace: Arc<str> = id.effective_namespace().into();
        (id.gvk, id.name, namespace)
    };
    let mut ids: BTreeMap<(Gvk, Arc<str>, Arc<str>), usize> = BTreeMap::new();
    for resource in resources.iter() {
        *ids.entry(key(resource)).or_default() += 1;
    }
    for resource in resources {
        let is_from_helm = resource.texts("annotations").any(|(name, text)| &**name == FROM_HELM && text == "true");
        if is_from_helm {
            continue;
        }
        let before = key(resource);
        resource.note_former(is_cluster_scoped)?;
        set(resource, namespace, specs, is_cluster_scoped, origin, budget)?;
        if let Some(count) = ids.get_mut(&before) {
            *count -= 1;
        }
        let after = key(resource);
        let count = ids.entry(after).or_default();
        *count += 1;
        if *count > 1 {
            let id = resource.id(is_cluster_scoped);
            let namespace = id.effective_namespace().into();
            return Err(TransformError::SameId { id: id.into(), namespace });
        }
    }
    Ok(())
}

/// Sets the namespace of one resource. The former id is not recorded.
pub(crate) fn set(
    resource: &mut Resource,
    namespace: &Namespace,
    specs: &[FieldSpec],
    is_cluster_scoped: IsClusterScoped<'_>,
    origin: Origin,
    budget: &Budget,
) -> Result<(), TransformError> {
    budget.steps(NOTED + specs.len() + named(&resource.node))?;
    let gvk = resource.gvk();
    let is_own = gvk.group.is_empty() && &*gvk.version == "v1";
    let is_binding = is_role_binding(&gvk.kind);
    if !is_cluster_scoped(&gvk) {
        let field = FieldSpec::new(Gvk::default(), NAMESPACE, true);
        apply(&field, resource, Create::Scalar(Tag::Any), namespace, origin, budget)?;
    }
    if is_binding {
        let id = shown(&resource.node);
        set_subjects(&mut resource.node, namespace, origin, budget)
            .map_err(|problem| TransformError::Subjects { resource: id, problem })?;
    }
    let is_wanted = |spec: &&FieldSpec| match &*spec.path {
        NAMESPACE => false,
        NAME => is_own,
        SUBJECTS => !(is_binding && is_role_binding(&spec.gvk.kind)),
        _ => true,
    };
    for spec in specs.iter().filter(is_wanted) {
        apply(spec, resource, Create::Scalar(Tag::Text), namespace, origin, budget)?;
    }
    Ok(())
}

fn is_role_binding(kind: &str) -> bool {
    matches!(kind, "RoleBinding" | "ClusterRoleBinding")
}

fn apply(
    spec: &FieldSpec,
    resource: &mut Resource,
    create: Create,
    namespace: &Namespace,
    origin: Origin,
    budget: &Budget,
) -> Result<(), TransformError> {
    let set = &mut |node: &mut Node| {
        budget.hold(namespace.name.len())?;
        set_field(node, namespace, origin)
    };
    resource.set_fields(spec, create, origin, budget, set).map_err(|error: FieldError| match error.problem {
        FieldProblem::Kind { .. } => TransformError::Namespace(error),
        _ => TransformError::Field(error),
    })
}

fn set_field(node: &mut Node, namespace: &Namespace, origin: Origin) -> Result<(), FieldProblem> {
    let is_set = node.as_scalar().is_some_and(|scalar| scalar.tag != Tag::Null && !scalar.text.is_empty());
    if namespace.unset_only && is_set {
        return Ok(());
    }
    set_text(node, &namespace.name, origin)
}

/// Sets the namespace of the selected subjects; the others keep theirs.
fn set_subjects(node: &mut Node, namespace: &Namespace, origin: Origin, budget: &Budget) -> Result<(), FieldProblem> {
    let (field, wanted) = match namespace.subjects {
        Subjects::None => return Ok(()),
        Subjects::NamedDefault => ("name", "default"),
        Subjects::ServiceAccounts => ("kind", "ServiceAccount"),
    };
    let subjects = node.as_map_mut().and_then(|map| map.get_mut("subjects"));
    let Some(subjects) = subjects.filter(|subjects| !subjects.is_null()) else { return Ok(()) };
    let Content::Seq(items) = &mut subjects.content else {
        return Err(FieldProblem::kind("SequenceNode", subjects));
    };
    for item in items.iter_mut().filter(|item| !item.is_null()) {
        let Some(subject) = item.as_map_mut() else { return Err(FieldProblem::kind("MappingNode", item)) };
        budget.steps(1 + found_among(subject.len()))?;
        let is_meant = match subject.get(field).filter(|node| !node.is_null()) {
            None => false,
            Some(node) => {
                node.as_text().ok_or_else(|| FieldProblem::kind("ScalarNode", node)).map(|own| own == wanted)?
            }
        };
        if !is_meant {
            continue;
        }
        budget.hold(NODE + namespace.name.len())?;
        if subject.get("namespace").is_none() {
            subject.push("namespace".into(), Node::new(Content::Scalar(Scalar::plain("")), origin));
        }
        if let Some(field) = subject.get_mut("namespace") {
            set_field(field, namespace, origin)?;
        }
    }
    Ok(())
}
