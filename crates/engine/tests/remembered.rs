//! Remembered renders: as good as new ones, with the target and the rules of today.

use setpoint_core::canonical;
use setpoint_core::resource::Resource;
use setpoint_engine::accept::{RenderedObject, recalled};
use setpoint_store::MemoryTree;

use crate::candidates::{Files, file, rendered, replacing, source};

fn remembered(resources: &[Resource]) -> Vec<RenderedObject> {
    let objects: Vec<RenderedObject> = resources.iter().map(RenderedObject::from).collect();
    canonical::from_bytes(&canonical::to_bytes(&objects)).expect("what was written is read")
}

#[test]
fn a_remembered_render_comes_to_what_rendering_gives() {
    let tree = MemoryTree::of([
        ("apps/shop/a.yaml", file("motd", "/etc/motd").as_str()),
        ("apps/shop/b.yaml", file("etc", "/etc").as_str()),
        ("apps/shop/c.yaml", "apiVersion: v1\nkind: Namespace\nmetadata: { name: web }\nspec: { share: 0.1 }\n"),
    ]);
    let (resources, _) = rendered(&tree);
    assert_eq!(recalled(remembered(&resources), &source(), &Files::default()), Some(resources));
}

#[test]
fn what_target_and_rules_make_of_a_remembered_object_is_not_remembered() {
    let tree = MemoryTree::of([("apps/shop/a.yaml", "apiVersion: v1\nkind: Namespace\nmetadata: { name: web }\n")]);
    let (resources, _) = rendered(&tree);
    let claims = Resource { protected: false, replace: true, once: true, ..resources[0].clone() };
    assert_eq!(recalled(remembered(&[claims]), &source(), &Files::default()), Some(resources));
}

#[test]
fn what_a_target_refuses_by_now_is_rendered_though_it_is_remembered() {
    let tree = MemoryTree::of([("apps/shop/a.yaml", file("a", "/a").as_str())]);
    let (resources, _) = rendered(&tree);
    let now = |kind: &str| Resource { kind: kind.into(), ..resources[0].clone() };
    let twice = [now("File"), now("File")];
    assert_eq!(recalled(remembered(&[now("Strange")]), &source(), &Files::default()), None);
    assert_eq!(recalled(remembered(&twice), &source(), &Files::default()), None);
}

#[test]
fn an_app_whose_objects_may_be_made_anew_is_rendered_though_it_is_remembered() {
    let (resources, _) = rendered(&MemoryTree::of([("apps/shop/a.yaml", file("a", "/a").as_str())]));
    let recalled_by = |source| recalled(remembered(&resources), &source, &Files::default());
    assert!(recalled_by(replacing("")).is_some());
    assert_eq!(recalled_by(replacing("{ group: apps, kind: Deployment }")), None);
}
