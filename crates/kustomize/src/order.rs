//! The order of resources in the output: by kind in kustomize's legacy order, by custom lists of
//! kinds, or unchanged.

use std::cmp::Ordering;
use std::sync::Arc;

use crate::identity::{Gvk, Id};
use crate::kustomization::{LegacySort, Sort};
use crate::resource::Resource;

/// Kinds that come before all others.
const FIRST: [&str; 22] = [
    "Namespace",
    "ResourceQuota",
    "StorageClass",
    "CustomResourceDefinition",
    "ServiceAccount",
    "PodSecurityPolicy",
    "Role",
    "ClusterRole",
    "RoleBinding",
    "ClusterRoleBinding",
    "ConfigMap",
    "Secret",
    "Endpoints",
    "Service",
    "LimitRange",
    "PriorityClass",
    "PersistentVolume",
    "PersistentVolumeClaim",
    "Deployment",
    "StatefulSet",
    "CronJob",
    "PodDisruptionBudget",
];
/// Kinds that come after all others.
const LAST: [&str; 2] = ["MutatingWebhookConfiguration", "ValidatingWebhookConfiguration"];

/// An invalid order.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BadOrder {
    #[error("the field 'sortOptions.order' must be one of [fifo, legacy], not `{0}`: correct it")]
    Unknown(Arc<str>),
    #[error(
        "the field 'sortOptions.legacySortOptions' is set but the selected sort order is 'fifo', not 'legacy': remove one of them"
    )]
    NotLegacy,
}

/// The order of resources.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Order {
    AsTheyCome,
    Legacy { first: Vec<Arc<str>>, last: Vec<Arc<str>> },
}

impl Order {
    /// Returns kustomize's default order.
    pub fn legacy() -> Self {
        let kinds = |kinds: &[&str]| kinds.iter().map(|kind| (*kind).into()).collect();
        Self::Legacy { first: kinds(&FIRST), last: kinds(&LAST) }
    }

    /// Returns the order that a kustomization sets.
    pub fn of(sort: &Sort) -> Result<Self, BadOrder> {
        match (&*sort.order, &sort.legacy) {
            ("fifo", None) => Ok(Self::AsTheyCome),
            ("fifo", Some(_)) => Err(BadOrder::NotLegacy),
            ("legacy", None) => Ok(Self::legacy()),
            ("legacy", Some(LegacySort { first, last })) => {
                Ok(Self::Legacy { first: first.clone(), last: last.clone() })
            }
            _ => Err(BadOrder::Unknown(Arc::clone(&sort.order))),
        }
    }

    /// Returns the number of kinds in its lists.
    pub(crate) fn len(&self) -> usize {
        match self {
            Self::AsTheyCome => 0,
            Self::Legacy { first, last } => first.len() + last.len(),
        }
    }

    /// Sorts resources; `id` returns the id of one.
    pub fn sort(&self, resources: &mut [Resource], id: impl Fn(&Resource) -> Id) {
        if let Self::Legacy { first, last } = self {
            let rank = |kind: &str| {
                // The later of two entries wins, and the list of last kinds wins over the list of
                // first ones.
                let at = |kinds: &[Arc<str>]| kinds.iter().rposition(|own| **own == *kind);
                match (at(last), at(first)) {
                    (Some(at), _) => (2, at),
                    (_, Some(at)) => (0, at),
                    _ => (1, 0),
                }
            };
            resources.sort_by_cached_key(|resource| Place::of(&id(resource), rank(resource.kind())));
        }
    }
}

/// Compares kinds as kustomize does when it sorts its field specs.
pub(crate) fn by_kind(one: &Gvk, other: &Gvk) -> Ordering {
    let rank = |kind: &str| match (FIRST.iter().position(|own| *own == kind), LAST.iter().position(|own| *own == kind))
    {
        (Some(at), _) => (0, at),
        (_, Some(at)) => (2, at),
        _ => (1, 0),
    };
    rank(&one.kind).cmp(&rank(&other.kind)).then_with(|| one.sorted_as().cmp(&other.sorted_as()))
}

/// The sort key of a resource.
#[derive(PartialEq, Eq)]
struct Place {
    rank: (u8, usize),
    is_namespace: bool,
    has_group: bool,
    gvk: String,
    rest: String,
}

impl Place {
    fn of(id: &Id, rank: (u8, usize)) -> Self {
        let or = |text: &Arc<str>, none: &'static str| if text.is_empty() { none.to_owned() } else { text.to_string() };
        let rest = format!("{}|{}", or(&id.namespace, "~X"), or(&id.name, "~N"));
        let is_namespace = &*id.gvk.kind == "Namespace";
        Self { rank, is_namespace, has_group: !id.gvk.group.is_empty(), gvk: id.gvk.sorted_as(), rest }
    }
}

impl Ord for Place {
    fn cmp(&self, other: &Self) -> Ordering {
        // Kubernetes' own Namespace, which has no group, comes before all others of that kind.
        let is_turned = self.is_namespace && other.is_namespace && !(self.has_group && other.has_group);
        let by_gvk = if is_turned { other.gvk.cmp(&self.gvk) } else { self.gvk.cmp(&other.gvk) };
        self.rank.cmp(&other.rank).then(by_gvk).then_with(|| self.rest.cmp(&other.rest))
    }
}

impl PartialOrd for Place {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::origin::Origin;
    use crate::read::read;

    fn sorted(order: &Order, resources: &[(&str, &str, &str)]) -> Vec<String> {
        let text: Vec<String> = resources
            .iter()
            .map(|(api_version, kind, name)| {
                format!("apiVersion: {api_version}\nkind: {kind}\nmetadata: {{name: {name}}}\n")
            })
            .collect();
        let nodes = read("all.yaml", &text.join("---\n"), Origin::default()).unwrap();
        let mut resources: Vec<Resource> = nodes.into_iter().map(Resource::new).collect();
        let id = |resource: &Resource| Id { gvk: resource.gvk(), name: resource.name().into(), ..Id::default() };
        order.sort(&mut resources, id);
        resources.iter().map(|resource| format!("{}/{}", resource.kind(), resource.name())).collect()
    }

    const MIXED: [(&str, &str, &str); 8] = [
        ("admissionregistration.k8s.io/v1", "ValidatingWebhookConfiguration", "w"),
        ("example.com/v1", "Thing", "t"),
        ("apps/v1", "Deployment", "b"),
        ("v1", "Pod", "p"),
        ("apps/v1", "DaemonSet", "d"),
        ("example.com/v1", "Namespace", "x"),
        ("apps/v1", "Deployment", "a"),
        ("v1", "Namespace", "n"),
    ];

    #[test]
    fn kinds_that_others_need_come_first_and_webhooks_last() {
        assert_eq!(
            sorted(&Order::legacy(), &MIXED),
            [
                "Namespace/n",
                "Namespace/x",
                "Deployment/a",
                "Deployment/b",
                "DaemonSet/d",
                "Thing/t",
                "Pod/p",
                "ValidatingWebhookConfiguration/w"
            ]
        );
        assert_eq!(sorted(&Order::AsTheyCome, &MIXED)[0], "ValidatingWebhookConfiguration/w");
    }

    #[test]
    fn a_kustomization_may_have_lists_of_its_own() {
        let kinds = |kinds: &[&str]| kinds.iter().map(|kind| (*kind).into()).collect();
        let legacy = LegacySort { first: kinds(&["Thing"]), last: kinds(&["Namespace"]) };
        let sort = |order: &str, legacy: Option<LegacySort>| Order::of(&Sort { order: order.into(), legacy });
        let own = sorted(&sort("legacy", Some(legacy.clone())).unwrap(), &MIXED);
        assert_eq!((&*own[0], &*own[7]), ("Thing/t", "Namespace/x"));
        assert_eq!(sort("fifo", None), Ok(Order::AsTheyCome));
        assert_eq!(sort("fifo", Some(legacy)), Err(BadOrder::NotLegacy));
        assert_eq!(sort("name", None), Err(BadOrder::Unknown("name".into())));
    }
}
