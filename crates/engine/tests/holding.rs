//! Helpers for tests of the machine: apps on one cluster, with declarations and claims.

use std::collections::BTreeSet;
use std::sync::Arc;

use setpoint_core::claim::{Claim, ClaimOrigin};
use setpoint_core::digest::Digest;
use setpoint_core::key::Key;
use setpoint_core::live::{Health, Live, Presence};
use setpoint_core::name::{AppId, LiveVersion, TargetIdentity, Uid};
use setpoint_core::observed::{Observed, UnknownReason};
use setpoint_core::resource::Resource;
use setpoint_core::snapshot::Rules;
use setpoint_core::time::{Span, Timestamp};
use setpoint_core::value::Value;
use setpoint_engine::{AppControl, Mode, OnFailure, TargetControl};
use setpoint_target::Granularity;

pub(crate) fn at(seconds: u64) -> Timestamp {
    Timestamp::from_millis(0) + Span::seconds(seconds)
}

pub(crate) fn target() -> TargetIdentity {
    TargetIdentity::new("cluster-1").expect("a valid identity")
}

pub(crate) fn reach(attributes: bool) -> TargetControl {
    TargetControl { granularity: Granularity::Resource, fresh_reads: true, attributes }
}

pub(crate) fn key(name: &str) -> Key {
    Key::new("ConfigMap", "shop", name).expect("a valid key")
}

fn value() -> Arc<Value> {
    Arc::new(Value::map([("data", Value::str("a"))]))
}

pub(crate) fn resource(name: &str) -> Resource {
    Resource::new(key(name), "v1", "ConfigMap", value())
}

/// The claim on an object that the app created, with its name as the UID.
pub(crate) fn claim(app: &AppId, name: &str) -> Claim {
    Claim::new(target(), key(name), app.clone(), Some(Uid::new(name).expect("a valid UID")), ClaimOrigin::Created)
}

pub(crate) fn control(mode: Mode, retire: bool) -> Arc<AppControl> {
    Arc::new(AppControl {
        document: Digest::of(b"document"),
        target: target(),
        stores: BTreeSet::new(),
        rules: Rules::default(),
        acting_as: None,
        mode,
        retire,
        depends_on: BTreeSet::new(),
        closed: Vec::new(),
        deadline: Span::minutes(10),
        on_failure: OnFailure::Alert,
        renders_apart: false,
    })
}

/// The object that is claimed under this name, as it is declared.
pub(crate) fn stands(name: &str, seen: Timestamp) -> Observed<Presence> {
    let live = Live {
        health: Health::Healthy,
        ..Live::new(Uid::new(name).expect("a valid UID"), LiveVersion::new("1").expect("a valid version"), value())
    };
    Observed::known(Presence::Present(live), seen)
}

pub(crate) fn absent(seen: Timestamp) -> Observed<Presence> {
    Observed::known(Presence::Absent, seen)
}

pub(crate) fn unseen() -> Observed<Presence> {
    Observed::unknown(UnknownReason::Unreachable { detail: "no answer".into() })
}
