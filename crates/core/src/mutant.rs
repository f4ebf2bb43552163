//! Mutants: deliberate mistakes. The simulator switches one on, and must then find the property
//! that it is named for broken.
//!
//! Without the feature `mutants`, which only the simulator enables, [`Mutant::is_on`] is the
//! constant `false`.

macro_rules! mutants {
    ($($(#[doc = $doc:literal])+ $name:ident => $property:literal $(in $scenario:literal)?,)+) => {
        /// One deliberate mistake.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
        pub enum Mutant {
            $($(#[doc = $doc])+ $name,)+
        }

        impl Mutant {
            pub const ALL: &[Self] = &[$(Self::$name,)+];

            /// Reports whether any mutant is on. If so, the safety nets below the code under test
            /// are off, so that the property itself catches the mutant.
            pub fn any_is_on() -> bool {
                Self::ALL.iter().any(|mutant| mutant.is_on())
            }

            /// Returns the property that must catch the mutant.
            pub fn property(self) -> &'static str {
                match self { $(Self::$name => $property,)+ }
            }

            /// Returns the scenario that catches the mutant, where random seeds hardly ever meet
            /// its situation.
            pub fn scenario(self) -> Option<&'static str> {
                match self { $(Self::$name => None $(.or(Some($scenario)))?,)+ }
            }
        }
    };
}

mutants! {
    /// Delete any object under a claimed key, whichever incarnation it is.
    DropUidCheck => "S1",
    /// Read an error as "nothing there".
    ErrorReadAsEmpty => "S2",
    /// Prune without a fresh render from the store.
    PruneBeforeFreshRender => "S2",
    /// Let an empty render prune everything.
    EmptyRenderPrunes => "S2",
    /// Delete right after installation.
    SkipQuarantine => "S2",
    /// Prune adopted objects.
    PruneAdopted => "S1",
    /// Prune objects that another object of the target controls.
    PruneControlled => "S1",
    /// Believe a target that lags behind its own writes.
    BelieveStaleAbsence => "S9",
    /// Forget today's deletes.
    ForgetSpentBudget => "S3",
    /// Forget what all apps together deleted within the hour.
    ForgetFleetBudget => "S3",
    /// Accept any observation, even a partial or an old one, as the full and fresh one that closes
    /// the breaker of a failing target.
    CloseBreakerOnAnyLook => "S2",
    /// Write resources again that already match their declaration.
    RewriteInSync => "S4",
    /// Update without naming the observed version.
    DropVersionPrecondition => "S5",
    /// Accept a head that does not descend from the accepted version.
    FollowRewrittenHistory => "S6",
    /// Follow the head that was reported last, although it is older than one that was reported
    /// before.
    OrderByArrival => "S6",
    /// Execute before the intent is durable.
    SkipIntent => "S7",
    /// Let an old holder continue to write the log after a new epoch began.
    IgnoreEpoch => "S8",
    /// Act on a takeover without waiting until the predecessor's effects have landed.
    ActBeforeTakeoverWait => "S7",
    /// Repeat a create whose outcome is unknown.
    RepeatUnknownCreate => "S9",
    /// Drop the claim when a delete got its response, not when absence was observed.
    ForgetTombstone => "S2",
    /// Count a heal that changes nothing as progress and never slow down.
    CountHealAsProgress => "L3",
    /// Retry a failed step at once, for ever.
    ForgetFailures => "L3",
    /// Forget that something changed while the app was busy.
    LoseHintWhileBusy => "L1",
    /// Hold a manual app at the accepted bundle, although no person let it through.
    HoldAtAccepted => "S10",
    /// Take over a resource that another app still declares.
    StealClaim => "S5",
    /// Skip a render while the app's own document is unchanged, whatever files were read.
    SkipWithoutReadSet => "S12",
    /// Let apps follow a version before its control documents were considered.
    RootNotFirst => "S10",
    /// Treat every document that has not been rendered yet as deleted.
    TakeDocumentsForGone => "S2",
    /// Accept a version without any control documents.
    AcceptNoDocuments => "S2",
    /// Let apps use names that their scope does not list.
    IgnoreScopes => "S11",
    /// Treat a scope without a document as one without bounds.
    MissingScopeAllowsAll => "S11",
    /// Continue to hold an app whose document is gone.
    HoldWithoutDocument => "S11",
    /// Act on an app that a person suspended.
    ForgetSuspension => "S10",
    /// Apply to a cluster without naming the observed version.
    ApplyWithoutVersion => "S5",
    /// Delete any object with a given name from a cluster.
    DeleteByName => "S1",
    /// Read from a cache of the API server, which may lag.
    ReadFromCache => "L1",
    /// Take every field that conflicts, no matter which manager holds it.
    ForceEverything => "S5",
    /// Never read objects again for which streams reported no event.
    BelieveMemoryForEver => "L1",
    /// Continue to trust a stream that has ended.
    TrustCutStream => "L1",
    /// Treat our manager's name as proof that an unanswered create was carried out.
    NameIsProof => "S1",
    /// Treat any object with the right name as the result of an unanswered create.
    SettleByPresence => "S1",
    /// Treat a path that is not served as the absence of the object.
    PathIsAbsence => "S2",
    /// Remove a stranger's additions, wherever they are by now.
    TakeOutWithoutVersion => "S5",
    /// Treat the live object as the result that an apply would have.
    BaselineFromLook => "L1",
    /// Treat any cluster that responds as the declared one.
    SkipIdentity => "S11",
    /// Treat an adopted object as ours alone as soon as it was applied.
    ForgetFolding => "L1",
    /// Replace any object with immutable changes, whether its app allows it or not.
    ReplaceWithoutLeave => "S1",
    /// Delete an object to replace it without checking that the target would accept the new one.
    ReplaceWithoutProof => "S2",
    /// Resume a stream of a cluster at a version that its server may have lost.
    ResumeUnchecked => "L1",
    /// Delete again an object that the target is already deleting.
    RepeatDelete => "L4",
    /// Begin all resources at once, whatever must be healthy before.
    IgnoreWaves => "S14",
    /// Treat every window as open.
    IgnoreWindows => "S10",
    /// Hold an app whose window is closed at the bundle that was accepted last, although that
    /// bundle could not be applied.
    ForgetLastGood => "script" in "while a window is closed nothing declared is begun, and edits are healed to the last good bundle",
    /// Follow a head when the store does not know whether it descends from the accepted version.
    FollowUnknownHistory => "S6",
    /// Continue to accept a version that a person confirmed once, whatever was accepted after it.
    BlessForEver => "S6" in "a person's word on a rewritten history is spent by the next acceptance",
    /// Treat an app as converged while the health of its objects is unknown.
    UnknownIsHealthy => "S14",
    /// Forget an app's deletes after one hour.
    ForgetDeletesAfterAnHour => "S3" in "deletes count for a whole day",
    /// Roll back an app whose target cannot be observed.
    RollBackUnobserved => "script" in "an app whose target cannot be observed is not rolled back",
    /// Do not watch for the end of suspensions as a new writer.
    ForgetSuspensionEnd => "script" in "a suspension ends by itself after a restart",
    /// Believe a read that was under way while the claim on the object changed.
    BelieveOutdatedRead => "S9" in "an app does not create what its neighbour created while it was reading",
    /// Take over a claim while its holder is changing the object.
    TakeBusyClaim => "S5" in "a claim does not change hands while its holder is changing the object",
    /// Send effects no matter how long their intents took to be recorded.
    LeaveLate => "S8",
    /// Do not report the apps of a store as changed when the store is.
    ForgetReadersOfStore => "R1",
    /// Do not report what changes with time alone: windows, stale stores.
    ForgetPassedTime => "R1",
}

#[cfg(feature = "mutants")]
mod switch {
    use super::Mutant;
    use std::cell::Cell;

    thread_local! {
        static ON: Cell<Option<Mutant>> = const { Cell::new(None) };
    }

    /// Switches one mutant on for this thread, or all off.
    pub fn switch(mutant: Option<Mutant>) {
        ON.set(mutant);
    }

    impl Mutant {
        pub fn is_on(self) -> bool {
            ON.get() == Some(self)
        }
    }
}

#[cfg(feature = "mutants")]
pub use switch::switch;

#[cfg(not(feature = "mutants"))]
impl Mutant {
    #[inline(always)]
    pub const fn is_on(self) -> bool {
        false
    }
}
