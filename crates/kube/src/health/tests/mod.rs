//! Health, rule by rule, on objects as a server sends them.

mod conditions;
mod control_plane;
mod gateway;
mod jobs;
mod network;
mod order;
mod pods;
mod rules;
mod storage;
mod workloads;

use setpoint_core::live::Health;
use setpoint_core::value::Value;
use setpoint_yaml::{Dialect, Source, parse};

use super::{Assessment, Rules, assess};

/// Parses an object written as YAML.
fn object(text: &str) -> Value {
    let documents = parse(Source::new("object.yaml", text)).unwrap();
    setpoint_documents::read_value(documents[0].root(), Dialect::GoYamlV2).unwrap()
}

fn assessed(text: &str) -> Assessment {
    assess(&object(text), &Rules::default())
}

/// Checks cases: the text after `head`, the expected health, and a part of the reason.
fn check(head: &str, cases: &[(&str, Health, &str)]) {
    for (rest, health, words) in cases {
        let assessment = assessed(&format!("{head}\n{rest}"));
        assert_eq!(assessment.health, *health, "{rest}\n{assessment:?}");
        assert!(assessment.reason.contains(words), "{rest}\n{assessment:?}");
    }
}
