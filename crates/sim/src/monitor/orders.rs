//! The orders of people, and their duration: an order excuses its consequences, and nothing after
//! that.

use std::collections::{BTreeMap, BTreeSet};

use setpoint_core::digest::Digest;
use setpoint_core::facts::AppFacts;
use setpoint_core::hold::{Hold, HoldReason};
use setpoint_core::intent::Intent;
use setpoint_core::key::Key;
use setpoint_core::name::{AppId, Uid};
use setpoint_core::version::{Ancestry, Revision};
use setpoint_engine::{Command, Order, OrderId};
use setpoint_ledger::Entry;

use super::{Ledgered, Monitor};
use crate::repository::root;

/// The monitor's memory of orders.
#[derive(Clone, Debug, Default)]
pub(super) struct Orders {
    given: BTreeMap<u64, (AppId, Order)>,
    /// The orders that an instance refused.
    refused: BTreeSet<(usize, u64)>,
    /// The revision that a person approved, until the next acceptance.
    blessed: BTreeMap<AppId, Revision>,
    permissions: BTreeMap<AppId, Permission>,
    /// The objects whose delete was begun with a person's permission.
    permitted: BTreeSet<(Key, Uid)>,
}

/// A person's permission to delete more than the budgets allow.
#[derive(Clone, Debug)]
struct Permission {
    order: u64,
    bundle: Digest,
    left: u32,
}

impl Orders {
    /// Handles an old copy of the ledger that was restored: people remember their orders, and the
    /// engine knows those in the copy.
    pub(super) fn brought_back(&mut self, old: Self) {
        self.blessed = old.blessed;
        self.permissions = old.permissions;
    }
}

/// Returns the number of the order in a ledger's reason; none if the engine decided by itself.
fn order_of(reason: &str) -> Option<u64> {
    reason.strip_prefix("because ")?.split(' ').next()?.parse().ok()
}

/// Returns the reason for an order. It contains the order's number, so that it can be found
/// wherever the reason is recorded.
pub fn reason_of(order: OrderId) -> String {
    format!("because {}", order.0)
}

impl Monitor {
    /// Records an order of a person.
    pub fn order_given(&mut self, command: &Command) {
        self.orders.given.insert(command.id.0, (command.app.clone(), command.order.clone()));
    }

    /// Records that an instance refused an order: it must have no effect.
    pub fn order_refused(&mut self, instance: usize, order: OrderId) {
        self.orders.refused.insert((instance, order.0));
    }

    /// Checks new facts of an app: the parts that people order must be as ordered.
    pub(super) fn orders_followed(&mut self, scene: &Ledgered<'_>, entry: &Entry, app: &AppId, facts: &AppFacts) {
        let before = scene.facts.apps.get(app).map(AsRef::as_ref);
        self.refused_has_no_effect(scene.writer, app, facts);
        self.suspension_lasts(entry, app, facts, before);
        self.permission_given(app, facts);
        let blessed_before = before.and_then(|before| before.blessed.as_ref());
        match &facts.blessed {
            Some(blessed) if blessed_before != Some(blessed) => {
                let said = self.orders.given.values().any(|(of, order)| {
                    of == app && matches!(order, Order::Release { accept: Some(accept) } if accept == blessed)
                });
                self.holds("S6", said, || format!("no person approved {blessed} for {app}"));
                self.orders.blessed.insert(app.clone(), blessed.clone());
            }
            Some(_) => {}
            None if accepted(before) == accepted(Some(facts)) => drop(self.orders.blessed.remove(app)),
            None => {}
        }
    }

    /// Ends a person's approval of a version with the next acceptance.
    pub(super) fn blessing_spent(&mut self, scene: &Ledgered<'_>, app: &AppId, facts: &AppFacts) {
        if accepted(scene.facts.apps.get(app).map(AsRef::as_ref)) != accepted(Some(facts)) {
            self.orders.blessed.remove(app);
        }
    }

    /// Reports whether a person has approved this version, or an ancestor of it, since the last
    /// acceptance.
    pub(super) fn is_blessed(&self, scene: &Ledgered<'_>, store: usize, app: &AppId, revision: &Revision) -> bool {
        let name = &scene.universe.stores[store];
        let said = self.orders.blessed.get(app).and_then(|blessed| blessed.get(name)).zip(revision.get(name));
        said.is_some_and(|(blessed, version)| {
            let ancestry = scene.stores[store].ancestry(Some(blessed), version);
            matches!(ancestry, Ancestry::Same | Ancestry::Descendant)
        })
    }

    /// Reports whether a person has approved control documents, and none were accepted since.
    pub(super) fn documents_blessed(&self) -> bool {
        self.orders.blessed.contains_key(&root())
    }

    fn refused_has_no_effect(&mut self, writer: usize, app: &AppId, facts: &AppFacts) {
        let asked = |hold: &Hold| match &hold.why {
            HoldReason::Asked { reason } => order_of(reason),
            HoldReason::RolledBack { .. } | HoldReason::Rewritten { .. } => None,
        };
        let hold = facts.hold.as_ref().and_then(asked);
        let suspension = facts.suspension.as_ref().and_then(|suspension| order_of(&suspension.reason));
        let allowance = facts.allowance.as_ref().and_then(|allowance| order_of(&allowance.reason));
        for order in [hold, suspension, allowance].into_iter().flatten() {
            let refused = self.orders.refused.contains(&(writer, order));
            self.holds("S10", !refused, || format!("order {order} for {app} takes effect, though it was refused"));
        }
    }

    /// Checks that a suspension ends at its time, or by an order.
    fn suspension_lasts(&mut self, entry: &Entry, app: &AppId, facts: &AppFacts, before: Option<&AppFacts>) {
        let Some(until) = before.and_then(|before| before.suspension.as_ref()).map(|suspension| suspension.until)
        else {
            return;
        };
        let lasts = facts.suspension.as_ref().is_some_and(|suspension| suspension.until >= until);
        let order = entry.data.get("order").and_then(|order| order.as_str());
        let asked = matches!(order, Some("suspend" | "resume"));
        self.holds("S10", lasts || asked || entry.time >= until, || {
            format!("the suspension of {app} ends at {:?}, and a person had ordered {until:?}", entry.time)
        });
    }

    fn permission_given(&mut self, app: &AppId, facts: &AppFacts) {
        let Some(allowance) = &facts.allowance else { return };
        let Some(order) = order_of(&allowance.reason) else {
            return self.holds("S3", false, || format!("no person allowed {app} to delete more"));
        };
        if self.orders.permissions.get(app).is_some_and(|permission| permission.order == order) {
            return;
        }
        let given = match self.orders.given.get(&order) {
            Some((of, Order::Sync { allow_prune })) if of == app => *allow_prune,
            _ => 0,
        };
        let (left, bundle) = (allowance.left, allowance.bundle);
        self.holds("S3", left <= given, || format!("{app} may delete {left} more, and a person allowed {given}"));
        self.orders.permissions.insert(app.clone(), Permission { order, bundle, left });
    }

    /// Takes one delete from a person's permission, if any is left for this bundle.
    pub(super) fn take_permission(&mut self, intent: &Intent) -> bool {
        let permission = self.orders.permissions.get_mut(&intent.app);
        let Some(permission) = permission.filter(|given| given.bundle == intent.bundle && given.left > 0) else {
            return false;
        };
        permission.left -= 1;
        let uid = intent.expect.as_ref().map(|expect| expect.uid.clone());
        self.orders.permitted.extend(uid.map(|uid| (intent.key.clone(), uid)));
        true
    }

    /// Reports whether the delete of an object was begun with a person's permission.
    pub(super) fn is_permitted(&self, key: &Key, uid: &Uid) -> bool {
        self.orders.permitted.contains(&(key.clone(), uid.clone()))
    }

    /// Forgets the orders for an app: they do not apply to a later app of that name.
    pub(super) fn orders_forgotten(&mut self, app: &AppId) {
        self.orders.blessed.remove(app);
        self.orders.permissions.remove(app);
    }

    /// Forgets all orders, since a new installation knows none.
    pub(super) fn all_orders_forgotten(&mut self) {
        self.orders.blessed.clear();
        self.orders.permissions.clear();
    }
}

fn accepted(facts: Option<&AppFacts>) -> Option<u64> {
    facts?.accepted.as_ref().map(|accepted| accepted.sequence)
}
