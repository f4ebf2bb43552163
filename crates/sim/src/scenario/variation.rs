//! Variations: the same script with one fault at one place, and their execution.

use std::fmt;

use super::Scenario;
use crate::monitor::Violation;
use crate::world::Script;

/// A kind of fault that can strike at each of many places.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Kind {
    /// The instance dies after its k-th effect.
    Crash,
    /// The instance pauses, for longer than its lease, after its k-th effect.
    Pause,
    /// The k-th observation of a lagging target contains an older state.
    Stale,
    /// The k-th hint is dropped; on a cluster also the k-th delivery of a stream, which is cut.
    Drop,
    /// The k-th poll of a store returns an older head.
    Older,
}

impl Kind {
    pub const ALL: [Self; 5] = [Self::Crash, Self::Pause, Self::Stale, Self::Drop, Self::Older];
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Crash => "crash",
            Self::Pause => "pause",
            Self::Stale => "stale",
            Self::Drop => "drop",
            Self::Older => "older",
        })
    }
}

/// One way to run a scenario.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Variation {
    Plain,
    /// The fault strikes at this place, counted from one.
    At(Kind, u64),
}

/// The result of one run.
#[derive(Debug)]
pub struct Played {
    pub violation: Option<Violation>,
    /// The timeline, if requested.
    pub timeline: Vec<String>,
    places: Script,
}

impl Scenario {
    pub fn run(&self, variation: Variation, timeline: bool) -> Played {
        let lags = matches!(variation, Variation::At(Kind::Stale, _));
        self.run_on(lags, variation, timeline)
    }

    fn run_on(&self, lags: bool, variation: Variation, timeline: bool) -> Played {
        let mut world = self.world(lags);
        world.timeline = timeline.then(Vec::new);
        let script = &mut world.script;
        match variation {
            Variation::Plain => {}
            Variation::At(Kind::Crash, k) => script.crash_after_effect = Some(k),
            Variation::At(Kind::Pause, k) => script.pause_after_effect = Some(k),
            Variation::At(Kind::Stale, k) => script.stale_look = Some(k),
            Variation::At(Kind::Drop, k) => script.drop_hint = Some(k),
            Variation::At(Kind::Older, k) => script.older_head = Some(k),
        }
        let places = self.play(&mut world);
        let timeline = world.timeline.take().unwrap_or_default();
        Played { violation: world.monitor.violation, timeline, places }
    }

    /// Returns every variation: plainly, and with each kind of fault at each place of the plain
    /// run. If the script depends on exact times, there is only the plain run.
    pub fn variations(&self) -> Vec<Variation> {
        if self.exact {
            return vec![Variation::Plain];
        }
        let plain = self.run_on(false, Variation::Plain, false).places;
        let lagging = self.run_on(true, Variation::Plain, false).places;
        let places = |kind| match kind {
            Kind::Crash | Kind::Pause => plain.effects,
            Kind::Stale => lagging.looks,
            Kind::Drop => plain.hints,
            Kind::Older => plain.polls,
        };
        let at = |kind| (1..=places(kind)).map(move |k| Variation::At(kind, k));
        std::iter::once(Variation::Plain).chain(Kind::ALL.into_iter().flat_map(at)).collect()
    }
}
