//! Built-in facts about kinds: the scopes of kinds as a fallback for documents that are read before
//! there is a connection, and facts that no server publishes (the objects that a deletion takes
//! with it, the position of a pod's specification).

/// The scope of a built-in kind.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BuiltIn {
    Namespaced,
    Cluster,
}

/// Returns the scope of a kind that comes with every cluster.
pub fn built_in(group: &str, kind: &str) -> Option<BuiltIn> {
    let of = |(cluster, namespaced): (&[&str], &[&str])| {
        if cluster.contains(&kind) {
            Some(BuiltIn::Cluster)
        } else {
            namespaced.contains(&kind).then_some(BuiltIn::Namespaced)
        }
    };
    BUILT_IN.iter().find(|(known, ..)| *known == group).and_then(|(_, cluster, namespaced)| of((cluster, namespaced)))
}

/// Group, cluster-scoped kinds, namespaced kinds.
type Group = (&'static str, &'static [&'static str], &'static [&'static str]);

const BUILT_IN: &[Group] = &[
    (
        "",
        &["ComponentStatus", "Namespace", "Node", "PersistentVolume"],
        &[
            "ConfigMap",
            "Endpoints",
            "Event",
            "LimitRange",
            "PersistentVolumeClaim",
            "Pod",
            "PodTemplate",
            "ReplicationController",
            "ResourceQuota",
            "Secret",
            "Service",
            "ServiceAccount",
        ],
    ),
    (
        "admissionregistration.k8s.io",
        &[
            "MutatingAdmissionPolicy",
            "MutatingAdmissionPolicyBinding",
            "MutatingWebhookConfiguration",
            "ValidatingAdmissionPolicy",
            "ValidatingAdmissionPolicyBinding",
            "ValidatingWebhookConfiguration",
        ],
        &[],
    ),
    ("apiextensions.k8s.io", &["CustomResourceDefinition"], &[]),
    ("apiregistration.k8s.io", &["APIService"], &[]),
    ("apps", &[], &["ControllerRevision", "DaemonSet", "Deployment", "ReplicaSet", "StatefulSet"]),
    ("autoscaling", &[], &["HorizontalPodAutoscaler"]),
    ("batch", &[], &["CronJob", "Job"]),
    ("certificates.k8s.io", &["CertificateSigningRequest", "ClusterTrustBundle"], &["PodCertificateRequest"]),
    ("coordination.k8s.io", &[], &["Lease", "LeaseCandidate"]),
    ("discovery.k8s.io", &[], &["EndpointSlice"]),
    ("events.k8s.io", &[], &["Event"]),
    ("flowcontrol.apiserver.k8s.io", &["FlowSchema", "PriorityLevelConfiguration"], &[]),
    ("networking.k8s.io", &["IngressClass", "IPAddress", "ServiceCIDR"], &["Ingress", "NetworkPolicy"]),
    ("node.k8s.io", &["RuntimeClass"], &[]),
    ("policy", &[], &["PodDisruptionBudget"]),
    ("rbac.authorization.k8s.io", &["ClusterRole", "ClusterRoleBinding"], &["Role", "RoleBinding"]),
    (
        "resource.k8s.io",
        &["DeviceClass", "DeviceTaintRule", "ResourceSlice"],
        &["ResourceClaim", "ResourceClaimTemplate"],
    ),
    ("scheduling.k8s.io", &["PriorityClass"], &["Workload"]),
    (
        "storage.k8s.io",
        &["CSIDriver", "CSINode", "StorageClass", "VolumeAttachment", "VolumeAttributesClass"],
        &["CSIStorageCapacity"],
    ),
];

/// Reports whether the resources after one of this kind wait until it is healthy: until then a
/// server does not know the kind that a definition adds.
pub fn is_awaited(group: &str, kind: &str) -> bool {
    (group, kind) == ("apiextensions.k8s.io", "CustomResourceDefinition")
}

/// Reports whether deleting an object of this kind deletes much else: everything in a namespace,
/// every object of a definition, the data of a volume.
pub fn is_protected(group: &str, kind: &str) -> bool {
    PROTECTED.contains(&(group, kind))
}

/// Reports whether a kind of this name is protected in any group.
pub fn is_protected_anywhere(kind: &str) -> bool {
    PROTECTED.iter().any(|(_, protected)| *protected == kind)
}

const PROTECTED: &[GroupKind] = &[
    ("", "Namespace"),
    ("", "PersistentVolume"),
    ("", "PersistentVolumeClaim"),
    ("apiextensions.k8s.io", "CustomResourceDefinition"),
    ("snapshot.storage.k8s.io", "VolumeSnapshot"),
    ("snapshot.storage.k8s.io", "VolumeSnapshotContent"),
];

/// A kind by its group and its own name.
pub type GroupKind = (&'static str, &'static str);

/// Returns the kinds of the objects that an object owns by owner references, directly or
/// indirectly. Objects of custom kinds may own anything that a workload consists of.
pub fn offspring(group: &str, kind: &str) -> &'static [GroupKind] {
    const POD: GroupKind = ("", "Pod");
    const JOB: GroupKind = ("batch", "Job");
    const CLAIM: GroupKind = ("", "PersistentVolumeClaim");
    const REVISION: GroupKind = ("apps", "ControllerRevision");
    match (group, kind) {
        ("apps", "Deployment") => &[("apps", "ReplicaSet"), POD],
        ("apps", "ReplicaSet") | ("", "ReplicationController") | ("batch", "Job") => &[POD],
        ("apps", "StatefulSet") => &[POD, CLAIM, REVISION],
        ("apps", "DaemonSet") => &[POD, REVISION],
        ("batch", "CronJob") => &[JOB, POD],
        ("", "Pod") => &[CLAIM],
        ("", "Service") => &[("discovery.k8s.io", "EndpointSlice")],
        _ if built_in(group, kind).is_some() => &[],
        _ => &[
            ("apps", "Deployment"),
            ("apps", "StatefulSet"),
            ("apps", "DaemonSet"),
            ("apps", "ReplicaSet"),
            ("batch", "CronJob"),
            JOB,
            POD,
            ("", "Service"),
            ("discovery.k8s.io", "EndpointSlice"),
            ("networking.k8s.io", "Ingress"),
            ("", "ConfigMap"),
            ("", "Secret"),
            ("", "ServiceAccount"),
            CLAIM,
            REVISION,
            ("autoscaling", "HorizontalPodAutoscaler"),
            ("policy", "PodDisruptionBudget"),
        ],
    }
}

/// Returns the path to the pod specification of a kind.
pub(crate) fn pod_spec(group: &str, kind: &str) -> Option<&'static [&'static str]> {
    match (group, kind) {
        ("", "Pod") => Some(&["spec"]),
        ("", "PodTemplate") => Some(&["template", "spec"]),
        ("", "ReplicationController")
        | ("apps", "DaemonSet" | "Deployment" | "ReplicaSet" | "StatefulSet")
        | ("batch", "Job") => Some(&["spec", "template", "spec"]),
        ("batch", "CronJob") => Some(&["spec", "jobTemplate", "spec", "template", "spec"]),
        _ => None,
    }
}

/// Returns the level of a kind. An object depends on another one only if that has a lower level, so
/// no two objects wait for each other.
pub fn level(group: &str, kind: &str) -> u8 {
    match (group, kind) {
        ("", "Namespace") => 0,
        ("apiextensions.k8s.io", "CustomResourceDefinition") => 1,
        ("", "LimitRange" | "PersistentVolume" | "ResourceQuota" | "ServiceAccount")
        | ("networking.k8s.io", "IngressClass" | "NetworkPolicy")
        | ("node.k8s.io", "RuntimeClass")
        | ("resource.k8s.io", "DeviceClass")
        | ("scheduling.k8s.io", "PriorityClass")
        | ("storage.k8s.io", _) => 2,
        ("", "ConfigMap" | "PersistentVolumeClaim" | "Secret")
        | ("rbac.authorization.k8s.io", "ClusterRole" | "Role") => 3,
        ("rbac.authorization.k8s.io", _) => 4,
        ("", "Endpoints" | "Service") | ("discovery.k8s.io", _) => 5,
        (group, kind) if pod_spec(group, kind).is_some() => 6,
        ("apiregistration.k8s.io", _) | ("autoscaling", _) | ("networking.k8s.io", "Ingress") | ("policy", _) => 7,
        // They judge the resources after them, so everything else comes first.
        ("admissionregistration.k8s.io", _) => 9,
        _ => 8,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn built_in_kinds_have_their_scope_and_others_have_none() {
        assert_eq!(built_in("", "ConfigMap"), Some(BuiltIn::Namespaced));
        assert_eq!(built_in("rbac.authorization.k8s.io", "ClusterRole"), Some(BuiltIn::Cluster));
        assert_eq!(built_in("example.com", "ConfigMap"), None);
        assert_eq!(built_in("", "Deployment"), None, "it is in a group");
    }

    #[test]
    fn a_kind_is_listed_once() {
        for (group, cluster, namespaced) in BUILT_IN {
            assert!(cluster.iter().all(|kind| !namespaced.contains(kind)), "{group}");
            assert!(cluster.is_sorted_by_key(|kind| kind.to_lowercase()) && namespaced.is_sorted(), "{group}");
        }
    }

    #[test]
    fn what_takes_others_with_it_is_protected() {
        assert!(is_protected("", "Namespace") && is_protected("apiextensions.k8s.io", "CustomResourceDefinition"));
        assert!(!is_protected("", "ConfigMap") && !is_protected("example.com", "Namespace"));
        assert!(is_protected_anywhere("VolumeSnapshot") && !is_protected_anywhere("ConfigMap"));
    }

    #[test]
    fn what_an_object_may_own_is_built_in_and_has_its_own_owner_before_it() {
        for (group, kind) in
            [("apps", "Deployment"), ("apps", "StatefulSet"), ("batch", "CronJob"), ("example.com", "X")]
        {
            let below = offspring(group, kind);
            assert!(below.iter().all(|(group, kind)| built_in(group, kind).is_some()), "{kind}");
            for (group, kind) in below {
                let missing: Vec<_> = offspring(group, kind).iter().filter(|kind| !below.contains(kind)).collect();
                // The claims of a pod's own volumes are not worth a list of all claims for every
                // Deployment.
                assert!(missing.iter().all(|(_, kind)| *kind == "PersistentVolumeClaim"), "{kind}: {missing:?}");
            }
        }
        assert!(offspring("", "ConfigMap").is_empty());
    }

    #[test]
    fn what_others_need_is_of_a_lower_level() {
        let levels = [
            ("", "Namespace"),
            ("apiextensions.k8s.io", "CustomResourceDefinition"),
            ("", "ServiceAccount"),
            ("", "Secret"),
            ("rbac.authorization.k8s.io", "RoleBinding"),
            ("", "Service"),
            ("apps", "Deployment"),
            ("autoscaling", "HorizontalPodAutoscaler"),
            ("example.com", "Thing"),
            ("admissionregistration.k8s.io", "ValidatingWebhookConfiguration"),
        ];
        assert!(levels.map(|(group, kind)| level(group, kind)).is_sorted_by(|a, b| a < b));
    }
}
