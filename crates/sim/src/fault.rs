//! The kinds of faults. Each seed draws a random subset with random rates (a swarm): uniform rates
//! hide bugs.

use std::collections::BTreeMap;
use std::fmt;

use crate::tape::Tape;

macro_rules! faults {
    ($($(#[doc = $doc:literal])* $name:ident => $text:literal,)+) => {
        /// A kind of fault.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
        pub enum Fault { $($(#[doc = $doc])* $name,)+ }

        impl Fault {
            pub const ALL: &[Self] = &[$(Self::$name,)+];
        }

        impl fmt::Display for Fault {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(match self { $(Self::$name => $text,)+ })
            }
        }
    };
}

faults! {
    /// An instance dies at an effect and starts again later.
    Crash => "crash",
    /// It dies several times in a row.
    CrashStorm => "crash storm",
    /// An instance pauses, then continues as if nothing had happened.
    Pause => "pause",
    /// An instance starts with another clock. (While it runs its clock counts elapsed time and
    /// cannot jump: `Machine::step`.)
    ClockJump => "clock jump",
    /// A lease cannot be renewed.
    LeaseLoss => "lease loss",
    /// An observation contains an older state.
    StaleRead => "stale read",
    DroppedEvent => "dropped event",
    DuplicatedEvent => "duplicated event",
    ReorderedEvent => "reordered event",
    /// All events of a while are lost, and the target reports the loss.
    EventsLost => "events lost",
    /// An observation contains only some of the requested objects.
    PartialList => "partial list",
    /// The target does not respond to an observation.
    TargetUnreachable => "target unreachable",
    Conflict => "conflict",
    /// The target is busy and reports it.
    Unavailable => "unavailable",
    /// No response, and nothing happened.
    TimeoutBefore => "timeout before the effect",
    /// No response, but it happened.
    TimeoutAfter => "timeout after the effect",
    /// The response never comes at all.
    LostAnswer => "lost answer",
    /// An effect takes long.
    SlowEffect => "slow effect",
    StoreUnreachable => "store unreachable",
    /// A mirror responds with an older head.
    StoreStale => "store answers an older head",
    /// The app's directory is empty.
    StoreEmpty => "store empty",
    /// A record could not be made durable, and does not exist.
    DiskLost => "disk full or failing sync, record lost",
    /// The sync failed, but the record exists.
    DiskKept => "failing sync, record kept",
    /// A rule of the target forbids deletes, and only those.
    DeleteDenied => "delete denied",
    /// An instance's clock runs twice as fast as time.
    ClockRate => "clock runs fast",
    /// A target and the engine cannot reach each other for a while: nothing lands and nothing is
    /// observed.
    Partition => "partition",
    /// The target does not accept the engine's credentials for a while: it shows nothing and
    /// refuses everything.
    Revoked => "credentials revoked",
    /// The target does not know a kind of object for a while; then it does.
    KindMissing => "kind missing",
    /// The target stores something else than it was given.
    Mutated => "write rewritten by the target",
    /// The storage of a cluster is restored from a backup: everything is as it was some minutes
    /// ago, versions too.
    Restored => "storage restored from a backup",
    /// The address of a cluster leads to another one for a while.
    Elsewhere => "address leads elsewhere",
    /// A store does not know whether a head descends from the accepted version.
    UnknownHistory => "history not known",
    /// The response to a read takes nearly the maximum time.
    SlowRead => "slow read",
    /// The response to a record takes so long that effects may no longer be sent.
    SlowRecord => "slow record",
    /// A person gives an order that is too long to be recorded.
    TooLong => "order too long",
    /// While an instance is down, a stranger touches the objects it was changing.
    TouchedWhileDown => "crash, and an edit before the restart",
    /// A branch is set back to an earlier commit.
    BranchSetBack => "branch set back",
    /// A second process runs under the name of the first.
    StartedTwice => "started twice",
    /// The data are removed: the engine is installed again.
    DataLost => "data lost",
    /// An old copy of the ledger is restored.
    BackupRestored => "backup restored",
    /// The ledger cannot be read when an instance begins.
    UnreadableLedger => "ledger unreadable at the start",
}

/// The rates of one run, per mille.
#[derive(Clone, Debug)]
pub struct Swarm(BTreeMap<Fault, u32>);

impl Swarm {
    pub fn draw(tape: &mut Tape) -> Self {
        const RATES: [u32; 4] = [15, 40, 100, 250];
        let drawn = Fault::ALL.iter().filter_map(|fault| {
            let chosen = tape.happens("fault chosen", 350);
            chosen.then(|| (*fault, RATES[tape.pick("fault rate", 4) as usize]))
        });
        Self(drawn.collect())
    }

    pub fn none() -> Self {
        Self(BTreeMap::new())
    }

    /// Returns a swarm in which these faults strike whenever they can, and no others: for scripted
    /// runs.
    pub fn certain(faults: &[Fault]) -> Self {
        Self(faults.iter().map(|fault| (*fault, 1000)).collect())
    }

    pub fn rate(&self, fault: Fault) -> u32 {
        self.0.get(&fault).copied().unwrap_or(0)
    }
}

/// The number of injections of each kind.
#[derive(Clone, Debug, Default)]
pub struct Injected(BTreeMap<Fault, u64>);

impl Injected {
    pub fn note(&mut self, fault: Fault) {
        *self.0.entry(fault).or_default() += 1;
    }

    pub fn add(&mut self, other: &Self) {
        for (fault, times) in &other.0 {
            *self.0.entry(*fault).or_default() += times;
        }
    }

    pub fn times(&self, fault: Fault) -> u64 {
        self.0.get(&fault).copied().unwrap_or(0)
    }
}
