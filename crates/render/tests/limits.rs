//! Tests each limit exactly at its value and one beyond it.

use setpoint_core::canonical;
use setpoint_render::Limits;
use setpoint_store::MemoryTree;

use crate::scene::{names, object, problems, render_with};

#[test]
fn case_48_one_object_too_many_is_refused_with_the_count() {
    let text: String = (0..4).map(|n| format!("{}---\n", object("A", &format!("x{n}")))).collect();
    let tree = MemoryTree::of([("app/a.yaml", text.as_str())]);
    let limits = |objects| Limits { objects, ..Limits::default() };
    assert_eq!(names(&render_with(tree.clone(), limits(4)).unwrap()).len(), 4);
    let told = problems(render_with(tree, limits(3)));
    assert_eq!(told, ["all inputs of the app: they declare 4 objects or more, the limit is 3; split the app"]);
}

#[test]
fn case_48_an_object_that_is_too_large_is_refused_at_its_place() {
    let text = format!("{}data: {}\n", object("A", "x"), "y".repeat(500));
    let tree = MemoryTree::of([("app/a.yaml", text.as_str())]);
    let told = problems(render_with(tree, Limits { object_bytes: 400, ..Limits::default() }));
    assert!(told[0].starts_with("app/a.yaml:1:1: the A has 5"), "{told:?}");
    assert!(told[0].contains("the limit for one object is 400"), "{told:?}");
}

#[test]
fn files_and_renders_have_a_largest_size() {
    let tree = MemoryTree::of([("app/a.yaml", object("A", "x").as_str())]);
    let size = object("A", "x").len();
    assert!(render_with(tree.clone(), Limits { file_bytes: size, ..Limits::default() }).is_ok());
    let told = problems(render_with(tree.clone(), Limits { file_bytes: size - 1, ..Limits::default() }));
    assert!(
        told[0].starts_with(&format!("app/a.yaml: the file has {size} bytes, the limit is {}", size - 1)),
        "{told:?}"
    );
    let rendered = render_with(tree.clone(), Limits::default()).unwrap();
    let bytes = canonical::to_bytes(&rendered.resources[0].body).len();
    assert!(render_with(tree.clone(), Limits { rendered_bytes: bytes, ..Limits::default() }).is_ok());
    let told = problems(render_with(tree, Limits { rendered_bytes: bytes - 1, ..Limits::default() }));
    assert!(told[0].contains(&format!("they render to {bytes} bytes or more")), "{told:?}");
}

#[test]
fn content_from_files_counts_and_is_not_taken_any_more_once_there_is_too_much() {
    let files: String = (0..100)
        .map(|n| {
            format!(
                "apiVersion: host.setpoint.dev/v1\nkind: File\nmetadata: {{ name: f{n} }}\nspec: {{ path: /f{n}, contentFrom: blob.txt }}\n---\n"
            )
        })
        .collect();
    let blob = "x".repeat(1_000);
    let plain = MemoryTree::of([("app/files.yaml", files.as_str()), ("app/blob.txt", &blob)]);
    let kustomized = MemoryTree::of([
        ("app/kustomization.yaml", "resources: [files.yaml]\n"),
        ("app/files.yaml", &files),
        ("app/blob.txt", &blob),
    ]);
    for tree in [plain, kustomized] {
        assert!(render_with(tree.clone(), Limits { rendered_bytes: 120_000, ..Limits::default() }).is_ok());
        let told = problems(render_with(tree, Limits { rendered_bytes: 30_000, ..Limits::default() }));
        let over = told[0].split(' ').find_map(|word| word.parse::<usize>().ok()).expect("it says how much");
        assert!((30_000..32_000).contains(&over), "{told:?}");
    }
}
