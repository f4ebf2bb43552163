//! Ways to be wrong on purpose. The simulator switches one on and must then see the property it is
//! named for broken.
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

            /// Whether any is on. Then the nets beneath the code under test are taken away, so that
            /// the property itself catches it.
            pub fn any_is_on() -> bool {
                Self::ALL.iter().any(|mutant| mutant.is_on())
            }

            /// The property that must catch it.
            pub fn property(self) -> &'static str {
                match self { $(Self::$name => $property,)+ }
            }

            /// The scenario that catches it, where random seeds hardly ever meet its situation.
            pub fn scenario(self) -> Option<&'static str> {
                match self { $(Self::$name => None $(.or(Some($scenario)))?,)+ }
            }
        }
    };
}

mutants! {
    /// Delete whatever stands under a claimed key, whichever incarnation it is.
    DropUidCheck => "S1",
    /// Read an error as "nothing there".
    ErrorReadAsEmpty => "S2",
    /// Prune without rendering once more from the store.
    PruneBeforeFreshRender => "S2",
    /// Let an empty render prune everything.
    EmptyRenderPrunes => "S2",
    /// Delete right after installation.
    SkipQuarantine => "S2",
    /// Prune what was there before us.
    PruneAdopted => "S1",
    /// Prune what another object of the target controls.
    PruneControlled => "S1",
    /// Believe a target that lags behind its own writes.
    BelieveStaleAbsence => "S9",
    /// Forget what was deleted today.
    ForgetSpentBudget => "S3",
    /// Forget what all apps together deleted within the hour.
    ForgetFleetBudget => "S3",
    /// Take any look, be it partial or from before, for the full and fresh one that ends the doubt
    /// about a failing target.
    CloseBreakerOnAnyLook => "S2",
    /// Write again what is already as declared.
    RewriteInSync => "S4",
    /// Update without naming the version that was looked at.
    DropVersionPrecondition => "S5",
    /// Accept a head that does not descend from what was accepted.
    FollowRewrittenHistory => "S6",
    /// Follow the head that was heard of last, though it is older than one that was heard of
    /// before.
    OrderByArrival => "S6",
    /// Execute before the intent is durable.
    SkipIntent => "S7",
    /// Let an old holder go on writing the log after a new epoch began.
    IgnoreEpoch => "S8",
    /// Act on a takeover without waiting for the predecessor's effects to land.
    ActBeforeTakeoverWait => "S7",
    /// Repeat a create whose outcome is not known.
    RepeatUnknownCreate => "S9",
    /// Drop the claim when a delete was answered, not when absence was observed.
    ForgetTombstone => "S2",
    /// Take a heal that changes nothing for progress and never slow down.
    CountHealAsProgress => "L3",
    /// Retry a failed step at once, for ever.
    ForgetFailures => "L3",
    /// Forget that something changed while the app was busy.
    LoseHintWhileBusy => "L1",
    /// Hold a manual app at what was accepted, though nobody let it through.
    HoldAtAccepted => "S10",
    /// Take over a resource that another app still declares.
    StealClaim => "S5",
    /// Skip a render as long as the app's own document is as it was, whatever was read.
    SkipWithoutReadSet => "S12",
    /// Let apps take a version before its control documents were considered.
    RootNotFirst => "S10",
    /// Take every document for gone that has not been worked out yet.
    TakeDocumentsForGone => "S2",
    /// Accept that there is not one control document.
    AcceptNoDocuments => "S2",
    /// Let apps use what their scope does not list.
    IgnoreScopes => "S11",
    /// Take a scope that nobody drew for one without bounds.
    MissingScopeAllowsAll => "S11",
    /// Go on holding an app whose document is gone.
    HoldWithoutDocument => "S11",
    /// Act on an app that a person suspended.
    ForgetSuspension => "S10",
    /// Apply to a cluster without naming the version that was looked at.
    ApplyWithoutVersion => "S5",
    /// Delete from a cluster whatever stands under a name.
    DeleteByName => "S1",
    /// Read from a cache of the API server, which may lag.
    ReadFromCache => "L1",
    /// Take every field that conflicts, whoever holds it.
    ForceEverything => "S5",
    /// Never read again what streams have told nothing of.
    BelieveMemoryForEver => "L1",
    /// Go on trusting a stream that has ended.
    TrustCutStream => "L1",
    /// Take our manager's name for a proof that an unanswered create was carried out.
    NameIsProof => "S1",
    /// Take whatever stands under the name for what an unanswered create made.
    SettleByPresence => "S1",
    /// Take a path that is not served for the absence of the object.
    PathIsAbsence => "S2",
    /// Take out what strangers added, wherever it stands by now.
    TakeOutWithoutVersion => "S5",
    /// Take what is there for what applying would give.
    BaselineFromLook => "L1",
    /// Take any cluster that answers for the one that is meant.
    SkipIdentity => "S11",
    /// Take an adopted object for ours alone as soon as it was applied.
    ForgetFolding => "L1",
    /// Make anew whatever cannot be changed, whether its app allows it or not.
    ReplaceWithoutLeave => "S1",
    /// Delete what is to be made anew without asking whether the target would take the new one.
    ReplaceWithoutProof => "S2",
    /// Resume a stream of a cluster at a version that its server may not have any more.
    ResumeUnchecked => "L1",
    /// Delete again what the target is already deleting.
    RepeatDelete => "L4",
    /// Begin everything at once, whatever has to be well before.
    IgnoreWaves => "S14",
    /// Take every window for open.
    IgnoreWindows => "S10",
    /// Hold an app whose window is closed at what was accepted last, though it could not be
    /// applied.
    ForgetLastGood => "script" in "while a window is closed nothing declared is begun, and edits are healed to the last good bundle",
    /// Follow a head of which the store cannot say whether it descends from what was accepted.
    FollowUnknownHistory => "S6",
    /// Go on accepting what a person once said is right, whatever came after it.
    BlessForEver => "S6" in "a person's word on a rewritten history is spent by the next acceptance",
    /// Take an app for converged while the health of its objects is unknown.
    UnknownIsHealthy => "S14",
    /// Forget after one hour what an app deleted.
    ForgetDeletesAfterAnHour => "S3" in "deletes count for a whole day",
    /// Roll back an app whose target cannot be observed.
    RollBackUnobserved => "script" in "an app whose target cannot be observed is not rolled back",
    /// A new writer does not watch for the end of suspensions.
    ForgetSuspensionEnd => "script" in "a suspension ends by itself after a restart",
    /// Believe a read that was under way while the claim to what it shows changed.
    BelieveOutdatedRead => "S9" in "an app does not create what its neighbour created while it was reading",
    /// Take over a claim while its holder is changing the object.
    TakeBusyClaim => "S5" in "a claim does not change hands while its holder is changing the object",
    /// Let effects leave however long their intents took to be recorded.
    LeaveLate => "S8",
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
