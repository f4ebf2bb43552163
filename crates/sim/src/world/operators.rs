//! Acts that only operators do, on purpose or by mistake: stopping everything, starting a process
//! twice, losing the data, restoring an old copy of it.

use setpoint_core::name::Actor;
use setpoint_core::time::{Span, Timestamp};
use setpoint_ledger::checkpoint::Signer;
use setpoint_ledger::{Gap, LeaseRequest, MemoryLog, Standing};
use setpoint_target::memory::Object;

use super::{Happening, World};
use crate::fault::Fault;
use crate::monitor::Durable;

const MINUTE: u64 = 60_000;
/// The time after which every effect of a stopped instance has landed.
const LANDED: u64 = 60_000;

/// A copy of the ledger, with the monitor's memory of it.
#[derive(Clone, Debug)]
pub(crate) struct Backup {
    ledger: MemoryLog,
    durable: Durable,
}

/// A later step of an operator's action.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Operator {
    /// The process that was started twice is stopped.
    EndSecond,
    LoseData,
    /// Everything is stopped, to restore the backup.
    StopForBackup,
    BringBack,
    RecordGap,
}

impl World {
    pub(super) fn operate(&mut self, step: Operator) {
        if self.calm && step != Operator::RecordGap {
            // Peace has ended it already.
            return;
        }
        match step {
            Operator::EndSecond => self.end_second(),
            Operator::LoseData => self.lose_data(),
            Operator::StopForBackup => {
                self.stop_all(2 * MINUTE);
                self.after(LANDED, Happening::Operate { step: Operator::BringBack });
            }
            Operator::BringBack => {
                if self.bring_back() {
                    let minutes = u64::from(self.tape.pick("gap recorded after", 6));
                    self.after(minutes * MINUTE + 1, Happening::Operate { step: Operator::RecordGap });
                }
            }
            Operator::RecordGap => self.record_gap(),
        }
    }

    /// Stops every instance, and starts them again after a while.
    fn stop_all(&mut self, length: u64) {
        self.remark("operator: stops everything");
        for n in 0..self.instances.len() {
            self.instances[n].up = false;
            self.instances[n].down_until = self.now + length;
            self.disconnect(n);
            self.after(length, Happening::Start { instance: n });
        }
    }

    /// Starts a second process under the name of the first. The ledger cannot distinguish them.
    pub(crate) fn start_second(&mut self, minutes: u64) {
        let [first, second] = &mut self.instances[..] else { return };
        second.name.clone_from(&first.name);
        self.remark("operator: a second process runs under the name of the first");
        self.after(minutes * MINUTE, Happening::Operate { step: Operator::EndSecond });
    }

    pub(crate) fn end_second(&mut self) {
        if let [_, second] = &mut self.instances[..] {
            "instance-1".clone_into(&mut second.name);
        }
    }

    /// Removes the data while everything is stopped; after the start it is a new installation.
    pub(crate) fn stop_and_lose_data(&mut self) {
        self.stop_all(2 * MINUTE);
        self.after(LANDED, Happening::Operate { step: Operator::LoseData });
    }

    /// Loses the engine's data, and installs it again. Epochs continue: on a real target, the marks
    /// of another installation are not taken for our own.
    pub(crate) fn lose_data(&mut self) {
        self.remark("operator: the data are lost");
        // Lagging targets have caught up by now: an engine without memory could not recognize a
        // lag.
        self.past.iter_mut().for_each(std::collections::VecDeque::clear);
        let epochs = self.monitor.installed_anew(&self.targets);
        self.ledger = MemoryLog::new(Signer::new(self.origin.clone(), &[8; 32]));
        for _ in 0..=epochs {
            let request = self.lease_of("earlier", Timestamp::from_millis(0));
            self.ledger.acquire(&request).expect("no other process holds it");
        }
    }

    fn lease_of(&self, holder: &str, now: Timestamp) -> LeaseRequest {
        LeaseRequest { origin: self.origin.clone(), holder: holder.into(), now, length: Span::millis(0) }
    }

    /// Copies the ledger.
    pub(crate) fn back_up(&mut self) {
        self.remark("operator: makes a backup");
        self.backup = Some(Box::new(Backup { ledger: self.ledger.clone(), durable: self.monitor.durable() }));
    }

    /// Copies the ledger, to restore that copy some minutes later.
    pub(crate) fn back_up_to_bring_back(&mut self) {
        if self.backup.is_none() && self.clusters.is_empty() {
            self.injected.note(Fault::BackupRestored);
            self.back_up();
            let minutes = u64::from(2 + self.tape.pick("backup minutes", 15));
            self.after(minutes * MINUTE, Happening::Operate { step: Operator::StopForBackup });
        }
    }

    /// Replaces the ledger by the backup, if the external anchor has advanced since. Returns
    /// `false` if it has not, or if nothing is lost.
    pub(crate) fn bring_back(&mut self) -> bool {
        let Some(backup) = self.backup.take() else { return false };
        let mut ledger = backup.ledger;
        ledger.reopen(&self.ledger.anchors());
        if ledger.head(&self.origin).standing == Standing::Sound {
            return false;
        }
        self.remark("operator: an old copy of the ledger is brought back");
        self.ledger = ledger;
        self.past.iter_mut().for_each(std::collections::VecDeque::clear);
        let facts = self.ledger.facts(&self.origin);
        let claimed = |target: &setpoint_target::memory::MemoryWorld, object: &Object, key| {
            let claim = facts.claims.get(target.identity(), key);
            claim.is_some_and(|claim| claim.uid.as_ref() == Some(&object.live.uid))
        };
        let objects =
            self.targets.iter().flat_map(|target| target.objects().map(move |(key, object)| (target, key, object)));
        let lost = objects.filter(|(target, key, object)| !claimed(target, object, key));
        let lost: Vec<_> = lost.map(|(_, key, object)| (key.clone(), object.live.uid.clone())).collect();
        self.monitor.brought_back(backup.durable, lost);
        self.records_lost = true;
        true
    }

    /// Lets a person record the loss; from then on the log continues.
    pub(crate) fn record_gap(&mut self) {
        let standing = self.ledger.head(&self.origin).standing;
        if standing == Standing::Sound {
            return;
        }
        self.remark("operator: records the gap");
        let actor = Actor::new("ada").expect("a plain name");
        // In the old copy one of the instances holds the lease: the gap is recorded under its name.
        let recorded = (0..self.instances.len()).any(|n| {
            let lease = self.lease_of(&self.instances[n].name, self.instances[n].clock(self.now));
            let gap = Gap { lease, actor: actor.clone(), reason: "a backup".into(), lost: standing.lost() };
            self.ledger.record_gap(&gap).is_ok()
        });
        if !recorded {
            // The disk is full, or the lease was given to an instance that no longer runs: the
            // operator tries again.
            self.after(MINUTE, Happening::Operate { step: Operator::RecordGap });
        }
    }

    /// Touches the objects that an instance was changing, and more, while it is down.
    pub(super) fn touch_objects(&mut self) {
        if self.calm {
            return;
        }
        let open: Vec<_> = self.ledger.facts(&self.origin).intents.values().cloned().collect();
        let open = open.into_iter().map(|intent| (self.target_index(&intent.target), intent.key));
        let declared =
            (0..self.universe.folders()).map(|app| (self.universe.target_of(app), self.universe.keys[app][0].clone()));
        for (target, key) in open.chain(declared).collect::<Vec<_>>() {
            match self.tape.pick("touch", 4) {
                0 | 1 => drop(self.edit(target, &key, 95, "toucher")),
                2 => drop(self.remove(target, &key)),
                _ if self.universe.targets[target].options.idempotent_create => {
                    self.recreate(target, &key, 94, "toucher");
                }
                _ => {}
            }
            self.hint(target);
        }
    }
}
