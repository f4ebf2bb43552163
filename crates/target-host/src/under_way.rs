//! Tracks the effects that this process has begun and not ended, since they may still land.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use setpoint_core::intent::IntentId;
use setpoint_target::Work;

/// Intents whose effects this process has begun and not ended.
#[derive(Clone, Debug, Default)]
pub(crate) struct UnderWay(Arc<Mutex<BTreeSet<IntentId>>>);

impl UnderWay {
    /// Begins the effects. They end when the returned value is dropped.
    pub(crate) fn begin(&self, work: &[Work]) -> Begun {
        let intents: Vec<_> = work.iter().map(|work| work.intent).collect();
        self.intents().extend(&intents);
        Begun { under_way: self.clone(), intents }
    }

    pub(crate) fn holds(&self, intent: IntentId) -> bool {
        self.intents().contains(&intent)
    }

    fn intents(&self) -> MutexGuard<'_, BTreeSet<IntentId>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Effects that have begun. Dropped when they end, whether they succeeded or failed.
#[derive(Debug)]
pub(crate) struct Begun {
    under_way: UnderWay,
    intents: Vec<IntentId>,
}

impl Drop for Begun {
    fn drop(&mut self) {
        let mut intents = self.under_way.intents();
        for intent in &self.intents {
            intents.remove(intent);
        }
    }
}

#[cfg(test)]
mod tests {
    use setpoint_core::key::Key;
    use setpoint_core::name::TargetIdentity;
    use setpoint_core::resource::Resource;
    use setpoint_core::value::Value;
    use setpoint_target::conformance::Steps;

    use super::*;

    #[test]
    fn an_effect_is_under_way_from_its_beginning_to_its_end() {
        let key = Key::new("test/Thing", "lab", "a").unwrap();
        let resource = Resource::new(key, "test/v1", "Thing", Value::Null);
        let steps = Steps::new(TargetIdentity::new("host-1").unwrap());
        let work = [steps.create(&resource), steps.create(&resource)];
        let under_way = UnderWay::default();
        let holds = || work.iter().filter(|work| under_way.holds(work.intent)).count();
        let begun = under_way.begin(&work[..1]);
        assert_eq!(holds(), 1);
        let also = under_way.begin(&work[1..]);
        assert_eq!(holds(), 2);
        drop(begun);
        assert_eq!(holds(), 1);
        drop(also);
        assert_eq!(holds(), 0);
    }
}
