//! Tests a real kustomize in the sandbox. `cargo xtask envtest` builds it.

use std::time::Duration;

use setpoint_render_external::{Job, Limits, NotRun, Tree};
use setpoint_testbed::kube::kustomize;

use crate::trial::{job, pinned, rendered, tree};

const OVERLAY: &[(&str, &str)] = &[
    (
        "base/kustomization.yaml",
        "resources: [deployment.yaml]\nlabels:\n- pairs: {team: a}\n  includeSelectors: true\n",
    ),
    (
        "base/deployment.yaml",
        "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: web}\nspec:\n  template:\n    spec:\n      containers:\n      - name: c\n        image: \
         nginx\n        envFrom:\n        - configMapRef: {name: settings}\n",
    ),
    (
        "overlays/test/kustomization.yaml",
        "namespace: test\nnamePrefix: test-\nresources: [../../base]\nimages:\n- {name: nginx, newTag: \"1.29\"}\nconfigMapGenerator:\n- name: settings\n  \
         files: [settings.txt]\npatches:\n- path: patch.yaml\n",
    ),
    ("overlays/test/settings.txt", "a=b\n"),
    (
        "overlays/test/patch.yaml",
        "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: web}\nspec:\n  template:\n    spec:\n      containers:\n      - name: c\n        env:\n        - \
         {name: X, value: \"1\"}\n",
    ),
];

/// Returns the output of kustomize without a sandbox.
fn outside(tree: &Tree, folder: &str) -> Vec<u8> {
    let mut program = setpoint_testbed::program(&kustomize().to_string_lossy());
    let output = program.args(["build", folder]).current_dir(tree.path()).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    output.stdout
}

#[test]
fn an_overlay_is_rendered_as_outside() {
    let tree = tree(OVERLAY);
    let inside = rendered(&kustomize(), &tree, "overlays/test", &Limits::default()).unwrap();
    assert_eq!(inside.rendered, outside(&tree, "overlays/test"));
    assert!(inside.rendered.starts_with(b"apiVersion: v1\ndata:\n  settings.txt: |\n    a=b\n"));
}

#[test]
fn one_pinned_program_renders_many_times() {
    let (tree, pinned) = (tree(OVERLAY), pinned(&kustomize()));
    let (limits, agent) = (Limits::default(), crate::trial::agent());
    let first = setpoint_render_external::run(&pinned, &job(&tree, "base", &limits), &agent).unwrap();
    for _ in 0..5 {
        let again = setpoint_render_external::run(&pinned, &job(&tree, "base", &limits), &agent).unwrap();
        assert_eq!(again, first);
    }
}

#[test]
fn what_kustomize_warns_of_comes_along() {
    let tree = tree(&[
        ("kustomization.yaml", "commonLabels: {a: b}\nresources: [a.yaml]\n"),
        ("a.yaml", "apiVersion: v1\nkind: Service\nmetadata: {name: a}\n"),
    ]);
    let output = rendered(&kustomize(), &tree, ".", &Limits::default()).unwrap();
    assert!(output.said.contains("'commonLabels' is deprecated"), "{}", output.said);
    assert_eq!(output.rendered, outside(&tree, "."));
}

#[test]
fn a_mistake_is_told_in_kustomizes_words() {
    let tree = tree(&[("kustomization.yaml", "resources: [missing.yaml]\n")]);
    let failed = rendered(&kustomize(), &tree, ".", &Limits::default()).unwrap_err();
    assert!(matches!(&failed, NotRun::Failed { code: 1, said } if said.contains("missing.yaml")), "{failed:?}");
}

#[test]
fn a_folder_whose_name_looks_like_an_option_is_a_folder() {
    let tree = tree(&[
        ("--help/kustomization.yaml", "resources: [a.yaml]\n"),
        ("--help/a.yaml", "apiVersion: v1\nkind: Service\nmetadata: {name: a}\n"),
    ]);
    let output = rendered(&kustomize(), &tree, "--help", &Limits::default()).unwrap();
    assert_eq!(output.rendered, b"apiVersion: v1\nkind: Service\nmetadata:\n  name: a\n");
}

#[test]
fn a_remote_base_and_a_plugin_that_is_executed_are_out_of_reach() {
    for resource in ["https://127.0.0.1:9/base.yaml", "https://127.0.0.1:9/repository.git//base?ref=v1"] {
        let tree = tree(&[("kustomization.yaml", &format!("resources: ['{resource}']\n"))]);
        let failed = rendered(&kustomize(), &tree, ".", &Limits::default()).unwrap_err();
        assert!(matches!(failed, NotRun::Failed { .. }), "{failed:?}");
    }
}

#[test]
fn kustomize_is_ended_by_the_limits_too() {
    let tree = tree(OVERLAY);
    let limits = Limits { memory: 40 << 20, ..Limits::default() };
    let end = rendered(&kustomize(), &tree, "base", &limits).unwrap_err();
    assert!(matches!(end, NotRun::OutOfMemory { .. }), "{end:?}");
    let limits = Limits { time: Duration::from_millis(1), ..Limits::default() };
    let end = rendered(&kustomize(), &tree, "base", &limits).unwrap_err();
    assert!(matches!(end, NotRun::TooLong { .. }), "{end:?}");
}

#[test]
fn a_file_outside_of_its_folder_is_read_only_where_that_is_allowed_and_never_outside_of_the_tree() {
    let service = "apiVersion: v1\nkind: Service\nmetadata: {name: a}\n";
    let tree = tree(&[("app/kustomization.yaml", "resources: [../a.yaml]\n"), ("a.yaml", service)]);
    let (limits, agent, pinned) = (Limits::default(), crate::trial::agent(), pinned(&kustomize()));
    let restricted = job(&tree, "app", &limits);
    let refused = setpoint_render_external::run(&pinned, &restricted, &agent).unwrap_err();
    assert!(matches!(&refused, NotRun::Failed { said, .. } if said.contains("is not in or below")), "{refused:?}");
    let free = Job { is_restricted: false, ..restricted };
    let output = setpoint_render_external::run(&pinned, &free, &agent).unwrap();
    assert_eq!(output.rendered, b"apiVersion: v1\nkind: Service\nmetadata:\n  name: a\n");
    let out = crate::trial::tree(&[("kustomization.yaml", "resources: [/etc/hostname]\n")]);
    let free = Job { is_restricted: false, ..job(&out, ".", &limits) };
    let refused = setpoint_render_external::run(&pinned, &free, &agent).unwrap_err();
    assert!(matches!(&refused, NotRun::Failed { said, .. } if said.contains("permission denied")), "{refused:?}");
}

#[test]
fn a_link_within_the_tree_is_followed() {
    let mut tree = Tree::begin(crate::trial::folder()).unwrap();
    tree.file("base/kustomization.yaml", b"resources: [a.yaml]\n", false).unwrap();
    tree.file("base/real.yaml", b"apiVersion: v1\nkind: Service\nmetadata: {name: a}\n", false).unwrap();
    tree.link("base/a.yaml", "base/real.yaml").unwrap();
    tree.file("overlays/b/kustomization.yaml", b"resources: [base]\n", false).unwrap();
    tree.link("overlays/b/base", "base").unwrap();
    let tree = tree.finish().unwrap();
    let output = rendered(&kustomize(), &tree, "overlays/b", &Limits::default()).unwrap();
    assert_eq!(output.rendered, b"apiVersion: v1\nkind: Service\nmetadata:\n  name: a\n");
}
