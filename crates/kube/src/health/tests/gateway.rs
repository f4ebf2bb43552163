//! The Gateway API.

use setpoint_core::live::Health::{Degraded, Healthy, Progressing, Unknown};

use super::check;

#[test]
fn a_gateway_is_healthy_when_it_and_its_listeners_are_programmed() {
    check(
        "
apiVersion: gateway.networking.k8s.io/v1
kind: Gateway
metadata: {name: public, generation: 2}",
        &[
            ("", Unknown, "has not reported"),
            (
                "status: {conditions: [{type: Accepted, status: Unknown, reason: Pending, message: Waiting for controller}]}",
                Unknown,
                "has not reported",
            ),
            (
                "status: {conditions: [{type: Accepted, status: 'True'}, {type: Programmed, status: 'False', reason: AddressNotAssigned}]}",
                Progressing,
                "AddressNotAssigned",
            ),
            (
                "status: {conditions: [{type: Accepted, status: 'False', reason: InvalidParameters}]}",
                Degraded,
                "InvalidParameters",
            ),
            (
                "status: {conditions: [{type: Accepted, status: 'True'}], listeners: [{name: https, conditions: [{type: ResolvedRefs, status: 'False', reason: InvalidCertificateRef}]}]}",
                Degraded,
                "listener `https`: ResolvedRefs is false: InvalidCertificateRef",
            ),
            (
                "status: {conditions: [{type: Accepted, status: 'True', observedGeneration: 1}]}",
                Progressing,
                "older generation",
            ),
            (
                "status: {conditions: [{type: Accepted, status: 'True', observedGeneration: 2}, {type: Programmed, status: 'True', observedGeneration: 2}]}",
                Healthy,
                "accepted",
            ),
        ],
    );
}

#[test]
fn a_route_waits_for_every_parent_it_is_attached_to_now() {
    let spec = "spec: {parentRefs: [{name: public, sectionName: https}, {name: internal}]}";
    let status = |seen: i64, internal: &str| {
        format!(
            "{spec}
status:
  parents:
  - {{parentRef: {{name: public, sectionName: https}}, conditions: [{{type: Accepted, status: 'True', observedGeneration: 3}}]}}
  - {{parentRef: {{name: left, sectionName: http}}, conditions: [{{type: Accepted, status: 'False', reason: NoMatchingParent, observedGeneration: 1}}]}}
  - {{parentRef: {{name: internal}}, conditions: [{{type: Accepted, status: {internal}, reason: NotAllowedByListeners, observedGeneration: {seen}}}]}}"
        )
    };
    let silent = format!("{spec}\nstatus: {{parents: []}}");
    check(
        "
apiVersion: gateway.networking.k8s.io/v1
kind: HTTPRoute
metadata: {name: web, generation: 3}",
        &[
            (&silent, Unknown, "has not reported"),
            (&status(2, "'True'"), Progressing, "parent `internal`: Accepted is about an older generation"),
            (&status(3, "'False'"), Degraded, "parent `internal`: Accepted is false: NotAllowedByListeners"),
            (&status(3, "'True'"), Healthy, "accepted"),
        ],
    );
}

#[test]
fn a_policy_speaks_per_ancestor() {
    check(
        "
apiVersion: gateway.networking.k8s.io/v1
kind: BackendTLSPolicy
metadata: {name: web, generation: 1}",
        &[(
            "status: {ancestors: [{ancestorRef: {name: public}, conditions: [{type: Accepted, status: 'False', reason: Invalid}]}]}",
            Degraded,
            "ancestor `public`",
        )],
    );
}
