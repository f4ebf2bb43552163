//! Services and ingresses: healthy once they have the address they request.

use super::Verdict;
use super::status::Object;

/// Only a load balancer gets its address from a controller; the other types work as soon as the
/// server has stored them.
pub(super) fn service(object: Object<'_>) -> Verdict {
    if object.text("spec.type") != Some("LoadBalancer") {
        return Verdict::healthy("it exists, and its type needs no controller");
    }
    address(object).unwrap_or_else(|| Verdict::progressing("no load balancer has given it an address yet"))
}

pub(super) fn ingress(object: Object<'_>) -> Verdict {
    address(object).unwrap_or_else(|| {
        Verdict::progressing(
            "no ingress controller has given it an address yet (where the controller writes none, give `Ingress` an expression)",
        )
    })
}

fn address(object: Object<'_>) -> Option<Verdict> {
    let first = object.items("status.loadBalancer.ingress").next()?;
    let address = first.text("ip").or(first.text("hostname")).unwrap_or("without a name");
    Some(Verdict::healthy(format!("it has the address {address}")))
}
