//! Origins of patched nodes, and errors that kustomize does not report. The effects of patches are
//! recorded (`tests/recorded`).

use super::*;
use crate::limits::Limits;
use crate::node::Content;
use crate::origin::Sources;
use crate::read::read;

const RESOURCE: &str = "kind: A\nmetadata:\n  name: a\nspec:\n  list: [1, 2]\n  map: {a: b}\n";

fn patched(patch: &str) -> Result<(Node, Origin, Origin), JsonPatchError> {
    let mut sources = Sources::default();
    let budget = Budget::new(Limits { held_bytes: 1 << 22, ..Limits::default() });
    let (file, patch_file) = (sources.add("a.yaml".into(), None), sources.add("p.yaml".into(), None));
    let mut node = read("a.yaml", RESOURCE, file).unwrap().remove(0);
    JsonPatch::parse("p.yaml", patch, patch_file).unwrap().apply(&mut node, patch_file, &budget)?;
    Ok((node, file, patch_file))
}

#[test]
fn what_a_patch_leaves_alone_stays_where_it_came_from_and_so_does_what_it_moves() {
    let patch = "- {op: add, path: /spec/new, value: {x: [1]}}\n- {op: move, from: /spec/map, path: /spec/other}\n\
                 - {op: copy, from: /spec/list, path: /spec/copy}\n- {op: replace, path: /spec/list/0, value: 3}\n";
    let (node, file, patch_file) = patched(patch).unwrap();
    let Content::Seq(items) = &node.at(&["spec", "list"]).unwrap().content else { panic!("a list") };
    assert_eq!((items[0].origin, items[1].origin), (patch_file.on(4), file.on(5)));
    assert_eq!(node.at(&["spec", "new", "x"]).unwrap().origin, patch_file.on(1));
    assert_eq!(node.at(&["spec", "other", "a"]).unwrap().origin, file.on(6));
    assert_eq!(node.at(&["spec", "copy"]).unwrap().origin, file.on(5));
}

#[test]
fn a_path_without_its_first_slash_is_refused_instead_of_losing_a_name() {
    let error = patched("- {op: add, path: spec/new, value: 1}").unwrap_err();
    let JsonPatchError::Operation { number: 1, problem: Problem::NoSlash { .. }, .. } = &error else {
        panic!("{error:?}")
    };
}

#[test]
fn copies_of_copies_come_to_an_end() {
    let wide = "- {op: copy, from: /spec/list, path: /spec/list/-}\n".repeat(40);
    let error = patched(&wide).unwrap_err();
    assert!(matches!(error, JsonPatchError::Operation { problem: Problem::Limit(_), .. }), "{error:?}");
    let deeper = |at: usize| format!("- {{op: copy, from: /spec/map, path: /spec/map{}}}\n", "/m".repeat(1 << at));
    let deep: String = (0..16).map(deeper).collect();
    let error = patched(&deep).unwrap_err();
    assert!(matches!(error, JsonPatchError::Operation { problem: Problem::TooDeep(_), .. }), "{error:?}");
}

#[test]
fn a_patch_of_many_operations_is_applied_in_time() {
    let patch: String = (0..20_000).map(|at| format!("- {{op: add, path: /spec/list/-, value: {at}}}\n")).collect();
    let (node, ..) = patched(&patch).unwrap();
    let Content::Seq(items) = &node.at(&["spec", "list"]).unwrap().content else { panic!("a list") };
    assert_eq!(items.len(), 20_002);
}

#[test]
fn of_names_that_are_the_same_to_kustomize_the_last_one_counts() {
    let (node, ..) =
        patched("- {op: add, path: /elsewhere, path: /spec/new, value: {y: '1', yes: '2', 0x1: a, 1: b}}").unwrap();
    let fields: Vec<_> = node.at(&["spec", "new"]).and_then(Node::as_map).unwrap().iter().collect();
    let texts: Vec<_> = fields.iter().map(|(name, node)| (&***name, node.as_text().unwrap())).collect();
    assert_eq!(texts, [("1", "b"), ("true", "2")]);
}

#[test]
fn what_is_put_in_the_place_of_something_is_held_before_it_is_there() {
    let list = "- {op: replace, path: /spec/x, value: [0, 0, 0, 0]}\n- {op: add, path: /spec/x, value: [0, 0, 0, 0]}\n";
    let patch = JsonPatch::parse("p.yaml", &list.repeat(20), Origin::default()).unwrap();
    let apply = |held_bytes| {
        let mut node = read("a.yaml", "kind: K\nspec: {}\n", Origin::default()).unwrap().remove(0);
        patch.apply(&mut node, Origin::default(), &Budget::new(Limits { held_bytes, ..Limits::default() }))
    };
    let error = apply(10_000).unwrap_err();
    assert!(matches!(error, JsonPatchError::Operation { problem: Problem::Limit(_), .. }), "{error:?}");
    assert_eq!(apply(40_000), Ok(()));
}
