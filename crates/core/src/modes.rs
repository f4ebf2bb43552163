//! The modes of apps: one table defines which differences are acted on in which state. So "why is
//! nothing happening?" has one place to check.

use std::fmt;

use serde::{Deserialize, Serialize};

/// The reason why a resource differs from its declaration.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Cause {
    /// The declaration changed.
    Declared,
    /// An input of the render changed on the target's side (capabilities, looked-up objects).
    Environment,
    /// The live state left the last converged one while the declaration did not change. In an app
    /// that is only observed, every difference.
    Drift,
    /// A stranger added a field or an entry to a declared object.
    Addition,
    /// The field was declared before, and other managers still hold it: reported, never taken from
    /// them.
    Leftover,
    /// The object is ours and no longer declared.
    Prune,
    /// The whole app is being retired.
    Retire,
    /// The app returns to its last good bundle.
    Rollback,
    /// The declaration changes immutable fields: the object is deleted and created again.
    Replace,
}

/// A state of an app. Several can hold at once.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum State {
    Auto,
    Manual,
    Observe,
    WindowClosed,
    Frozen,
    /// The app's document names another system than the one with the app's objects.
    TargetMoved,
    Suspended,
    Held,
    StoreStale,
    TargetUnknown,
}

/// The permission to act on a difference. If states combine, the later variant wins.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Permission {
    Act,
    /// Done without an order once the state ends.
    Wait,
    /// Reported, never done.
    Report,
}

impl Cause {
    pub const ALL: [Self; 9] = [
        Self::Declared,
        Self::Environment,
        Self::Drift,
        Self::Addition,
        Self::Leftover,
        Self::Prune,
        Self::Retire,
        Self::Rollback,
        Self::Replace,
    ];
}

impl State {
    pub const ALL: [Self; 10] = [
        Self::Auto,
        Self::Manual,
        Self::Observe,
        Self::WindowClosed,
        Self::Frozen,
        Self::TargetMoved,
        Self::Suspended,
        Self::Held,
        Self::StoreStale,
        Self::TargetUnknown,
    ];
}

/// The table (design §6.11). Windows and manual mode gate changes, not healing: the app stays at
/// the bundle that a person last let through.
pub const fn permission(cause: Cause, state: State) -> Permission {
    use Cause::{Addition, Declared, Drift, Environment, Leftover, Prune, Replace, Retire, Rollback};
    use Permission::{Act, Report, Wait};
    match (state, cause) {
        (_, Leftover) => Report,
        (State::Auto, _) => Act,
        (State::Observe | State::Frozen | State::TargetMoved, _) => Report,
        (State::Suspended | State::TargetUnknown, _) => Wait,
        (State::Manual | State::WindowClosed, Drift | Addition | Rollback) => Act,
        (State::Manual | State::WindowClosed, Declared | Environment | Prune | Retire | Replace) => Wait,
        // The bundle in question is the one at which the app is held: reaching it does not break
        // the hold.
        (State::Held, Declared | Drift | Addition | Rollback) => Act,
        (State::Held, Environment | Prune | Retire | Replace) => Wait,
        (State::StoreStale, Declared | Drift | Addition | Rollback) => Act,
        (State::StoreStale, Environment | Prune | Retire | Replace) => Wait,
    }
}

/// The set of states an app is in.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct States(u16);

impl States {
    #[must_use]
    pub const fn with(self, state: State) -> Self {
        Self(self.0 | 1 << state as u16)
    }

    /// Returns the set with one state replaced by another, if it contains the first.
    #[must_use]
    pub const fn but(self, state: State, instead: State) -> Self {
        if self.contains(state) { self.without(state).with(instead) } else { self }
    }

    /// Returns the set without a state.
    #[must_use]
    pub const fn without(self, state: State) -> Self {
        Self(self.0 & !(1 << state as u16))
    }

    pub const fn contains(self, state: State) -> bool {
        self.0 & 1 << state as u16 != 0
    }

    /// Returns the state in which the app has no document in force, if it is in one.
    pub fn without_document(self) -> Option<State> {
        [State::Frozen, State::TargetMoved, State::TargetUnknown].into_iter().find(|state| self.contains(*state))
    }

    /// Returns the strictest permission of all states, and the state that decided it.
    pub fn permission(self, cause: Cause) -> (Permission, State) {
        State::ALL
            .into_iter()
            .filter(|state| self.contains(*state))
            .map(|state| (permission(cause, state), state))
            .max_by_key(|(permission, _)| *permission)
            // An empty set means that no rule allows anything: a missing rule is no permission.
            .unwrap_or((Permission::Report, State::Frozen))
    }
}

impl FromIterator<State> for States {
    fn from_iter<I: IntoIterator<Item = State>>(states: I) -> Self {
        states.into_iter().fold(Self::default(), Self::with)
    }
}

impl fmt::Display for Cause {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Declared => "declared",
            Self::Environment => "environment",
            Self::Drift => "drift",
            Self::Addition => "addition",
            Self::Leftover => "leftover",
            Self::Prune => "prune",
            Self::Retire => "retire",
            Self::Rollback => "rollback",
            Self::Replace => "replace",
        })
    }
}

impl fmt::Display for State {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Auto => "automatic",
            Self::Manual => "manual: run `setpoint sync`",
            Self::Observe => "observing only",
            Self::WindowClosed => "outside its window",
            Self::Frozen => "frozen: its App document is gone from the store; restore it or retire the app",
            Self::TargetMoved => "frozen: its target is now another system than the one with the app's objects",
            Self::Suspended => "suspended",
            Self::Held => "held: run `setpoint release`",
            Self::StoreStale => "waiting for its store to respond",
            Self::TargetUnknown => "waiting until its target can be observed",
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The whole table, repeated here on purpose: A act, W wait, R report.
    #[test]
    fn the_table_of_modes_is_exactly_this() {
        //        declared environment drift addition leftover prune retire rollback replace
        let table = [
            (State::Auto, "A A A A R A A A A"),
            (State::Manual, "W W A A R W W A W"),
            (State::Observe, "R R R R R R R R R"),
            (State::WindowClosed, "W W A A R W W A W"),
            (State::Frozen, "R R R R R R R R R"),
            (State::TargetMoved, "R R R R R R R R R"),
            (State::Suspended, "W W W W R W W W W"),
            (State::Held, "A W A A R W W A W"),
            (State::StoreStale, "A W A A R W W A W"),
            (State::TargetUnknown, "W W W W R W W W W"),
        ];
        assert_eq!(table.map(|(state, _)| state), State::ALL);
        for (state, row) in table {
            for (cause, cell) in Cause::ALL.into_iter().zip(row.split(' ')) {
                let expected = match cell {
                    "A" => Permission::Act,
                    "W" => Permission::Wait,
                    _ => Permission::Report,
                };
                assert_eq!(permission(cause, state), expected, "{cause} in {state}");
            }
        }
    }

    #[test]
    fn the_strictest_of_several_states_decides() {
        for (a, b) in State::ALL.into_iter().flat_map(|a| State::ALL.map(|b| (a, b))) {
            let both: States = [a, b].into_iter().collect();
            for cause in Cause::ALL {
                assert_eq!(both.permission(cause).0, permission(cause, a).max(permission(cause, b)));
            }
        }
    }

    #[test]
    fn no_state_is_no_right() {
        for cause in Cause::ALL {
            assert_eq!(States::default().permission(cause).0, Permission::Report);
        }
    }

    #[test]
    fn nothing_is_deleted_while_anything_but_auto_holds() {
        for state in State::ALL.into_iter().filter(|state| *state != State::Auto) {
            assert_ne!(permission(Cause::Prune, state), Permission::Act);
            assert_ne!(permission(Cause::Retire, state), Permission::Act);
            assert_ne!(permission(Cause::Replace, state), Permission::Act);
        }
    }
}
