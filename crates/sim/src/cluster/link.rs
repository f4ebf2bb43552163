//! The target of one run of an instance, and its tasks: each call of the [`Target`] trait is a task
//! that is polled when it is woken.

use std::collections::BTreeMap;
use std::fmt;
use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll, Wake, Waker};

use setpoint_core::digest::DigestKey;
use setpoint_core::time::Timestamp;
use setpoint_engine::Event;
use setpoint_target::ProcessCache;
use setpoint_target::{Fence, Target, Work};
use setpoint_target_kube::{KubeOptions, KubeTarget};

use super::INSTALLATION;
use super::wire::{Handle, SentRequests, SimWire};

/// The purpose of a task.
#[derive(Clone, Debug)]
pub(crate) enum Errand {
    /// Keeps streams open.
    Watching,
    /// Waits for the next hint.
    Hinting,
    /// Observes, tries or settles.
    Asking,
    Executing(Arc<Vec<Work>>, Fence),
}

type Doing = Pin<Box<dyn Future<Output = Event> + Send>>;

struct Task {
    errand: Errand,
    doing: Doing,
    waker: Waker,
}

/// The connection of one run of an instance with a cluster.
pub(crate) struct Link {
    pub(crate) life: u32,
    pub(crate) target: KubeTarget,
    pub(super) wire: Arc<SimWire>,
    tasks: BTreeMap<u64, Task>,
    woken: Arc<Woken>,
    numbers: u64,
    /// Set if its address leads to another cluster.
    pub(super) strayed: bool,
}

impl fmt::Debug for Link {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Link").field("life", &self.life).field("tasks", &self.tasks.len()).finish_non_exhaustive()
    }
}

/// The tasks that can make progress, in the order in which they were woken.
#[derive(Debug, Default)]
struct Woken(Mutex<Vec<u64>>);

struct Alarm {
    task: u64,
    woken: Arc<Woken>,
}

impl Wake for Alarm {
    fn wake(self: Arc<Self>) {
        let mut woken = self.woken.0.lock().unwrap_or_else(PoisonError::into_inner);
        if !woken.contains(&self.task) {
            woken.push(self.task);
        }
    }
}

/// The requests and the result of one task.
pub(super) struct Moved {
    pub(super) errand: Errand,
    pub(super) taken: SentRequests,
    /// The result, if the task has ended.
    pub(super) event: Option<Event>,
}

impl Link {
    pub(super) fn new(
        life: u32,
        memory: Arc<ProcessCache>,
        now: Timestamp,
        identity: &setpoint_core::name::TargetIdentity,
    ) -> Self {
        let wire = Arc::new(SimWire::default());
        wire.set_now(now);
        let handle = Handle(Arc::clone(&wire));
        let clock = handle.clock();
        let mut options = KubeOptions::new(Arc::new(handle), INSTALLATION, clock, DigestKey::new([7; 32]));
        options.memory = memory;
        options.identity = Some(identity.clone());
        // In every other process, unlabelled objects are watched with all others of their kind.
        options.most_by_name = if life.is_multiple_of(2) { options.most_by_name } else { 1 };
        let target = KubeTarget::new(options);
        Self { life, target, wire, tasks: BTreeMap::new(), woken: Arc::default(), numbers: 0, strayed: false }
    }

    pub(super) fn begin(&mut self, errand: Errand, doing: Doing) {
        self.numbers += 1;
        let number = self.numbers;
        let waker = Waker::from(Arc::new(Alarm { task: number, woken: Arc::clone(&self.woken) }));
        waker.wake_by_ref();
        self.tasks.insert(number, Task { errand, doing, waker });
    }

    /// Waits for the next hint.
    pub(super) fn await_hint(&mut self, identity: setpoint_core::name::TargetIdentity) {
        let target = self.target.clone();
        let doing = async move { Event::Hinted { target: identity, hint: target.hints().await } };
        self.begin(Errand::Hinting, Box::pin(doing));
    }

    /// Polls the next task that was woken; `None` if all wait.
    pub(super) fn step(&mut self, now: Timestamp) -> Option<Moved> {
        self.wire.set_now(now);
        loop {
            let next = {
                let mut woken = self.woken.0.lock().unwrap_or_else(PoisonError::into_inner);
                (!woken.is_empty()).then(|| woken.remove(0))?
            };
            let Some(task) = self.tasks.get_mut(&next) else { continue };
            let waker = task.waker.clone();
            let polled = task.doing.as_mut().poll(&mut Context::from_waker(&waker));
            let errand = task.errand.clone();
            let event = match polled {
                Poll::Ready(event) => {
                    self.tasks.remove(&next);
                    Some(event)
                }
                Poll::Pending => None,
            };
            return Some(Moved { errand, taken: self.wire.take(), event });
        }
    }

    /// Reports whether no task is running that could change anything.
    pub(super) fn is_idle(&self) -> bool {
        !self.tasks.values().any(|task| matches!(task.errand, Errand::Executing(..)))
    }
}
