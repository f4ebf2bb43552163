//! Services and ingresses.

use setpoint_core::live::Health::{Healthy, Progressing};

use super::check;

#[test]
fn a_service_waits_for_an_address_only_from_a_load_balancer() {
    check(
        "
apiVersion: v1
kind: Service
metadata: {name: web}",
        &[
            ("", Healthy, "needs no controller"),
            ("spec: {type: NodePort}", Healthy, "needs no controller"),
            ("spec: {type: ExternalName, externalName: example.com}", Healthy, "needs no controller"),
            ("spec: {type: LoadBalancer, clusterIP: 10.0.0.1}", Progressing, "no load balancer"),
            ("spec: {type: LoadBalancer}\nstatus: {loadBalancer: {ingress: []}}", Progressing, "no load balancer"),
            ("spec: {type: LoadBalancer}\nstatus: {loadBalancer: {ingress: [{ip: 192.0.2.7}]}}", Healthy, "192.0.2.7"),
        ],
    );
}

#[test]
fn an_ingress_waits_for_an_address() {
    check(
        "
apiVersion: networking.k8s.io/v1
kind: Ingress
metadata: {name: web}",
        &[
            ("status: {loadBalancer: {}}", Progressing, "no ingress controller"),
            ("status: {loadBalancer: {ingress: [{hostname: lb.example.com}]}}", Healthy, "lb.example.com"),
        ],
    );
}
