//! `setpoint validate`: working directories are checked without an agent.

use std::fs;
use std::path::Path;

use serde_json::Value;
use tempfile::TempDir;

use crate::setpoint::{Run, run};

const TARGET: &str = "\
apiVersion: setpoint.dev/v1
kind: Target
metadata: { name: machine }
spec: { kind: host, root: /srv }
";

fn app(name: &str, store: &str) -> String {
    format!(
        "apiVersion: setpoint.dev/v1\nkind: App\nmetadata: {{ name: {name} }}\nspec:\n  component: {name}\n  \
         environment: lab\n  inputs: [{{ name: main, store: {store}, path: apps/{name} }}]\n  target: machine\n"
    )
}

fn file(path: &str) -> String {
    let name = path.replace('/', "-");
    format!(
        "apiVersion: host.setpoint.dev/v1\nkind: File\nmetadata: {{ name: x{name} }}\nspec:\n  path: {path}\n  content: hi\n"
    )
}

/// Returns a working directory with these files.
fn working_directory(files: &[(&str, &str)]) -> TempDir {
    let folder = tempfile::tempdir().expect("a folder for the test");
    for (path, text) in files {
        let path = folder.path().join(path);
        fs::create_dir_all(path.parent().expect("it is in the folder")).expect("the folder is ours");
        fs::write(path, text).expect("the folder is ours");
    }
    folder
}

fn validate(folder: &Path, more: &[&str]) -> Run {
    run(&[&["validate", folder.to_str().expect("a plain path")], more].concat())
}

#[test]
fn the_examples_are_valid() {
    let examples = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples");
    for (name, apps) in [("web-host", 1), ("kubernetes-kustomize", 4)] {
        let folder = examples.join(name);
        let checked = validate(&folder, &["--config", folder.join("bootstrap.yaml").to_str().expect("plain")]);
        assert_eq!((checked.code, checked.complaints.as_str()), (Some(0), ""), "{checked:?}");
        assert!(checked.output.contains(&format!("0 problems; {apps} app")), "{checked:?}");
    }
}

#[test]
fn mistakes_in_documents_and_apps_have_file_line_and_help() {
    let misspelt = app("hello", "bootstrap").replace("target:", "taget:");
    let folder = working_directory(&[("setpoint/machine.yaml", TARGET), ("setpoint/hello.yaml", &misspelt)]);
    let checked = validate(folder.path(), &[]);
    assert_eq!(checked.code, Some(4), "{checked:?}");
    assert!(checked.output.contains("setpoint/hello.yaml:8:3: ") && checked.output.contains("`target`"), "{checked:?}");

    let wrong = file("/etc/motd").replace("content:", "contents:");
    let (hello, valid) = (app("hello", "bootstrap"), app("valid", "bootstrap"));
    let (same, motd) = (file("/srv/twice"), file("/etc/ok"));
    let folder = working_directory(&[
        ("setpoint/machine.yaml", TARGET),
        ("setpoint/hello.yaml", &hello),
        ("setpoint/valid.yaml", &valid),
        ("apps/hello/a.yaml", &wrong),
        ("apps/hello/b.yaml", &same),
        ("apps/valid/motd.yaml", &motd),
    ]);
    let checked = validate(folder.path(), &["-o", "json"]);
    assert_eq!((checked.code, checked.complaints.as_str()), (Some(4), ""), "{checked:?}");
    let value: Value = serde_json::from_str(&checked.output).expect("it is JSON");
    let problems = value["problems"].as_array().expect("a list");
    let is_misspelt = |problem: &&Value| problem["message"].as_str().is_some_and(|text| text.contains("spec.contents"));
    let problem = problems.iter().find(is_misspelt).unwrap_or_else(|| panic!("{value:#}"));
    assert_eq!(
        (&problem["app"], &problem["file"]),
        (&"default/hello".into(), &"apps/hello/a.yaml".into()),
        "{value:#}"
    );
    assert!(problem["line"] == 6 && problem["help"] == "did you mean `content`?", "{value:#}");
    assert_eq!(value["apps"], serde_json::json!({ "default/valid": 1 }));

    // Two documents of one object are found only when keys are assigned.
    fs::write(folder.path().join("apps/hello/a.yaml"), same.replace("name: x", "name: y")).expect("the folder is ours");
    let checked = validate(folder.path(), &[]);
    assert!(checked.code == Some(4) && checked.output.contains("apps/hello/b.yaml"), "{checked:?}");
}

#[test]
fn an_app_of_another_store_is_checked_with_a_directory_of_that_store() {
    let store = "apiVersion: setpoint.dev/v1\nkind: Store\nmetadata: { name: shop }\nspec: { url: 'https://git.example/shop.git', path: deploy }\n";
    let hello = app("hello", "shop");
    let folder = working_directory(&[
        ("setpoint/machine.yaml", TARGET),
        ("setpoint/shop.yaml", store),
        ("setpoint/hello.yaml", &hello),
    ]);
    let alone = validate(folder.path(), &[]);
    assert_eq!(alone.code, Some(0), "{alone:?}");
    assert!(alone.output.contains("--store shop=DIR") && alone.output.contains("1 app not checked"), "{alone:?}");

    let motd = file("/etc/motd");
    let shop = working_directory(&[("deploy/apps/hello/motd.yaml", &motd)]);
    let named = format!("shop={}", shop.path().display());
    let both = validate(folder.path(), &["--store", &named]);
    assert!(both.code == Some(0) && both.output.contains("0 problems; 1 app with 1 resource"), "{both:?}");
}

#[test]
fn a_directory_without_documents_is_a_problem_and_a_missing_one_an_error() {
    let empty = validate(working_directory(&[("README.md", "x")]).path(), &[]);
    assert_eq!(empty.code, Some(4), "{empty:?}");
    assert!(empty.output.contains("setpoint"), "{empty:?}");
    let missing = validate(Path::new("/nowhere/at/all"), &[]);
    assert!(missing.code == Some(1) && missing.complaints.contains("is not a directory"), "{missing:?}");
}
