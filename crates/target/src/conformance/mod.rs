//! The conformance suite of targets: an implementation provides a [`Subject`] and calls
//! [`failures`].
//!
//! Each check states one sentence of the [`Target`] contract. The suite needs no runtime: it only
//! awaits. The check of hints never ends for a target that sends none: run the suite under a time
//! limit.

use std::future::Future;
use std::pin::Pin;

use setpoint_core::key::Key;
use setpoint_core::resource::Resource;
use setpoint_core::time::Timestamp;

use crate::contract::Target;

mod acting;
mod looking;
mod settling;
mod stage;
mod steps;

use stage::Stage;
pub use steps::Steps;

/// A future that the suite awaits.
pub type Finished<'a, T> = Pin<Box<dyn Future<Output = T> + 'a>>;

/// A fresh target under test, without the samples, and the means to change its system from outside.
pub trait Subject {
    fn target(&self) -> &dyn Target;

    /// Returns the present time of the target's clock.
    fn now(&self) -> Timestamp;

    /// Returns the sample object of this number, in one of two forms with the same key. Samples do
    /// not depend on each other.
    fn sample(&self, number: usize, form: Form) -> Resource;

    /// Reports whether the target can distinguish an object it created from an identical one that
    /// someone else created.
    fn tells_own_creates(&self) -> bool;

    /// Writes the object of this key as another writer.
    fn edit<'a>(&'a self, resource: &'a Resource) -> Finished<'a, ()>;

    /// Removes the object of this key as another writer.
    fn remove<'a>(&'a self, key: &'a Key) -> Finished<'a, ()>;

    /// Creates the object of this key as another writer, in place of an existing one.
    fn recreate<'a>(&'a self, resource: &'a Resource) -> Finished<'a, ()>;

    /// Makes this key unreadable from now on; other keys may become unreadable too.
    fn hide<'a>(&'a self, key: &'a Key) -> Finished<'a, ()>;

    /// Replaces the system by another one from now on.
    fn replace_system(&self) -> Finished<'_, ()>;
}

/// One of the two forms of a sample.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    First,
    /// Differs from the first in the declared content, not in the identity.
    Second,
}

/// A violated sentence of the contract.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{check}: {detail}")]
pub struct Failure {
    /// The sentence, as the name of its check.
    pub check: &'static str,
    /// The observation that violates it.
    pub detail: String,
}

/// The result of a check; the error is the reason for its failure.
type Verdict = Result<(), String>;

struct Check {
    name: &'static str,
    run: for<'a> fn(&'a dyn Subject) -> Finished<'a, Verdict>,
}

macro_rules! checks {
    ($($module:ident :: $name:ident),* $(,)?) => {
        const CHECKS: &[Check] = &[$(Check {
            name: stringify!($name),
            run: |subject| Box::pin(async move { $module::$name(&Stage::set(subject).await?).await }),
        }),*];
    };
}

checks![
    looking::the_system_itself_says_who_it_is,
    looking::another_system_at_this_address_is_never_taken_for_ours,
    looking::every_key_asked_for_is_answered,
    looking::what_cannot_be_read_is_unknown_never_absent,
    looking::a_key_follows_from_the_declaration_alone,
    looking::a_declaration_that_names_nothing_has_no_key,
    looking::a_preview_changes_nothing,
    looking::what_others_change_is_hinted_at,
    acting::what_was_created_is_observed_as_declared,
    acting::what_was_updated_is_the_same_object_as_declared_now,
    acting::what_was_deleted_is_observed_absent,
    acting::a_create_finds_nothing_or_changes_nothing,
    acting::an_update_or_delete_of_another_version_is_refused,
    acting::an_update_or_delete_of_another_incarnation_is_refused,
    acting::an_update_of_what_is_gone_is_refused,
    acting::deleting_what_is_gone_is_done,
    acting::an_effect_that_is_late_never_leaves,
    acting::an_effect_of_an_epoch_that_is_over_is_refused,
    acting::each_step_has_its_own_outcome_in_order,
    settling::a_create_that_happened_is_never_settled_as_not_done,
    settling::an_update_that_happened_is_settled_as_done,
    settling::a_delete_that_happened_is_settled_as_done,
    settling::what_never_left_is_settled_as_not_done,
    settling::what_was_refused_is_never_settled_as_done,
    settling::settling_changes_nothing,
    settling::what_cannot_be_looked_at_is_not_settled,
];

/// Returns the names of all checks, in the order they run.
pub fn names() -> impl Iterator<Item = &'static str> {
    CHECKS.iter().map(|check| check.name)
}

/// Runs every check on a fresh subject and returns the violations: a conforming target has none.
pub async fn failures<S: Subject>(fresh: impl AsyncFn() -> S) -> Vec<Failure> {
    let mut failures = Vec::new();
    for check in CHECKS {
        let subject = fresh().await;
        if let Err(detail) = (check.run)(&subject).await {
            failures.push(Failure { check: check.name, detail });
        }
    }
    failures
}

/// Fails the check unless the condition holds.
fn ensure(holds: bool, otherwise: impl FnOnce() -> String) -> Verdict {
    if holds { Ok(()) } else { Err(otherwise()) }
}
