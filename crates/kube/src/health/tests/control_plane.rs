//! Kinds that the control plane itself implements.

use setpoint_core::live::Health::{Degraded, Healthy, Progressing, Unknown};

use super::check;

#[test]
fn a_namespace_is_healthy_when_it_is_active() {
    check(
        "{apiVersion: v1, kind: Namespace, metadata: {name: web}, ",
        &[
            ("status: {phase: Active}}", Healthy, "active"),
            ("status: {phase: Terminating}}", Progressing, "terminating"),
            ("spec: {}}", Progressing, "not active yet"),
        ],
    );
}

#[test]
fn a_definition_is_healthy_when_its_kind_is_served() {
    check(
        "
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: widgets.example.com}",
        &[
            ("", Progressing, "not served yet"),
            (
                "status: {conditions: [{type: Established, status: 'False', reason: Installing}]}",
                Progressing,
                "not served",
            ),
            (
                "status: {conditions: [{type: Established, status: 'False', reason: NotAccepted}]}",
                Degraded,
                "NotAccepted",
            ),
            (
                "status: {conditions: [{type: NamesAccepted, status: 'False', reason: ListKindConflict}]}",
                Degraded,
                "ListKind",
            ),
            (
                "status: {conditions: [{type: NonStructuralSchema, status: 'True', message: must be false}, {type: Established, status: 'True'}]}",
                Degraded,
                "must be false",
            ),
            (
                "status: {conditions: [{type: Terminating, status: 'True'}, {type: Established, status: 'True'}]}",
                Progressing,
                "Terminating",
            ),
            (
                "status: {conditions: [{type: NamesAccepted, status: 'True'}, {type: Established, status: 'True'}]}",
                Healthy,
                "served",
            ),
        ],
    );
}

#[test]
fn an_api_service_is_healthy_when_it_is_available() {
    check(
        "
apiVersion: apiregistration.k8s.io/v1
kind: APIService
metadata: {name: v1.example.com}",
        &[
            ("", Progressing, "not served"),
            (
                "status: {conditions: [{type: Available, status: 'False', reason: MissingEndpoints}]}",
                Progressing,
                "Missing",
            ),
            ("status: {conditions: [{type: Available, status: 'True', reason: Passed}]}", Healthy, "served"),
        ],
    );
}

#[test]
fn an_autoscaler_is_degraded_when_it_cannot_measure_or_scale() {
    check(
        "
apiVersion: autoscaling/v2
kind: HorizontalPodAutoscaler
metadata: {name: web}",
        &[
            ("", Progressing, "not found its scale target yet"),
            (
                "status: {conditions: [{type: AbleToScale, status: 'False', reason: FailedGetScale, message: not found}]}",
                Degraded,
                "FailedGetScale: not found",
            ),
            (
                "status: {conditions: [{type: AbleToScale, status: 'True'}, {type: ScalingActive, status: 'False', reason: FailedGetResourceMetric}]}",
                Degraded,
                "FailedGetResourceMetric",
            ),
            (
                "status: {conditions: [{type: AbleToScale, status: 'True'}, {type: ScalingActive, status: 'False', reason: ScalingDisabled}]}",
                Healthy,
                "can scale",
            ),
            (
                "status: {conditions: [{type: AbleToScale, status: 'True'}, {type: ScalingLimited, status: 'True', reason: TooFewReplicas}]}",
                Healthy,
                "can scale",
            ),
        ],
    );
}

#[test]
fn an_autoscaler_of_the_first_version_keeps_its_conditions_in_an_annotation() {
    let with = |conditions: &str| {
        format!("metadata: {{name: web, annotations: {{autoscaling.alpha.kubernetes.io/conditions: '{conditions}'}}}}")
    };
    let (failed, able, broken) = (
        with(r#"[{"type":"AbleToScale","status":"False","reason":"FailedUpdateScale","message":"denied"}]"#),
        with(r#"[{"type":"AbleToScale","status":"True","reason":"ReadyForNewScale","message":"ready"}]"#),
        with("[{"),
    );
    check(
        "
apiVersion: autoscaling/v1
kind: HorizontalPodAutoscaler",
        &[(&failed, Degraded, "denied"), (&able, Healthy, "ready"), (&broken, Unknown, "cannot be read")],
    );
}

#[test]
fn a_disruption_budget_is_healthy_when_it_has_been_counted() {
    check(
        "
apiVersion: policy/v1
kind: PodDisruptionBudget
metadata: {name: web, generation: 1}",
        &[
            ("", Progressing, "not observed"),
            ("status: {observedGeneration: 1, disruptionsAllowed: 2}", Healthy, "2 pods may be disrupted"),
            (
                "status: {observedGeneration: 1, conditions: [{type: DisruptionAllowed, status: 'False', reason: InsufficientPods}]}",
                Healthy,
                "0 pods may be disrupted",
            ),
            (
                "status: {observedGeneration: 1, conditions: [{type: DisruptionAllowed, status: 'False', reason: SyncFailed}]}",
                Degraded,
                "SyncFailed",
            ),
        ],
    );
}

#[test]
fn a_signing_request_waits_for_approval_and_signature() {
    check(
        "
apiVersion: certificates.k8s.io/v1
kind: CertificateSigningRequest
metadata: {name: web}",
        &[
            ("", Progressing, "approved"),
            ("status: {conditions: [{type: Denied, status: 'True', reason: Policy}]}", Degraded, "Policy"),
            ("status: {conditions: [{type: Approved, status: 'True'}]}", Progressing, "not signed"),
            ("status: {certificate: Zm9v, conditions: [{type: Approved, status: 'True'}]}", Healthy, "signed"),
        ],
    );
}
