//! `setpoint kustomize build`, `setpoint kustomize compare` and `setpoint explain`.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;

use tempfile::TempDir;

use crate::setpoint::{Run, command, read};

const FILES: [(&str, &str); 4] = [
    ("base/kustomization.yaml", "resources: [web.yaml]\nconfigMapGenerator:\n- name: settings\n  literals: [size=1]\n"),
    (
        "base/web.yaml",
        "apiVersion: apps/v1\nkind: Deployment\nmetadata:\n  name: web\nspec:\n  replicas: 1\n---\napiVersion: v1\nkind: Secret\nmetadata:\n  name: key\nstringData: {word: hush}\n",
    ),
    (
        "prod/kustomization.yaml",
        "resources:\n- ../base\nnamePrefix: prod-\nnamespace: shop\npatches:\n- path: more.yaml\n",
    ),
    ("prod/more.yaml", "apiVersion: apps/v1\nkind: Deployment\nmetadata:\n  name: web\nspec:\n  replicas: 3\n"),
];

const BUILT: &str = "\
apiVersion: v1
data:
  size: \"1\"
kind: ConfigMap
metadata:
  name: prod-settings-d5hb4bfh2h
  namespace: shop
---
apiVersion: v1
kind: Secret
metadata:
  name: prod-key
  namespace: shop
stringData:
  word: hush
---
apiVersion: apps/v1
kind: Deployment
metadata:
  name: prod-web
  namespace: shop
spec:
  replicas: 3
";

fn tree() -> TempDir {
    let folder = tempfile::tempdir().expect("a folder for the test");
    for (path, text) in FILES {
        let file = folder.path().join(path);
        fs::create_dir_all(file.parent().expect("it is in a folder")).expect("a folder can be made");
        fs::write(file, text).expect("a file can be written");
    }
    folder
}

fn run_in(folder: &Path, arguments: &[&str]) -> Run {
    read(&command(arguments).current_dir(folder).output().expect("the binary was built with these tests"))
}

#[test]
fn a_build_is_written_as_kustomize_writes_it() {
    let tree = tree();
    let run = run_in(tree.path(), &["kustomize", "build", "prod"]);
    assert_eq!((run.code, run.complaints.as_str()), (Some(0), ""));
    assert_eq!(run.output, BUILT);
    let there = run_in(&tree.path().join("prod"), &["kustomize", "build"]);
    assert_eq!(there.output, BUILT, "without a folder it is this one");
}

#[test]
fn a_build_goes_to_a_file_or_into_a_folder_as_with_kustomize() {
    let tree = tree();
    let run = run_in(tree.path(), &["kustomize", "build", "prod", "-o", "all.yaml"]);
    assert_eq!((run.code, run.output.as_str()), (Some(0), ""));
    assert_eq!(fs::read_to_string(tree.path().join("all.yaml")).unwrap(), BUILT);
    let each = tree.path().join("each");
    fs::create_dir(&each).unwrap();
    assert_eq!(run_in(tree.path(), &["kustomize", "build", "prod", "-o", "each"]).code, Some(0));
    let mut names: Vec<String> =
        fs::read_dir(&each).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    assert_eq!(
        names,
        ["apps_v1_deployment_prod-web.yaml", "v1_configmap_prod-settings-d5hb4bfh2h.yaml", "v1_secret_prod-key.yaml"]
    );
    let deployment = fs::read_to_string(each.join(&names[0])).unwrap();
    assert!(BUILT.ends_with(&deployment), "{deployment}");
}

#[test]
fn the_order_and_the_restriction_are_kustomizes_own_flags() {
    let tree = tree();
    let unsorted = run_in(tree.path(), &["kustomize", "build", "prod", "--reorder", "none"]).output;
    assert!(unsorted.find("Deployment").unwrap() < unsorted.find("ConfigMap").unwrap(), "{unsorted}");
    fs::write(tree.path().join("prod/kustomization.yaml"), "resources: [../base/web.yaml]\n").unwrap();
    let refused = run_in(tree.path(), &["kustomize", "build", "prod"]);
    assert_eq!((refused.code, refused.output.as_str()), (Some(4), ""));
    assert!(refused.complaints.contains("is not in or below"), "{}", refused.complaints);
    let lifted = ["--load-restrictor", "LoadRestrictionsNone"];
    assert_eq!(run_in(tree.path(), &[&["kustomize", "build", "prod"], &lifted[..]].concat()).code, Some(0));
    let explain = ["explain", "Deployment/web", "-k", "prod"];
    assert_eq!(run_in(tree.path(), &explain).code, Some(4));
    assert_eq!(run_in(tree.path(), &[&explain[..], &lifted].concat()).code, Some(0));
}

#[test]
fn a_script_written_for_kustomize_gives_its_flags_and_gets_its_files() {
    let tree = tree();
    let flags = [
        "--enable-helm",
        "--helm-command",
        "helm",
        "--helm-kube-version",
        "1.31",
        "--helm-api-versions=v1",
        "--helm-debug",
        "--enable-alpha-plugins",
        "--enable-exec",
        "--as-current-user",
        "--network",
        "--network-name",
        "bridge",
        "-e",
        "A=b",
        "--env=C=d",
        "--mount",
        "type=bind",
        "--stack-trace",
    ];
    let run = run_in(tree.path(), &[&["kustomize", "build"], &flags[..], &["prod", "--output", "json"]].concat());
    assert_eq!((run.code, run.output.as_str(), run.complaints.as_str()), (Some(0), "", ""));
    assert_eq!(fs::read_to_string(tree.path().join("json")).unwrap(), BUILT, "it is a file, and no form of the answer");
    fs::write(tree.path().join("prod/kustomization.yaml"), "helmCharts: [{name: a}]\n").unwrap();
    let refused = run_in(tree.path(), &["kustomize", "build", "--enable-helm", "prod"]);
    assert_eq!(refused.code, Some(4));
    assert!(refused.complaints.contains("`helmCharts` is not run while rendering"), "{}", refused.complaints);
}

#[test]
fn a_build_has_no_flags_but_kustomizes_and_those_of_all_commands_and_one_folder() {
    let tree = tree();
    let stray = run_in(tree.path(), &["kustomize", "build", "prod", "--form", "json"]);
    assert_eq!((stray.code, stray.output.as_str()), (Some(1), ""));
    assert!(stray.complaints.contains("unexpected argument '--form'"), "{}", stray.complaints);
    let two = run_in(tree.path(), &["kustomize", "build", "prod", "base"]);
    assert_eq!((two.code, two.output.as_str()), (Some(1), ""));
    assert!(two.complaints.contains("only one directory can be built at a time"), "{}", two.complaints);
    let before = run_in(tree.path(), &["--output", "json", "kustomize", "build", "prod"]);
    assert_eq!((before.code, before.output.as_str()), (Some(0), BUILT), "of a build there is one form");
}

#[test]
fn flags_have_values_and_are_repeated_as_with_kustomize() {
    let tree = tree();
    let managed = "app.kubernetes.io/managed-by: kustomize-v5.8.1";
    for (flags, is_managed) in [
        (&["--enable-managedby-label=true"][..], true),
        (&["--enable-managedby-label=T", "--enable-helm=false", "--enable-helm"], true),
        (&["--enable-managedby-label", "--enable-managedby-label=false"], false),
        (&["--enable-managedby-label=false", "--enable-managedby-label"], true),
        (&["--reorder=none", "--reorder", "legacy", "--network-name=a", "--network-name", "b", "--network=0"], false),
        (&["--load-restrictor=LoadRestrictionsNone", "--load-restrictor", ""], false),
    ] {
        let run = run_in(tree.path(), &[&["kustomize", "build", "prod"], flags].concat());
        assert_eq!((run.code, run.complaints.as_str()), (Some(0), ""), "{flags:?}");
        assert_eq!(run.output.contains(managed), is_managed, "{flags:?}");
        assert!(is_managed || run.output == BUILT, "{flags:?}");
    }
    for wrong in ["--enable-helm=yes", "--load-restrictor=none", "--load-restrictor=rootOnly", "--reorder=fifo"] {
        let run = run_in(tree.path(), &["kustomize", "build", "prod", wrong]);
        assert_eq!((run.code, run.output.as_str()), (Some(1), ""), "{wrong}");
    }
    let spelled = run_in(tree.path(), &["kustomize", "build", "prod", "--load-restrictor=none"]);
    assert!(spelled.complaints.contains("LoadRestrictionsNone"), "{}", spelled.complaints);
}

#[test]
fn a_url_in_the_place_of_a_folder_is_refused_with_what_to_do() {
    let tree = tree();
    let url = "https://token@github.com/org/repo//deploy?ref=v1";
    for arguments in [&["kustomize", "build", url][..], &["explain", "Deployment/web", "-k", url]] {
        let run = run_in(tree.path(), arguments);
        assert_eq!((run.code, run.output.as_str()), (Some(1), ""));
        let told = "`https://github.com/org/repo//deploy?ref=v1` is a Git repository, and rendering fetches nothing: clone it, check out the version, and name the directory in the clone";
        assert!(run.complaints.trim_end().ends_with(told), "{}", run.complaints);
    }
    fs::create_dir_all(tree.path().join("github.com/org")).unwrap();
    fs::rename(tree.path().join("prod"), tree.path().join("github.com/org/repo")).unwrap();
    fs::rename(tree.path().join("base"), tree.path().join("github.com/org/base")).unwrap();
    let run = run_in(tree.path(), &["kustomize", "build", "github.com/org/repo"]);
    assert_eq!(run.code, Some(1));
    assert!(run.complaints.contains("for the local directory, write `./github.com/org/repo`"), "{}", run.complaints);
    assert_eq!(run_in(tree.path(), &["kustomize", "build", "./github.com/org/repo"]).output, BUILT);
}

#[test]
fn two_resources_that_would_be_one_file_are_refused_before_anything_is_written() {
    let tree = tree();
    let map = |kind: &str| format!("apiVersion: v1\nkind: {kind}\nmetadata: {{name: x}}\n");
    fs::write(tree.path().join("base/web.yaml"), format!("{}---\n{}", map("Thing"), map("THING"))).unwrap();
    fs::write(tree.path().join("base/kustomization.yaml"), "resources: [web.yaml]\n").unwrap();
    let each = tree.path().join("each");
    fs::create_dir(&each).unwrap();
    let run = run_in(tree.path(), &["kustomize", "build", "base", "-o", "each"]);
    assert_eq!(run.code, Some(4));
    assert!(
        run.complaints.contains("would both be `v1_thing_x.yaml`: write all resources to one file"),
        "{}",
        run.complaints
    );
    assert_eq!(fs::read_dir(&each).unwrap().count(), 0);
}

#[test]
fn what_is_wrong_is_told_by_file_and_line() {
    let tree = tree();
    fs::write(tree.path().join("base/kustomization.yaml"), "resources: [web.yaml]\nnamePrefx: a\n").unwrap();
    let run = run_in(tree.path(), &["kustomize", "build", "prod"]);
    assert_eq!((run.code, run.output.as_str()), (Some(4), ""));
    assert!(run.complaints.contains("base/kustomization.yaml:2: "), "{}", run.complaints);
    assert!(run.complaints.contains("namePrefx"), "{}", run.complaints);
    let gone = run_in(tree.path(), &["kustomize", "build", "nowhere"]);
    assert_eq!(gone.code, Some(1));
}

#[test]
fn what_is_too_much_is_told_by_file_and_line_too() {
    let tree = tree();
    let twice = "resources: [../base]\npatches:\n- path: more.yaml\nreplacements:\n- sourceValue: x\n";
    fs::write(tree.path().join("prod/kustomization.yaml"), twice).unwrap();
    let run = run_in(tree.path(), &["kustomize", "build", "prod"]);
    assert_eq!(run.code, Some(4));
    assert!(
        run.complaints.contains("prod/kustomization.yaml:5: replacements must specify a source"),
        "{}",
        run.complaints
    );
    fs::write(tree.path().join("prod/kustomization.yaml"), "resources:\n- ../base\n- ../base\n").unwrap();
    let run = run_in(tree.path(), &["kustomize", "build", "prod"]);
    assert!(run.complaints.contains("base/web.yaml:1: "), "{}", run.complaints);
    assert!(run.complaints.contains("(the other is in base/web.yaml:1): keep one of them"), "{}", run.complaints);
    let run = run_in(&tree.path().join("base"), &["kustomize", "build", "../prod"]);
    assert!(run.complaints.contains("(the other is in web.yaml:1): keep one of them"), "{}", run.complaints);
    let (folder, elsewhere) = (tree.path().canonicalize().unwrap(), tempfile::tempdir().unwrap());
    let run = run_in(elsewhere.path(), &["kustomize", "build", folder.join("prod").to_str().unwrap()]);
    let full = format!("(the other is in {}/base/web.yaml:1): keep one of them", folder.display());
    assert!(run.complaints.contains(&full), "{}", run.complaints);
    let long = format!("resources: [../base]\nnamePrefix: {}\n", "x".repeat(4 << 20));
    fs::write(tree.path().join("prod/kustomization.yaml"), &long).unwrap();
    let many: String =
        (0..200).map(|at| format!("---\napiVersion: v1\nkind: Secret\nmetadata: {{name: s{at}}}\n")).collect();
    fs::write(tree.path().join("base/web.yaml"), many).unwrap();
    let run = run_in(tree.path(), &["kustomize", "build", "prod"]);
    assert_eq!((run.code, run.output.as_str()), (Some(4), ""));
    assert!(run.complaints.contains("prod/kustomization.yaml:2: "), "{}", &run.complaints[..200]);
    assert!(
        run.complaints.contains("limit: the resources grow to more than 536870912 bytes"),
        "it ends with what to do"
    );
}

#[test]
fn a_file_without_an_end_is_refused() {
    let tree = tree();
    fs::remove_file(tree.path().join("prod/more.yaml")).unwrap();
    symlink("/dev/zero", tree.path().join("prod/more.yaml")).unwrap();
    let run = run_in(tree.path(), &["kustomize", "build", "prod", "--load-restrictor", "LoadRestrictionsNone"]);
    assert_eq!((run.code, run.output.as_str()), (Some(4), ""));
    assert!(run.complaints.contains("limit: cannot read `prod/more.yaml`"), "{}", run.complaints);
}

#[test]
fn case_51_a_file_behind_a_link_out_of_the_folder_is_read_only_if_the_restriction_is_lifted() {
    let tree = tree();
    let file = tree.path().join("prod/more.yaml");
    fs::rename(&file, tree.path().join("elsewhere.yaml")).unwrap();
    symlink("../elsewhere.yaml", &file).unwrap();
    let refused = run_in(tree.path(), &["kustomize", "build", "prod"]);
    assert_eq!((refused.code, refused.output.as_str()), (Some(4), ""));
    assert!(
        refused.complaints.contains("security; file 'prod/more.yaml' is not in or below"),
        "{}",
        refused.complaints
    );
    let lifted = run_in(tree.path(), &["kustomize", "build", "prod", "--load-restrictor", "LoadRestrictionsNone"]);
    assert_eq!((lifted.code, lifted.output.as_str()), (Some(0), BUILT));
}

#[test]
fn a_folder_behind_a_link_is_read_where_it_is() {
    let tree = tree();
    fs::create_dir(tree.path().join("elsewhere")).unwrap();
    symlink("../prod", tree.path().join("elsewhere/link")).unwrap();
    assert_eq!(run_in(tree.path(), &["kustomize", "build", "elsewhere/link"]).output, BUILT);
}

#[test]
fn explain_tells_who_set_a_field() {
    let tree = tree();
    let told = |arguments: &[&str]| {
        let run = run_in(tree.path(), &[&["explain"], arguments, &["-k", "prod"]].concat());
        assert_eq!((run.code, run.complaints.as_str()), (Some(0), ""));
        run.output
    };
    let replicas = told(&["Deployment/web", "spec.replicas"]);
    assert!(replicas.lines().any(|line| line.split_whitespace().eq([
        "spec.replicas",
        "3",
        "prod/more.yaml:6",
        "patches"
    ])));
    let all = told(&["deployment/prod-web"]);
    for row in [
        ["kind", "Deployment", "base/web.yaml:2", "-"],
        ["metadata.name", "prod-web", "prod/kustomization.yaml:3", "namePrefix"],
        ["metadata.namespace", "shop", "prod/kustomization.yaml:4", "namespace"],
    ] {
        assert!(all.lines().any(|line| line.split_whitespace().eq(row)), "{row:?}:\n{all}");
    }
    let generated = told(&["ConfigMap/settings", "data", "--output", "json"]);
    assert!(generated.contains("\"by\": \"configMapGenerator\""), "{generated}");
    let secret = told(&["Secret/key"]);
    assert!(secret.contains("(secret)") && !secret.contains("hush"), "{secret}");
}

#[test]
fn explain_says_what_there_is_instead_of_what_is_not() {
    let tree = tree();
    for (arguments, told) in [
        (["Deployment/shop", ""], "there is no Deployment/shop; there are ConfigMap/prod-settings-"),
        (["Deployment/web", "spec.replica"], "there is no `spec.replica`; there are `replicas`"),
    ] {
        let run = run_in(tree.path(), &[&["explain"], &arguments[..], &["-k", "prod"]].concat());
        assert_eq!((run.code, run.output.as_str()), (Some(4), ""));
        assert!(run.complaints.contains(told), "{}", run.complaints);
    }
    assert_eq!(run_in(tree.path(), &["explain", "web"]).code, Some(1));
}

#[test]
fn explain_shows_no_control_characters_of_names_that_others_gave() {
    let tree = tempfile::tempdir().unwrap();
    let map = "apiVersion: v1\nkind: ConfigMap\nmetadata: { name: a }\ndata: { \"red\\e[31m\": x }\n";
    fs::write(tree.path().join("map.yaml"), map).unwrap();
    fs::write(tree.path().join("kustomization.yaml"), "resources: [map.yaml]\n").unwrap();
    let run = run_in(tree.path(), &["explain", "ConfigMap/a", "data.blue"]);
    assert_eq!((run.code, run.output.as_str()), (Some(4), ""));
    assert!(run.complaints.contains("red") && !run.complaints.contains('\u{1b}'), "{:?}", run.complaints);
}

#[test]
fn explain_tells_resources_of_several_groups_apart_and_no_sensitive_value() {
    let tree = tempfile::tempdir().unwrap();
    let map =
        |api: &str| format!("{{ apiVersion: {api}, kind: ConfigMap, metadata: {{ name: a, namespace: n }} }}\n---\n");
    let file = "apiVersion: host.setpoint.dev/v1\nkind: File\nmetadata: { name: token }\nspec: { path: /sens, sensitive: true, content: hunter2 }\n";
    fs::write(tree.path().join("all.yaml"), map("v1") + &map("example.com/v1") + file).unwrap();
    fs::write(tree.path().join("kustomization.yaml"), "resources: [all.yaml]\n").unwrap();
    let run = run_in(tree.path(), &["explain", "ConfigMap/a"]);
    assert!(run.complaints.contains("write `ConfigMap.v1.example.com/a` or `ConfigMap.v1/a`"), "{}", run.complaints);
    for (resource, version) in [
        ("ConfigMap.v1/a", "v1"),
        ("configmap.example.com/a", "example.com/v1"),
        ("ConfigMap.v1.example.com/a", "example.com/v1"),
    ] {
        let told = run_in(tree.path(), &["explain", resource, "apiVersion"]).output;
        assert!(told.lines().any(|line| line.starts_with("apiVersion") && line.contains(version)), "{told}");
    }
    let told = run_in(tree.path(), &["explain", "File/token"]).output;
    assert!(told.contains("spec.content") && told.contains("(secret)") && !told.contains("hunter2"), "{told}");
}

mod envtest {
    use std::fs;

    use setpoint_testbed::kube::kustomize;

    use super::{run_in, tree};

    #[test]
    fn folders_that_both_render_alike_are_told_with_the_digest_of_the_other_program() {
        let tree = tree();
        fs::create_dir(tree.path().join(".git")).unwrap();
        let with = kustomize().display().to_string();
        let run = run_in(tree.path(), &["kustomize", "compare", "prod", "base", "--with", &with]);
        assert_eq!((run.code, run.complaints.as_str()), (Some(0), ""), "{}", run.output);
        let digest = setpoint_render_external::Pinned::as_found(&kustomize()).unwrap().digest();
        let expected = format!(
            "prod: alike\nbase: alike\n\n2 alike, 0 different, 0 rendered by neither\nrenderer      {digest}\n"
        );
        assert_eq!(run.output, expected);
    }

    #[test]
    fn what_only_one_of_them_renders_is_a_difference_and_what_neither_does_a_failure() {
        let tree = tree();
        let with = kustomize().display().to_string();
        let arguments = ["kustomize", "compare", "prod", "--with", &with, "--output", "json"];
        let run = run_in(tree.path(), &arguments);
        assert_eq!((run.code, run.output.as_str()), (Some(1), ""), "nobody said what the other program may read");
        assert!(run.complaints.contains("is not in a Git repository"), "{}", run.complaints);
        let run = run_in(tree.path(), &[&arguments[..], &["--root", "prod"]].concat());
        assert_eq!(run.code, Some(2), "{}", run.output);
        let told: serde_json::Value = serde_json::from_str(&run.output).unwrap();
        assert_eq!(told["folders"][0]["verdict"], "different");
        let line = told["folders"][0]["told"][0].as_str().unwrap();
        assert!(
            line.starts_with("the other program refuses it, and we do not: ")
                && line.contains("(it was permitted to read "),
            "{line}"
        );
        let run = run_in(tree.path(), &[&arguments[..], &["--root", "."]].concat());
        assert_eq!(run.code, Some(0), "{}", run.output);
        fs::write(tree.path().join("base/kustomization.yaml"), "resources: [missing.yaml]\n").unwrap();
        let run = run_in(tree.path(), &[&arguments[..], &["--root", "."]].concat());
        assert_eq!(run.code, Some(4), "{}", run.output);
        assert!(run.output.contains("\"refused\"") && run.output.contains("we refuse it: "), "{}", run.output);
    }

    #[test]
    fn the_restriction_is_lifted_for_both() {
        let tree = tree();
        fs::write(tree.path().join("prod/kustomization.yaml"), "resources: [../base/web.yaml]\n").unwrap();
        let with = kustomize().display().to_string();
        let arguments = ["kustomize", "compare", "prod", "--with", &with, "--root", "."];
        assert_eq!(run_in(tree.path(), &arguments).code, Some(4));
        let free = [&arguments[..], &["--load-restrictor", "LoadRestrictionsNone"]].concat();
        let run = run_in(tree.path(), &free);
        assert_eq!(run.code, Some(0), "{}", run.output);
    }
}

#[test]
fn what_cannot_be_compared_is_told() {
    let tree = tree();
    for (arguments, told) in [
        (&["kustomize", "compare", "prod", "--with", "/nowhere/kustomize"][..], "put the program there"),
        (&["kustomize", "compare", "prod", "--with", "prod/kustomization.yaml"], "linked statically"),
        (&["kustomize", "compare", "prod"], "--with"),
    ] {
        let run = run_in(tree.path(), arguments);
        assert_eq!((run.code, run.output.as_str()), (Some(1), ""), "{arguments:?}");
        assert!(run.complaints.contains(told), "{arguments:?}: {}", run.complaints);
    }
}
