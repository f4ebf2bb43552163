//! The obstacles of an app, each with the way to resolve it.

use std::collections::BTreeMap;

use setpoint_api::answer::{AppDetail, SetBack};
use setpoint_core::hold::HoldReason;
use setpoint_core::key::Key;
use setpoint_core::report::{Setback, Why, Withheld};
use setpoint_core::time::Timestamp;

use super::super::marks::{Mark, Tone};
use super::super::{moment, words};

/// The number of objects that are named per reason.
const NAMED: usize = 8;

/// One reason why the app is not as its stores declare.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Obstacle {
    pub(super) mark: Mark,
    pub(super) text: String,
    /// The way to resolve it; empty if there is nothing to do.
    pub(super) remedy: String,
    /// The command that does so; empty if there is none.
    pub(super) command: String,
    pub(super) objects: Vec<String>,
    /// The number of objects that are left out.
    pub(super) more: usize,
}

impl Obstacle {
    fn new(mark: Mark, text: impl Into<String>) -> Self {
        Self { mark, text: text.into(), remedy: String::new(), command: String::new(), objects: Vec::new(), more: 0 }
    }

    fn remedy(self, remedy: impl Into<String>) -> Self {
        Self { remedy: remedy.into(), ..self }
    }

    fn command(self, command: String) -> Self {
        Self { command, ..self }
    }
}

/// Returns the obstacles of the whole app.
pub(super) fn of(detail: &AppDetail, now: Timestamp) -> Vec<Obstacle> {
    let mut found = Vec::new();
    found.extend(refused(detail, now));
    found.extend(suspended(detail, now));
    found.extend(held(detail, now));
    found.extend(moved(detail));
    found.extend(set_back(detail));
    found.extend(window(detail, now));
    found.extend(target(detail, now));
    found.extend(unsettled(detail));
    found
}

fn refused(detail: &AppDetail, now: Timestamp) -> Option<Obstacle> {
    let refused = detail.refused.as_ref()?;
    let when = moment::relative(refused.at, now);
    let title = Mark::bad(format!("Version {} refused {when}", refused.revision));
    let remedy = "The version accepted before stays in force. Correct the error with a new commit.";
    Some(Obstacle::new(title, refused.problem.clone()).remedy(remedy))
}

fn suspended(detail: &AppDetail, now: Timestamp) -> Option<Obstacle> {
    let suspension = detail.suspension.as_ref()?;
    let text = words::sentence(&words::suspension(suspension, now));
    let remedy = "To end it now, resume the app.";
    Some(Obstacle::new(Mark::new(Tone::Hold, "pause", "Suspended"), text).remedy(remedy))
}

fn held(detail: &AppDetail, now: Timestamp) -> Option<Obstacle> {
    let hold = detail.hold.as_ref()?;
    let app = &detail.summary.app;
    let obstacle = Obstacle::new(Mark::new(Tone::Hold, "lock", "Held"), words::sentence(&words::hold(hold, now)));
    Some(match &hold.why {
        HoldReason::Asked { .. } => obstacle.remedy("To follow the store again, release the app."),
        HoldReason::RolledBack { .. } => {
            obstacle.remedy("It ends when a newer version is accepted. To try the failed one again, release the app.")
        }
        HoldReason::Rewritten { accepted, offered } => {
            let commit = offered.moved_from(accepted).or(offered.versions().next());
            let commit = commit.map_or("COMMIT", words::short);
            obstacle
                .remedy("Find out who rewrote the history, then release the app with the correct version.")
                .command(format!("setpoint release {app} --accept {commit} --reason …"))
        }
    })
}

fn moved(detail: &AppDetail) -> Option<Obstacle> {
    let moved = detail.summary.moved_to.as_ref()?;
    let text = format!("Its document leads to {moved}, but its objects are on {}.", detail.summary.target);
    let remedy = "Correct the address of the Target or the target of the App. To move the app, retire it first, or \
                  declare it under another name.";
    Some(Obstacle::new(Mark::new(Tone::Hold, "hexagon", "Another target"), text).remedy(remedy))
}

fn set_back(detail: &AppDetail) -> Option<Obstacle> {
    let SetBack { offered, command } = detail.summary.set_back.as_ref()?;
    let text = format!("The stores offer {offered}, which is older than the accepted version.");
    let remedy = "The branch was reset, or a mirror lags. The accepted version stays in force. To follow the store:";
    Some(Obstacle::new(Mark::warn("Set back"), text).remedy(remedy).command(command.clone()))
}

fn window(detail: &AppDetail, now: Timestamp) -> Option<Obstacle> {
    let opens = detail.window_opens?;
    let text = format!("New versions and deletes wait until it opens {}.", moment::end(opens, now));
    Some(Obstacle::new(Mark::new(Tone::Mute, "clock", "Window closed"), text))
}

fn target(detail: &AppDetail, now: Timestamp) -> Vec<Obstacle> {
    let degraded = detail.target_degraded.as_ref();
    let failing = detail.left_alone_until;
    let degraded = degraded.map(|why| Obstacle::new(Mark::warn("Target degraded"), words::sentence(why)));
    let failing = failing.map(|until| Obstacle::new(Mark::bad("Target fails"), words::left_alone(until, now)));
    failing.into_iter().chain(degraded).collect()
}

fn unsettled(detail: &AppDetail) -> Vec<Obstacle> {
    let of = |intent: &setpoint_core::intent::IntentId| {
        let title = Mark::bad(format!("Change {intent} has an unknown outcome"));
        Obstacle::new(title, "The target did not respond, and Setpoint never repeats a change that may have happened.")
            .remedy("Inspect the object, then record the outcome:")
            .command(format!("setpoint settle {} {intent} --done|--not-done --reason …", detail.summary.app))
    };
    detail.unsettled.iter().map(of).collect()
}

/// Groups withheld changes by reason: a hundred objects that wait for one window are one reason.
pub(super) fn withheld(report: &[Withheld], now: Timestamp) -> Vec<Obstacle> {
    // Failures and decisions come first; changes that only wait for these follow.
    let mut reasons: BTreeMap<(bool, String, String), (Mark, Vec<&Key>)> = BTreeMap::new();
    for Withheld { key, cause, why } in report {
        let mark = match why {
            Why::BackingOff { setback: Setback::Failure { .. }, .. } => Mark::bad(format!("Failed ({cause})")),
            _ if why.is_consequence() => Mark::new(Tone::Mute, "clock", format!("Waits ({cause})")),
            _ => Mark::new(Tone::Warn, "diamond", format!("Not done ({cause})")),
        };
        let place = (why.is_consequence(), cause.to_string(), words::sentence(&words::reason(why, now)));
        reasons.entry(place).or_insert_with(|| (mark, Vec::new())).1.push(key);
    }
    let obstacle = |((_, _, text), (mark, keys)): ((bool, String, String), (Mark, Vec<&Key>))| Obstacle {
        objects: keys.iter().take(NAMED).map(ToString::to_string).collect(),
        more: keys.len().saturating_sub(NAMED),
        ..Obstacle::new(mark, text)
    };
    reasons.into_iter().map(obstacle).collect()
}

#[cfg(test)]
mod tests {
    use setpoint_api::canned::{CannedAgent, NOON};
    use setpoint_core::modes::{Cause, State};

    use super::*;

    #[test]
    fn every_obstacle_of_an_app_is_listed_with_its_remedy() {
        let obstacles = of(&CannedAgent::example().detail, NOON);
        let titles: Vec<&str> = obstacles.iter().map(|obstacle| obstacle.mark.text.as_str()).collect();
        assert_eq!(titles[1..3], ["Suspended", "Held"]);
        assert!(titles.contains(&"Target fails") && titles.contains(&"Change 7-31 has an unknown outcome"));
        let held = &obstacles[2];
        assert_eq!(held.command, "setpoint release web/shop --accept 9c1e04d29c1e --reason …");
    }

    #[test]
    fn changes_with_one_reason_are_one_obstacle() {
        let of = |n: usize| Withheld {
            key: Key::new("Pod", "web", &format!("p{n}")).unwrap(),
            cause: Cause::Declared,
            why: Why::State { state: State::WindowClosed },
        };
        let obstacles = withheld(&(0..20).map(of).collect::<Vec<_>>(), NOON);
        assert_eq!((obstacles.len(), obstacles[0].objects.len(), obstacles[0].more), (1, NAMED, 12));
        assert_eq!(obstacles[0].text, "The app is outside its window.");
    }
}
