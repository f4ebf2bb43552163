//! Guests: objects of others. With each version, some are adopted and earlier ones are deleted, and
//! the agent is killed meanwhile.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Value, json};
use setpoint_core::intent::{Intent, Verb};
use setpoint_testbed::kube::Seen;

use super::envtest::{Cluster, QUIET, kind_of, text_of};
use super::{APP, Scene, spawn};

/// The number of guests that come with each version.
const COME: u64 = 4;
/// The number of versions for which they stay.
const STAY: u64 = 2;
/// A tool whose ownership of declared fields ends when the object is adopted.
const TOOL: &str = "kubectl";
/// The number of times that the command is run to wait for an accepted version: longer than an
/// agent takes to accept one.
const MOST_LOOKS: u32 = 2_000;

/// The objects of others, and the names of the declared ones.
#[derive(Debug, Default)]
pub(super) struct Guests {
    /// By name, in the order in which they came.
    uids: BTreeMap<String, String>,
    declared: BTreeSet<String>,
}

fn name(number: u64) -> String {
    format!("guest-{number:04}")
}

fn object(number: u64) -> Value {
    json!({"apiVersion": "v1", "kind": kind_of(number), "metadata": {"name": name(number)}, "data": {"same": "eWVz"}})
}

impl Guests {
    pub(super) fn declared(&self) -> impl Iterator<Item = String> + '_ {
        self.declared.iter().cloned()
    }

    /// Returns the number of deletes that a person permits: all that were declared once.
    pub(super) fn undeclared(&self) -> u32 {
        (self.uids.len() - self.declared.len()) as u32
    }

    /// Checks that each existing guest is the original object, and that its tool has released the
    /// declared fields.
    pub(super) fn are_well(&self, objects: &[Value]) {
        for guest in objects.iter().filter(|object| text_of(object, "name").starts_with("guest-")) {
            let (name, uid) = (text_of(guest, "name"), text_of(guest, "uid"));
            assert_eq!(self.uids[&name], uid, "{name} is not what was taken over");
            let entries = guest["metadata"]["managedFields"].as_array().expect("it has holders");
            let holds = entries.iter().any(|entry| entry["manager"] == TOOL);
            assert_eq!(holds, !self.declared.contains(&name), "{name}: {entries:?}");
        }
    }
}

/// The steps for guests, in this order.
#[derive(Clone, Copy)]
enum Step {
    TakingOver,
    Folding,
    Deleting,
}

impl Step {
    fn is_of(self, seen: &Seen) -> bool {
        let about_guest = seen.path.contains("/guest-") && !seen.is_dry_run() && !seen.query.contains("-fence");
        let verb = match self {
            Self::TakingOver => "apply",
            Self::Folding => "patch",
            Self::Deleting => "delete",
        };
        about_guest && seen.verb() == verb
    }
}

impl Scene<Cluster> {
    /// Kills the agent until this many kills have left intents of guests open.
    #[expect(clippy::print_stdout, reason = "`cargo xtask kill` shows it")]
    pub(super) fn kill_the_host(&mut self, wanted: u64) {
        let (mut kills, mut tries, mut found) = (0, 0, BTreeMap::<&str, u64>::new());
        while kills < wanted {
            tries += 1;
            assert!(tries <= 4 * wanted, "too few of the kills leave an intent open: {found:?}");
            self.exchange_guests();
            let open = self.host_and_kill();
            kills += u64::from(!open.is_empty());
            for word in open.iter().map(word).collect::<BTreeSet<_>>() {
                *found.entry(word).or_default() += 1;
            }
        }
        println!(
            "{kills} kills with intents open about objects that others made, {tries} in all; what they found open:"
        );
        for (word, count) in &found {
            println!("{count:>6}  {word}");
        }
    }

    /// Declares a version with new guests and without old ones.
    fn exchange_guests(&mut self) {
        let next = self.world.guests.uids.len() as u64;
        for number in next..next + COME {
            let (name, object) = (name(number), object(number));
            let path = format!("{}/{name}", self.world.collection(kind_of(number)));
            let made = self.world.server.apply(&path, TOOL, &object);
            self.world.guests.uids.insert(name.clone(), text_of(&made, "uid"));
            self.world.guests.declared.insert(name.clone());
            self.lab.write(&format!("apps/{APP}/{name}.yaml"), &object.to_string());
        }
        for name in (next + COME).checked_sub((STAY + 1) * COME).into_iter().flat_map(|first| first..first + COME) {
            let name = self::name(name);
            self.world.guests.declared.remove(&name);
            self.lab.remove(&format!("apps/{APP}/{name}.yaml"));
        }
        self.head = self.lab.commit();
    }

    /// Lets the agent follow the version with a person's permission, and kills it at some write.
    /// Returns the intents that were left open.
    fn host_and_kill(&mut self) -> Vec<Intent> {
        self.world.proxy.take_seen();
        let mut child = spawn(&self.lab);
        self.allow_deletes();
        let step = [Step::TakingOver, Step::Folding, Step::Deleting][self.dice.roll(3) as usize];
        let writes = self.dice.roll(COME) + 1;
        self.world.proxy.await_seen(|seen| step.is_of(seen), writes, QUIET * 3);
        child.kill().expect("it is ours");
        child.wait().expect("it is ours");
        self.lab.facts().expect("it is installed").intents.into_values().collect()
    }

    /// Permits deletes. Objects of others are deleted only with a person's permission, which is for
    /// one version.
    fn allow_deletes(&self) {
        let accepted = |_: &u32| self.lab.command(&["get", APP]).output.contains(&self.head[..12]);
        assert!((0..MOST_LOOKS).any(|look| accepted(&look)), "the agent accepts no version");
        let leave = self.world.guests.undeclared().to_string();
        let ordered = self.lab.command(&["sync", APP, "--allow-prune", &leave, "--reason", "the test wants it"]);
        assert_eq!(ordered.code, Some(0), "{}{}", ordered.output, ordered.complaints);
    }
}

fn word(intent: &Intent) -> &'static str {
    match intent.verb {
        Verb::Delete => "a delete",
        Verb::Update if intent.folds.is_some() => "a tool's hold being ended",
        Verb::Update => "an object being taken over",
        Verb::Create => "an object being made",
    }
}
