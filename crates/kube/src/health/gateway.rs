//! The Gateway API: the conditions of every controller that an object is attached to.

use super::Verdict;
use super::status::{Condition, Object, State};

/// The conditions of one controller about one part.
struct Statement<'a> {
    part: String,
    conditions: Vec<Condition<'a>>,
}

impl<'a> Statement<'a> {
    fn of(item: Object<'a>, word: &str, name: &str) -> Self {
        let part = format!("{word} `{}`: ", item.text(name).unwrap_or("?"));
        Self { part, conditions: item.conditions_at("conditions").collect() }
    }
}

/// Gateways and their classes have conditions under `status.conditions` and per listener, routes
/// per parent, policies per ancestor.
pub(super) fn attached(object: Object<'_>) -> Verdict {
    let statements = statements(object);
    let generation = object.generation();
    let mut waits_for = None;
    let mut spoken = false;
    for Statement { part, conditions } in &statements {
        for condition in conditions {
            if is_placeholder(*condition) {
                continue;
            }
            spoken = true;
            if is_old(*condition, generation) {
                waits_for.get_or_insert_with(|| format!("{part}{} is about an older generation", condition.name));
            } else if refuses(*condition) {
                return Verdict::degraded(format!("{part}{}", condition.told()));
            } else if is_unfinished(*condition) {
                waits_for.get_or_insert_with(|| format!("{part}{}", condition.told()));
            }
        }
    }
    match waits_for {
        _ if !spoken => Verdict::unknown("its controller has not reported"),
        Some(waits_for) => Verdict::progressing(waits_for),
        None => Verdict::healthy("everything that it is attached to has accepted it"),
    }
}

fn statements(object: Object<'_>) -> Vec<Statement<'_>> {
    let own = Statement { part: String::new(), conditions: object.conditions_at("status.conditions").collect() };
    let listeners = object.items("status.listeners").map(|item| Statement::of(item, "listener", "name"));
    let parents = object.items("status.parents").filter(|item| !is_left_behind(object, *item));
    let parents = parents.map(|item| Statement::of(item, "parent", "parentRef.name"));
    let ancestors = object.items("status.ancestors").map(|item| Statement::of(item, "ancestor", "ancestorRef.name"));
    std::iter::once(own).chain(listeners).chain(parents).chain(ancestors).collect()
}

/// Reports whether a route has left this parent. Controllers do not remove the status of a former
/// parent.
fn is_left_behind(route: Object<'_>, parent: Object<'_>) -> bool {
    let is_same = |declared: Object<'_>| {
        ["name", "sectionName"].iter().all(|field| declared.text(field) == parent.text(&format!("parentRef.{field}")))
            && declared.int("port") == parent.int("parentRef.port")
    };
    parent.conditions_at("conditions").any(|condition| is_old(condition, route.generation()))
        && !route.items("spec.parentRefs").any(is_same)
}

fn is_old(condition: Condition<'_>, stands: Option<i64>) -> bool {
    condition.generation.is_some_and(|seen| stands.is_some_and(|stands| seen != stands))
}

/// Reports whether a condition is a placeholder. The definitions of the kinds fill in a status with
/// "waiting for controller" before there is any controller.
fn is_placeholder(condition: Condition<'_>) -> bool {
    condition.state == State::Unknown && condition.reason == "Pending"
}

fn refuses(condition: Condition<'_>) -> bool {
    match condition.name {
        "Accepted" | "ResolvedRefs" => condition.state == State::False && condition.reason != "Pending",
        "Conflicted" => condition.state == State::True,
        _ => false,
    }
}

fn is_unfinished(condition: Condition<'_>) -> bool {
    matches!(condition.name, "Accepted" | "ResolvedRefs" | "Programmed") && condition.state != State::True
}
