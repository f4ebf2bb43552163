//! 1,000 overlays of one base, each rendered from its files as if it were the only one, on two
//! threads.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use anyhow::anyhow;

use super::growth::{deployment, map};
use super::overlays::{Memory, rendered};
use crate::stopwatch::shortest_of;
use crate::table::{Bar, Peer, Row, Table, Unit};

const OVERLAYS: usize = 1_000;
const THREADS: usize = 2;
const RUNS: u32 = 3;
const BAR: f64 = 2_000.0;

pub(super) fn render(table: &mut Table) -> anyhow::Result<()> {
    let files = overlays();
    render_all(&files)?;
    table.add(Row {
        what: format!("{OVERLAYS} overlays of one base of 5 resources, from memory, on {THREADS} threads"),
        unit: Unit::Cost("ms"),
        ours: shortest_of(RUNS, || render_all(&files)).as_secs_f64() * 1e3,
        peer: Peer::None,
        bar: Bar::Figure(BAR),
    });
    Ok(())
}

fn render_all(files: &Memory) -> anyhow::Result<()> {
    let next = AtomicUsize::new(0);
    let work = || -> anyhow::Result<()> {
        loop {
            match next.fetch_add(1, Ordering::Relaxed) {
                number if number < OVERLAYS => drop(rendered(files, &format!("overlays/{number}"))?),
                _ => return Ok(()),
            }
        }
    };
    thread::scope(|scope| {
        let threads: Vec<_> = (0..THREADS).map(|_| scope.spawn(work)).collect();
        threads.into_iter().try_for_each(|thread| thread.join().map_err(|_| anyhow!("a render panicked"))?)
    })
}

/// Each overlay has its own namespace, prefix, labels, image, patch and generated map.
fn overlays() -> Memory {
    let mut files = Memory::default();
    let service = "apiVersion: v1\nkind: Service\nmetadata:\n  name: web-0\nspec:\n  selector: {app: web-0}\n  ports:\n  - port: 80\n";
    let account = "apiVersion: v1\nkind: ServiceAccount\nmetadata:\n  name: web-0\n";
    files.add("base/all.yaml", &[&*deployment(0), &map(0), &map(1), service, account].join("---\n"));
    files.add("base/kustomization.yaml", "resources: [all.yaml]\n");
    for number in 0..OVERLAYS {
        let overlay = format!(
            "resources: [../../base]\nnamespace: team-{number}\nnamePrefix: o{number}-\nlabels:\n- pairs: {{overlay: o{number}}}\n  includeSelectors: true\n\
             images: [{{name: example.com/web, newTag: '{number}'}}]\nconfigMapGenerator:\n- name: made\n  literals: [number={number}]\n\
             patches:\n- path: patch.yaml\n"
        );
        files.add(format!("overlays/{number}/kustomization.yaml"), &overlay);
        let patch = "apiVersion: apps/v1\nkind: Deployment\nmetadata:\n  name: web-0\nspec:\n  replicas: 3\n  template:\n    spec:\n      containers:\n      - name: main\n        env:\n        - name: A\n          value: b\n";
        files.add(format!("overlays/{number}/patch.yaml"), patch);
    }
    files
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_overlay_of_the_fleet_uses_what_it_is_measured_with() {
        let text = rendered(&overlays(), "overlays/7").unwrap();
        for part in
            ["name: o7-web-0", "namespace: team-7", "example.com/web:7", "replicas: 3", "number: \"7\"", "overlay: o7"]
        {
            assert!(text.contains(part), "{part}: {text}");
        }
    }
}
