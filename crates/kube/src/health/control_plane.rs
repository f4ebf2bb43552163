//! The health of kinds that the control plane itself implements.

use super::Verdict;
use super::status::{Condition, Object, State};

pub(super) fn namespace(object: Object<'_>) -> Verdict {
    match object.text("status.phase") {
        Some("Active") => Verdict::healthy("it is active"),
        Some("Terminating") => Verdict::progressing("terminating"),
        Some(other) => Verdict::unknown(format!("its phase `{other}` does not show its health")),
        None => Verdict::progressing("it is not active yet"),
    }
}

pub(super) fn definition(object: Object<'_>) -> Verdict {
    if let Some(terminating) = object.holds("Terminating") {
        return Verdict::progressing(terminating.told());
    }
    if let Some(refused) = object.denies("NamesAccepted") {
        return Verdict::degraded(refused.told()).for_good();
    }
    if let Some(violations) = object.holds("NonStructuralSchema") {
        return Verdict::degraded(violations.told()).for_good();
    }
    match object.condition("Established") {
        Some(established) if established.state == State::True => Verdict::healthy("its kind is served"),
        Some(established) if established.reason != "Installing" => Verdict::degraded(established.told()),
        _ => Verdict::progressing("its kind is not served yet"),
    }
}

pub(super) fn api_service(object: Object<'_>) -> Verdict {
    match object.condition("Available") {
        Some(available) if available.state == State::True => Verdict::healthy("its API is served"),
        Some(available) => Verdict::progressing(available.told()),
        None => Verdict::progressing("its API is not served yet"),
    }
}

/// The annotation that holds the conditions as JSON in the first version of the API, which has none
/// of its own.
const CONDITIONS_OF_V1: &str = "autoscaling.alpha.kubernetes.io/conditions";

pub(super) fn autoscaler(object: Object<'_>) -> Verdict {
    let Some(text) = crate::object::annotation(object.value(), CONDITIONS_OF_V1) else {
        return scales(&object.conditions_at("status.conditions").collect::<Vec<_>>());
    };
    match crate::object::read_value(text.as_bytes()) {
        Ok(conditions) => scales(&Condition::all(Some(&conditions)).collect::<Vec<_>>()),
        Err(error) => Verdict::unknown(format!("its annotation {CONDITIONS_OF_V1} cannot be read: {error}")),
    }
}

/// An autoscaler at its limits, or switched off by zero replicas, is as declared.
fn scales(conditions: &[Condition<'_>]) -> Verdict {
    let fails = |condition: &&Condition<'_>| {
        matches!(condition.name, "AbleToScale" | "ScalingActive")
            && condition.state != State::True
            && (condition.reason.starts_with("Failed") || condition.reason.starts_with("Invalid"))
    };
    if let Some(failed) = conditions.iter().find(fails) {
        return Verdict::degraded(failed.told());
    }
    let able = |condition: &&Condition<'_>| condition.name == "AbleToScale" && condition.state == State::True;
    match conditions.iter().find(able) {
        Some(able) => Verdict::healthy(format!("it can scale: {}", able.message)),
        None => Verdict::progressing("it has not found its scale target yet"),
    }
}

/// A disruption budget that allows no disruption now works too: `InsufficientPods` does not count
/// against it.
pub(super) fn disruption_budget(object: Object<'_>) -> Verdict {
    if let Some(verdict) = object.unobserved() {
        return verdict;
    }
    let mut conditions = object.conditions_at("status.conditions");
    match conditions.find(|condition| condition.state == State::False && condition.reason != "InsufficientPods") {
        Some(failed) => Verdict::degraded(failed.told()),
        None => Verdict::healthy(format!("{} pods may be disrupted now", object.count("status.disruptionsAllowed"))),
    }
}

/// A signing request needs an approval first, and then a signer.
pub(super) fn signing_request(object: Object<'_>) -> Verdict {
    if let Some(refused) = object.holds("Denied").or_else(|| object.holds("Failed")) {
        return Verdict::degraded(refused.told()).for_good();
    }
    match (object.holds("Approved"), object.text("status.certificate")) {
        (Some(_), Some(_)) => Verdict::healthy("it is signed").for_good(),
        (Some(_), None) => Verdict::progressing("it is approved, but not signed yet"),
        (None, _) => Verdict::progressing("it is not approved yet"),
    }
}
