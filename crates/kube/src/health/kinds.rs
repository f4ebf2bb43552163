//! The rules for known kinds, and the kinds that need none.

use super::status::Object;
use super::{Verdict, control_plane, gateway, jobs, network, pods, storage, workloads};

type Rule = fn(Object<'_>) -> Verdict;

/// Returns the rule for a kind of Kubernetes itself (the Gateway API is installed separately, but
/// is one of them).
pub(super) fn rule(group: &str, kind: &str) -> Option<Rule> {
    Some(match (group, kind) {
        ("apps" | "extensions", "Deployment") => workloads::deployment,
        ("apps", "StatefulSet") => workloads::stateful_set,
        ("apps" | "extensions", "DaemonSet") => workloads::daemon_set,
        ("apps" | "extensions", "ReplicaSet") | ("", "ReplicationController") => workloads::replica_set,
        ("", "Pod") => pods::pod,
        ("batch", "Job") => jobs::job,
        ("batch", "CronJob") => jobs::cron_job,
        ("", "PersistentVolumeClaim") => storage::claim,
        ("", "PersistentVolume") => storage::volume,
        ("", "Service") => network::service,
        ("networking.k8s.io" | "extensions", "Ingress") => network::ingress,
        ("", "Namespace") => control_plane::namespace,
        ("apiextensions.k8s.io", "CustomResourceDefinition") => control_plane::definition,
        ("apiregistration.k8s.io", "APIService") => control_plane::api_service,
        ("autoscaling", "HorizontalPodAutoscaler") => control_plane::autoscaler,
        ("policy", "PodDisruptionBudget") => control_plane::disruption_budget,
        ("certificates.k8s.io", "CertificateSigningRequest") => control_plane::signing_request,
        ("gateway.networking.k8s.io" | "gateway.networking.x-k8s.io", kind) if kind != "ReferenceGrant" => {
            gateway::attached
        }
        _ => return None,
    })
}

/// Reports whether a kind has no controller: it is data for others, or a rule that the server
/// itself applies. Kinds that are not listed here have a controller, and are not healthy before it
/// has reported.
pub(super) fn has_no_controller(group: &str, kind: &str) -> bool {
    match group {
        "" => matches!(
            kind,
            "ConfigMap"
                | "Secret"
                | "ServiceAccount"
                | "LimitRange"
                | "ResourceQuota"
                | "Endpoints"
                | "Event"
                | "PodTemplate"
        ),
        "apps" => kind == "ControllerRevision",
        "rbac.authorization.k8s.io" => matches!(kind, "Role" | "RoleBinding" | "ClusterRole" | "ClusterRoleBinding"),
        "networking.k8s.io" => matches!(kind, "NetworkPolicy" | "IngressClass" | "IPAddress"),
        "storage.k8s.io" => {
            matches!(kind, "StorageClass" | "CSIDriver" | "CSINode" | "CSIStorageCapacity" | "VolumeAttributesClass")
        }
        "scheduling.k8s.io" => kind == "PriorityClass",
        "node.k8s.io" => kind == "RuntimeClass",
        "coordination.k8s.io" => matches!(kind, "Lease" | "LeaseCandidate"),
        "discovery.k8s.io" => kind == "EndpointSlice",
        "events.k8s.io" => kind == "Event",
        "flowcontrol.apiserver.k8s.io" => matches!(kind, "FlowSchema" | "PriorityLevelConfiguration"),
        "certificates.k8s.io" => kind == "ClusterTrustBundle",
        "resource.k8s.io" => {
            matches!(kind, "DeviceClass" | "ResourceSlice" | "ResourceClaim" | "ResourceClaimTemplate")
        }
        "gateway.networking.k8s.io" => kind == "ReferenceGrant",
        "admissionregistration.k8s.io" => matches!(
            kind,
            "MutatingWebhookConfiguration"
                | "ValidatingWebhookConfiguration"
                | "MutatingAdmissionPolicy"
                | "MutatingAdmissionPolicyBinding"
                | "ValidatingAdmissionPolicy"
                | "ValidatingAdmissionPolicyBinding"
        ),
        _ => false,
    }
}
