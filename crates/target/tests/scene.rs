//! Shared by the tests: a world, resources and a future that is polled once.

use std::future::Future;
use std::pin::pin;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};

use setpoint_core::key::Key;
use setpoint_core::name::TargetIdentity;
use setpoint_core::resource::Resource;
use setpoint_core::time::{Span, Timestamp};
use setpoint_core::value::Value;
use setpoint_target::conformance::Steps;
use setpoint_target::{Fence, MemoryOptions, MemoryWorld};

pub(crate) fn identity() -> TargetIdentity {
    TargetIdentity::new("machine-1").expect("a valid identity")
}

pub(crate) fn world(options: MemoryOptions) -> MemoryWorld {
    MemoryWorld::new(identity(), options)
}

pub(crate) fn at(seconds: u64) -> Timestamp {
    Timestamp::from_millis(1_700_000_000_000) + Span::seconds(seconds)
}

pub(crate) fn fence() -> Fence {
    Fence { epoch: Steps::EPOCH, leave_by: at(5), land_by: at(35) }
}

/// Returns an object of this name with this content.
pub(crate) fn resource(name: &str, content: i64) -> Resource {
    let key = Key::new("test/Thing", "lab", name).expect("a valid key");
    let metadata = Value::map([("name", Value::str(name)), ("namespace", Value::str("lab"))]);
    let body = Value::map([("metadata", metadata), ("content", Value::int(content))]);
    Resource::new(key, "test/v1", "Thing", body)
}

pub(crate) fn value(name: &str, content: i64) -> Arc<Value> {
    resource(name, content).body
}

/// Polls a future once. Returns `None` if it is pending.
pub(crate) fn poll<T>(future: impl Future<Output = T>) -> Option<T> {
    match pin!(future).poll(&mut Context::from_waker(Waker::noop())) {
        Poll::Ready(value) => Some(value),
        Poll::Pending => None,
    }
}

/// Polls a future that must be ready at once, as everything in memory is.
pub(crate) fn at_once<T>(future: impl Future<Output = T>) -> T {
    poll(future).expect("the in-memory target waited for something")
}
