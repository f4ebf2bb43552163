//! YAML parsing: a stream of Deployments into our tree with spans, against serde_norway's plain
//! values.

use std::fmt::Write as _;

use anyhow::{Context, ensure};
use serde::Deserialize as _;
use setpoint_yaml::Source;

use crate::stopwatch::shortest_of;
use crate::table::{Bar, Peer, Row, Table, Unit};

const DEPLOYMENTS: usize = 1_000;
const RUNS: u32 = 15;

/// Our parser records more (spans, styles, limits) and still must not be slower.
pub(super) fn parse(table: &mut Table) -> anyhow::Result<()> {
    let text = deployments(DEPLOYMENTS);
    ensure!(ours(&text)? == DEPLOYMENTS, "ours did not read every document");
    ensure!(peers(&text)? == DEPLOYMENTS, "serde_norway did not read every document");
    let rate = |time: std::time::Duration| text.len() as f64 / 1e6 / time.as_secs_f64();
    table.add(Row {
        what: format!("YAML, {DEPLOYMENTS} Deployments, {:.2} MB", text.len() as f64 / 1e6),
        unit: Unit::Rate("MB/s"),
        ours: rate(shortest_of(RUNS, || ours(&text))),
        peer: Peer::Measured { name: "serde_norway", figure: rate(shortest_of(RUNS, || peers(&text))) },
        bar: Bar::TimesPeer(1.0),
    });
    Ok(())
}

/// Returns the number of documents that our parser reads; the trees are built and dropped within
/// the time.
fn ours(text: &str) -> anyhow::Result<usize> {
    let documents = setpoint_yaml::parse(Source::new("deployments.yaml", text));
    Ok(documents.context("ours refuses the input")?.len())
}

/// Returns the number of documents that the peer reads, in the same way.
fn peers(text: &str) -> anyhow::Result<usize> {
    let documents: Vec<serde_norway::Value> = serde_norway::Deserializer::from_str(text)
        .map(serde_norway::Value::deserialize)
        .collect::<Result<_, _>>()
        .context("serde_norway refuses the input")?;
    Ok(documents.len())
}

/// Returns a stream as teams write it: block style, a few quoted and flow parts, a comment.
fn deployments(count: usize) -> String {
    let mut text = String::new();
    for number in 0..count {
        let replicas = number % 7 + 1;
        let _ = write!(
            text,
            "\
---
# owned by team-{team}
apiVersion: apps/v1
kind: Deployment
metadata:
  name: service-{number}
  namespace: team-{team}
  labels: {{ app.kubernetes.io/name: service-{number}, tier: \"backend\" }}
spec:
  replicas: {replicas}
  selector:
    matchLabels:
      app.kubernetes.io/name: service-{number}
  template:
    metadata:
      labels:
        app.kubernetes.io/name: service-{number}
    spec:
      containers:
        - name: main
          image: \"images.example/team-{team}/service-{number}:1.{replicas}.0\"
          args: [\"--port=8080\", \"--verbose\"]
          env:
            - name: GREETING
              value: 'it''s service {number}'
          resources:
            limits: {{ cpu: 500m, memory: 256Mi }}
",
            team = number % 25,
        );
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_parsers_read_every_document_of_the_input() {
        let text = deployments(20);
        assert_eq!(ours(&text).unwrap(), 20);
        assert_eq!(peers(&text).unwrap(), 20);
    }
}
