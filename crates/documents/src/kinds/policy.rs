//! `kind: Policy`.

use setpoint_core::name::AppName;
use setpoint_yaml::Node;

use crate::declaration::{Field, Shape, object};
use crate::reader::Reader;

object! {
    /// Rules that new versions of a scope's apps must pass.
    pub struct PolicySpec {
        /// The apps to which the policy applies. If empty, it applies to every app of the scope.
        "apps" apps: Vec<AppName> = Vec::new(),
        /// The number of people who must approve a version. Not supported yet: only 0 is accepted.
        "approvals" approvals: Integer<0, 10> = Integer::of(0),
        /// The share of an app's resources that may be pruned in 24 hours, in percent. One resource
        /// may always be pruned. Not supported yet: only 10 is accepted.
        "pruneBudget" prune_budget: Integer<0, 100> = Integer::of(10),
    }
}

/// An integer from `LEAST` to `MOST`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Integer<const LEAST: u32, const MOST: u32>(u32);

impl<const LEAST: u32, const MOST: u32> Integer<LEAST, MOST> {
    /// Makes the default of a declaration.
    pub(super) const fn of(number: u32) -> Self {
        assert!(LEAST <= number && number <= MOST, "a default is within its bounds");
        Self(number)
    }

    pub fn get(self) -> u32 {
        self.0
    }
}

impl<const LEAST: u32, const MOST: u32> Field for Integer<LEAST, MOST> {
    fn shape() -> Shape {
        Shape::Scalar(format!("integer, {LEAST} to {MOST}"))
    }

    fn read(node: Node<'_>, reader: &mut Reader) -> Option<Self> {
        reader.integer(node, LEAST, MOST).map(Self)
    }

    fn show(&self) -> String {
        self.0.to_string()
    }
}
