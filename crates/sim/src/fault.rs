//! The kinds of trouble. Each seed draws a random subset with random rates (a swarm): uniform rates
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
    /// An instance stands still, then goes on as if nothing had happened.
    Pause => "pause",
    /// An instance starts with another clock. (While it runs its clock counts elapsed time and
    /// cannot jump: `Machine::step`.)
    ClockJump => "clock jump",
    /// A lease cannot be renewed.
    LeaseLoss => "lease loss",
    /// A look shows an older state.
    StaleRead => "stale read",
    DroppedEvent => "dropped event",
    DuplicatedEvent => "duplicated event",
    ReorderedEvent => "reordered event",
    /// All events of a while are lost, and the target says so.
    EventsLost => "events lost",
    /// A look shows only some of what was asked for.
    PartialList => "partial list",
    /// The target does not answer a look.
    TargetUnreachable => "target unreachable",
    Conflict => "conflict",
    /// The target is busy and says so.
    Unavailable => "unavailable",
    /// No answer, and nothing happened.
    TimeoutBefore => "timeout before the effect",
    /// No answer, but it happened.
    TimeoutAfter => "timeout after the effect",
    /// The answer never comes at all.
    LostAnswer => "lost answer",
    /// An effect is under way for long.
    SlowEffect => "slow effect",
    StoreUnreachable => "store unreachable",
    /// A mirror answers with an older head.
    StoreStale => "store answers an older head",
    /// The app's folder is empty.
    StoreEmpty => "store empty",
    /// A record could not be made durable, and is not there.
    DiskLost => "disk full or failing sync, record lost",
    /// The sync failed, but the record is there.
    DiskKept => "failing sync, record kept",
    /// A rule of the target forbids deletes, and only those.
    DeleteDenied => "delete denied",
    /// An instance's clock runs twice as fast as time.
    ClockRate => "clock runs fast",
    /// A target and the engine cannot reach each other for a while; nothing lands and nothing is
    /// seen.
    Partition => "partition",
    /// The target takes the engine for nobody for a while: it shows nothing and refuses everything.
    Revoked => "credentials revoked",
    /// A kind of object is not known to the target for a while; then it is.
    KindMissing => "kind missing",
    /// The target stores something else than it was given.
    Mutated => "write rewritten by the target",
    /// The storage of a cluster is restored from a backup: everything is as it was some minutes
    /// ago, versions too.
    Restored => "storage restored from a backup",
    /// The address of a cluster leads to another one for a while.
    Elsewhere => "address leads elsewhere",
    /// A store cannot say whether a head descends from what was accepted.
    UnknownHistory => "history not known",
    /// The answer to a read takes nearly as long as it may.
    SlowRead => "slow read",
    /// The answer to a record takes so long that effects may no longer leave.
    SlowRecord => "slow record",
    /// A person gives an order that is too long to be recorded.
    TooLong => "order too long",
    /// While an instance is down, somebody touches what it was changing.
    TouchedWhileDown => "crash, and an edit before the restart",
    /// A branch is set back to an earlier commit.
    BranchSetBack => "branch set back",
    /// A second process runs under the name of the first.
    StartedTwice => "started twice",
    /// The data are removed: the engine is installed again.
    DataLost => "data lost",
    /// An old copy of the ledger is brought back.
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

    /// These faults whenever they can strike, and no others: for scripted runs.
    pub fn certain(faults: &[Fault]) -> Self {
        Self(faults.iter().map(|fault| (*fault, 1000)).collect())
    }

    pub fn rate(&self, fault: Fault) -> u32 {
        self.0.get(&fault).copied().unwrap_or(0)
    }
}

/// How often each kind was injected.
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
