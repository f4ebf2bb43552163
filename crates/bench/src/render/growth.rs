//! The growth of a render's cost with the size of a kustomization: one item among many may not cost
//! much more than one among few.

use std::fmt::Write as _;

use super::clock::{median, time};
use super::overlays::{Memory, rendered};
use crate::table::{Bar, Peer, Row, Table, Unit};

const RUNS: usize = 3;
/// The most that one item among many may cost, as a multiple of one among [`FEW`].
const TIMES: f64 = 3.0;
const FEW: usize = 100;
/// This many patches on one resource are a mistake or an attack.
const HOSTILE: usize = 100_000;

type Make = fn(usize) -> Memory;

const SERIES: [(&str, &[usize], Make); 6] = [
    ("resources in one file", &[10, FEW, 1_000, 10_000], resources),
    ("resources, a file each", &[10, FEW, 1_000, 10_000], files),
    ("strategic patches of as many resources", &[10, FEW, 1_000], patches),
    ("JSON patches of as many resources", &[10, FEW, 1_000], json_patches),
    ("replacements between as many resources", &[10, FEW, 1_000], replacements),
    ("patches of one resource", &[10, FEW, 1_000, HOSTILE], patches_of_one),
];

pub(super) fn render(table: &mut Table) -> anyhow::Result<()> {
    for (what, sizes, make) in SERIES {
        let mut few = f64::NAN;
        for size in sizes {
            let cost = cost(&make(*size), *size)?;
            if *size == FEW {
                few = cost;
            }
            table.add(Row {
                what: format!("{size} {what}, each"),
                unit: Unit::Cost("µs"),
                ours: cost,
                peer: Peer::None,
                bar: if *size > FEW { Bar::Figure((few * TIMES).round()) } else { Bar::None },
            });
        }
    }
    Ok(())
}

/// Returns the microseconds of processor time for each item.
fn cost(files: &Memory, size: usize) -> anyhow::Result<f64> {
    rendered(files, "")?;
    let runs = (0..RUNS).map(|_| time(|| rendered(files, "").map(|text| text.len())).1);
    Ok(median(runs.collect()) * 1e3 / size as f64)
}

pub(super) fn deployment(number: usize) -> String {
    format!(
        "apiVersion: apps/v1\nkind: Deployment\nmetadata:\n  name: web-{number}\n  labels: {{team: a}}\nspec:\n  replicas: 2\n  selector:\n    matchLabels: \
         {{app: web-{number}}}\n  template:\n    metadata:\n      labels: {{app: web-{number}}}\n    spec:\n      containers:\n      - name: main\n        \
         image: example.com/web:1.0\n        envFrom:\n        - configMapRef: {{name: map-{number}}}\n        resources: {{limits: {{cpu: 500m, memory: 256Mi}}}}\n"
    )
}

pub(super) fn map(number: usize) -> String {
    format!("apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: map-{number}\ndata:\n  key: value-{number}\n")
}

const CHANGES: &str =
    "namespace: prod\nnamePrefix: p-\ncommonLabels: {env: prod}\nimages: [{name: example.com/web, newTag: '2.0'}]\n";

/// Half of them are Deployments, of which each names one of the others.
pub(super) fn resources(count: usize) -> Memory {
    let both = |number| format!("{}---\n{}", deployment(number), map(number));
    let mut files = Memory::default();
    files.add("all.yaml", &(0..count / 2).map(both).collect::<Vec<_>>().join("---\n"));
    files.add("kustomization.yaml", &format!("{CHANGES}resources: [all.yaml]\n"));
    files
}

fn files(count: usize) -> Memory {
    let mut files = Memory::default();
    let mut kustomization = format!("{CHANGES}resources:\n");
    for number in 0..count {
        let text = if number % 2 == 0 { deployment(number / 2) } else { map(number / 2) };
        files.add(format!("{number}.yaml"), &text);
        let _ = writeln!(kustomization, "- {number}.yaml");
    }
    files.add("kustomization.yaml", &kustomization);
    files
}

/// Builds a kustomization of this many resources, with a line or more for each item of another
/// field.
fn with(resources: usize, field: &str, count: usize, each: impl Fn(usize) -> String) -> Memory {
    let both = |number| format!("{}---\n{}", deployment(number), map(number));
    let mut files = Memory::default();
    files.add("all.yaml", &(0..resources).map(both).collect::<Vec<_>>().join("---\n"));
    let each: String = (0..count).map(each).collect();
    files.add("kustomization.yaml", &format!("resources: [all.yaml]\n{field}:\n{each}"));
    files
}

fn patches(count: usize) -> Memory {
    with(count, "patches", count, |number| {
        format!(
            "- patch: '{{apiVersion: apps/v1, kind: Deployment, metadata: {{name: web-{number}}}, spec: {{replicas: {number}}}}}'\n"
        )
    })
}

/// Repeats the same file, because a kustomization may not be as long as all these patches.
fn patches_of_one(count: usize) -> Memory {
    let mut files = with(1, "patches", count, |_| "- path: patch.yaml\n".to_owned());
    files.add("patch.yaml", "apiVersion: apps/v1\nkind: Deployment\nmetadata:\n  name: web-0\nspec:\n  replicas: 3\n");
    files
}

fn json_patches(count: usize) -> Memory {
    with(count, "patches", count, |number| {
        format!(
            "- target: {{kind: Deployment, name: web-{number}}}\n  patch: '[{{\"op\": \"replace\", \"path\": \"/spec/replicas\", \"value\": {number}}}]'\n"
        )
    })
}

fn replacements(count: usize) -> Memory {
    with(count, "replacements", count, |number| {
        format!(
            "- source: {{kind: ConfigMap, name: map-{number}, fieldPath: data.key}}\n  targets:\n  - select: {{kind: Deployment, name: web-{number}}}\n    \
             fieldPaths: [spec.template.spec.containers.0.image]\n"
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_series_renders_what_it_counts() {
        let text = |make: Make| rendered(&make(4), "").unwrap();
        assert_eq!(text(resources), text(files));
        assert!(text(resources).contains("name: p-map-1"));
        for (make, part) in [
            (patches as Make, "replicas: 3"),
            (json_patches, "replicas: 3"),
            (patches_of_one, "replicas: 3"),
            (replacements, "image: value-3"),
        ] {
            assert!(text(make).contains(part), "{part}: {}", text(make));
        }
    }
}
