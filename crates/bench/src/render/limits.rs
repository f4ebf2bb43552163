//! The effect of the limits on a build: inputs that cost as much as the limits permit, each in its
//! own process, until it is refused. The limits count operations, so that the same files are
//! refused everywhere; this suite measures the processor time and memory that they take.

use std::fmt::Write as _;

use anyhow::{Context, bail, ensure};
use setpoint_kustomize::build::{Options, build};
use setpoint_kustomize::limits::Limit;

use super::clock::time;
use super::memory::{MIB, kibibytes, said_alone};
use super::overlays::Memory;
use crate::table::{Bar, Peer, Row, Table, Unit};

/// docs/kustomize.md names about ten seconds; machines differ.
const SECONDS: f64 = 15.0;
/// A build may hold 512 MiB of nodes and texts; files and the reserve of an allocator come on top.
const MEBIBYTES: f64 = 600.0;

type Make = fn() -> Memory;

/// The operation that is done too often, its input, and the limit that ends it.
const INPUTS: [(&str, Make, Limit); 16] = [
    ("JSON patches of all resources", json_patches, Limit::Steps),
    ("a strategic patch of lists without keys", merges, Limit::Steps),
    ("strategic patches of one large resource", large_merges, Limit::Steps),
    ("patches that select by a pattern", patterns, Limit::Steps),
    ("patches that select by labels", labels, Limit::Steps),
    ("images", images, Limit::Steps),
    ("replacements of all resources", replacements, Limit::Steps),
    ("replacements in a text of YAML", replaced_texts, Limit::Steps),
    ("replacements of a text that is put into itself", doubled_texts, Limit::Held),
    ("names among namesakes", references, Limit::Steps),
    ("field specs of names", field_specs, Limit::Steps),
    ("variables", variables, Limit::Steps),
    ("values that are moved to and fro", moves, Limit::Steps),
    ("copies of a map into itself", copies, Limit::Held),
    ("generators that merge", generators, Limit::Steps),
    ("a file that is read again and again", reads, Limit::Read),
];

pub(super) fn render(table: &mut Table) -> anyhow::Result<()> {
    for (what, ..) in INPUTS {
        let said = said_alone(&["exhaust", what])?;
        let (seconds, bytes) = said.trim().split_once(' ').with_context(|| format!("`{said}` are no two figures"))?;
        let figures = [("s", seconds.parse()?, SECONDS), ("MiB", bytes.parse::<f64>()? / MIB, MEBIBYTES)];
        for (unit, ours, bar) in figures {
            let what = format!("{what}, until refused");
            table.add(Row { what, unit: Unit::Cost(unit), ours, peer: Peer::None, bar: Bar::Figure(bar) });
        }
    }
    Ok(())
}

/// Builds one of the inputs until it is refused, and returns the seconds of processor time and the
/// additional bytes of memory.
pub fn exhaust(what: &str) -> anyhow::Result<(f64, u64)> {
    let Some((_, make, limit)) = INPUTS.iter().find(|(known, ..)| *known == what) else {
        bail!("`{what}` is no input of this measurement");
    };
    let files = make();
    let before = kibibytes("VmRSS:")?;
    let (built, taken) = time(|| build(&files, "", &Options::default()).and_then(|built| built.to_yaml()));
    let Err(bad) = built else { bail!("{what}: it was built within all limits") };
    ensure!(bad.limit() == Some(*limit), "{what}: refused by another limit: {bad}");
    Ok((taken.as_secs_f64(), kibibytes("VmHWM:")?.saturating_sub(before) * 1024))
}

const MAP: &str = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\ndata: {k: v}\n";

fn maps(count: usize) -> String {
    (0..count).map(|at| format!("---\n{}", MAP.replace("name: a", &format!("name: c{at}, labels: {{l: v}}")))).collect()
}

fn numbered(count: usize, item: &str) -> String {
    (0..count).map(|at| item.replace("AT", &at.to_string())).collect()
}

/// Builds a kustomization of some resources, with more fields and the files that it names.
fn kustomization(resources: &str, more: &str, files: &[(&str, &str)]) -> Memory {
    let mut memory = Memory::default();
    memory.add("kustomization.yaml", &format!("resources: [all.yaml]\n{more}"));
    memory.add("all.yaml", resources);
    for (path, text) in files {
        memory.add(*path, text);
    }
    memory
}

fn json_patches() -> Memory {
    let patches = "- {path: p.yaml, target: {kind: ConfigMap}}\n".repeat(100_000);
    let patch = "- {op: add, path: /data, value: {k: v}}\n";
    kustomization(&maps(10_000), &format!("patches:\n{patches}"), &[("p.yaml", patch)])
}

/// Returns a Deployment with this many containers, each with this many ports.
fn deployment(containers: usize, ports: usize, port: &str) -> String {
    let ports = port.repeat(ports);
    let mut text =
        "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: d}\nspec:\n  template:\n    spec:\n      containers:\n"
            .to_owned();
    for at in 0..containers {
        let _ = writeln!(text, "      - {{name: c{at}, ports: [{ports}]}}");
    }
    text
}

const REPLICAS: &str = "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: d}\nspec: {replicas: 1}\n";

/// Merging lists whose items lack their keys takes quadratic time.
fn merges() -> Memory {
    kustomization(&deployment(1_000, 1_000, "{a: 1},"), "patches: [{path: p.yaml}]\n", &[("p.yaml", REPLICAS)])
}

fn large_merges() -> Memory {
    let patches = "- {path: p.yaml}\n".repeat(100_000);
    let port = "{containerPort: 1, name: x, protocol: TCP},";
    kustomization(&deployment(200, 100, port), &format!("patches:\n{patches}"), &[("p.yaml", REPLICAS)])
}

fn patterns() -> Memory {
    let patches = "- {path: p.yaml, target: {name: '(c?c?c?c?c?c?c?c?c?c?){900}x'}}\n".repeat(10_000);
    let patch = "- {op: add, path: /data, value: {k: v}}\n";
    kustomization(&maps(1_000), &format!("patches:\n{patches}"), &[("p.yaml", patch)])
}

fn labels() -> Memory {
    let values = numbered(20, "vAT,");
    let target = format!("{{kind: ConfigMap, labelSelector: 'l in ({values}x)'}}");
    let patches = format!("- {{path: p.yaml, target: {target}}}\n").repeat(20_000);
    let patch = "- {op: add, path: /data, value: {k: v}}\n";
    kustomization(&maps(10_000), &format!("patches:\n{patches}"), &[("p.yaml", patch)])
}

fn images() -> Memory {
    let pod = |at: usize| {
        format!(
            "---\napiVersion: v1\nkind: Pod\nmetadata: {{name: p{at}}}\nspec: {{containers: [{{name: c, image: 'example.com/web:1'}}]}}\n"
        )
    };
    let images = "- {name: x, newTag: z}\n".repeat(20_000);
    kustomization(&(0..5_000).map(pod).collect::<String>(), &format!("images:\n{images}"), &[])
}

fn replacements() -> Memory {
    let each = "- {sourceValue: x, targets: [{select: {kind: ConfigMap}, fieldPaths: [data.k]}]}\n".repeat(10_000);
    kustomization(&maps(10_000), &format!("replacements:\n{each}"), &[])
}

fn replaced_texts() -> Memory {
    let each = "- {sourceValue: x, targets: [{select: {kind: ConfigMap}, fieldPaths: [data.t.k1]}]}\n".repeat(10_000);
    let text = format!("{MAP}kept: 0\n")
        .replace("data: {k: v}", &format!("data:\n  t: |\n{}", numbered(5_000, "    kAT: v\n")));
    kustomization(&text, &format!("replacements:\n{each}"), &[])
}

fn doubled_texts() -> Memory {
    let into = "targets: [{select: {kind: ConfigMap}, fieldPaths: [data.k], options: {delimiter: v, index: 9}}]";
    let each = format!("- {{source: {{kind: ConfigMap, fieldPath: data.k}}, {into}}}\n").repeat(60);
    kustomization(MAP, &format!("replacements:\n{each}"), &[])
}

fn references() -> Memory {
    let pair = |at: usize| {
        format!(
            "---\napiVersion: v1\nkind: ConfigMap\nmetadata: {{name: c, namespace: n{at}}}\n---\napiVersion: v1\nkind: Pod\nmetadata: {{name: p, namespace: \
             n{at}}}\nspec: {{volumes: [{{name: v, configMap: {{name: c}}}}]}}\n"
        )
    };
    let mut memory = Memory::default();
    memory.add("kustomization.yaml", "resources: [0.yaml, 1.yaml, 2.yaml, 3.yaml]\nnamePrefix: x-\n");
    for file in 0..4 {
        let pairs: String = (file * 5_000..(file + 1) * 5_000).map(pair).collect();
        memory.add(format!("{file}.yaml"), &pairs);
    }
    memory
}

fn field_specs() -> Memory {
    let specs = numbered(20_000, "  - {path: aAT, kind: ConfigMap, group: g}\n");
    let configured = format!("nameReference:\n- kind: Secret\n  fieldSpecs:\n{specs}");
    kustomization(&maps(20_000), "configurations: [c.yaml]\nnamePrefix: p-\n", &[("c.yaml", &configured)])
}

fn variables() -> Memory {
    let each = numbered(5_000, "- {name: VAT, objref: {kind: ConfigMap, name: c1, apiVersion: v1}}\n");
    let texts = maps(5_000).replace("k: v", &format!("k: '{}'", "$(V1)".repeat(100)));
    kustomization(&texts, &format!("vars:\n{each}configurations: [c.yaml]\n"), &[("c.yaml", VARIABLES_IN_DATA)])
}

const VARIABLES_IN_DATA: &str = "varReference: [{path: data, kind: ConfigMap}, {path: data/k, kind: ConfigMap}]\n";

fn moves() -> Memory {
    let big = format!("{MAP}p: {{big: [{}]}}\nq: {{}}\n", "0,".repeat(50_000));
    let patch = "- {op: move, from: /p/big, path: /q/big}\n- {op: move, from: /q/big, path: /p/big}\n".repeat(20_000);
    kustomization(&big, "patches: [{path: p.yaml, target: {kind: ConfigMap}}]\n", &[("p.yaml", &patch)])
}

fn copies() -> Memory {
    let patch = numbered(60, "- {op: copy, from: /data, path: /data/xAT}\n");
    kustomization(MAP, "patches: [{path: p.yaml, target: {kind: ConfigMap}}]\n", &[("p.yaml", &patch)])
}

fn generators() -> Memory {
    let literals = numbered(20_000, "kAT=v,");
    let each = "- {name: a, behavior: merge, literals: [k=w]}\n".repeat(10_000);
    let mut memory = Memory::default();
    memory.add("kustomization.yaml", &format!("resources: [base]\nconfigMapGenerator:\n{each}"));
    memory.add("base/kustomization.yaml", &format!("configMapGenerator: [{{name: a, literals: [{literals}]}}]\n"));
    memory
}

fn reads() -> Memory {
    let mut memory = Memory::default();
    let each = numbered(2_000, "- {name: mAT, files: [f.txt]}\n");
    memory.add("kustomization.yaml", &format!("configMapGenerator:\n{each}"));
    memory.add("f.txt", &"é".repeat(100_000));
    memory
}
