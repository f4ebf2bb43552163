//! Selectors, and the resources they select.

use super::*;
use crate::origin::Origin;
use crate::read::read;
use crate::resource::Former;

fn resource(text: &str) -> Resource {
    Resource::new(read("test.yaml", text, Origin::default()).unwrap().remove(0))
}

fn web() -> Resource {
    let mut web = resource(
        "{apiVersion: apps/v1, kind: Deployment, metadata: {name: pre-web, namespace: shop, labels: {app: web, n: 3}}}",
    );
    web.former.push(Former { name: "web".into(), namespace: "default".into(), kind: "Deployment".into() });
    web
}

fn named(name: &str, namespace: &str) -> Selector {
    Selector { id: Id { name: name.into(), namespace: namespace.into(), ..Id::default() }, ..Selector::default() }
}

fn nothing(_: &Gvk) -> bool {
    false
}

#[test]
fn a_patch_selects_by_the_first_name_and_the_namespace_of_now_alike() {
    let is_about =
        |selector: &Selector| Selection::new(selector).unwrap().is_about(&web(), &nothing, &Budget::default()).unwrap();
    for selector in [named("web", ""), named("pre-.*", ""), named("web", "shop"), named("pre-web", "default")] {
        assert!(is_about(&selector), "{selector:?}");
    }
    for selector in [named("we", ""), named("web", "other")] {
        assert!(!is_about(&selector), "{selector:?}");
    }
}

#[test]
fn a_replacement_selects_by_names_that_were_had_at_one_time() {
    let is_about = |select: &Selector, reject: &[Selector]| {
        TargetSelection::new(select, reject)
            .unwrap()
            .is_about(&web(), &web().written_ids(), &Budget::default())
            .unwrap()
    };
    assert!(is_about(&named("web", "default"), &[]));
    assert!(!is_about(&named("web", "shop"), &[]));
    assert!(!is_about(&named("web", ""), &[named("pre-web", "")]));
    assert!(is_about(&named("web", ""), &[Selector::default()]), "a selector of nothing rejects nothing");
    let labelled = |labels: &str| Selector { labels: labels.into(), ..Selector::default() };
    assert!(!is_about(&named("web", ""), &[labelled("app=web")]));
}

#[test]
fn labels_are_asked_only_of_what_fits_otherwise() {
    let bad = Selector { labels: "a in".into(), ..named("other", "") };
    assert_eq!(
        select([(0, &web())].into_iter(), &Selection::new(&bad).unwrap(), &nothing, &Budget::default()),
        Ok(Vec::new())
    );
    let bad = Selector { labels: "a in".into(), ..named("web", "") };
    assert!(matches!(
        select([(0, &web())].into_iter(), &Selection::new(&bad).unwrap(), &nothing, &Budget::default()),
        Err(BadSelector::Labels { .. })
    ));
    let by_number = Selector { labels: "n>2,app in (web,api),!x".into(), ..Selector::default() };
    assert_eq!(
        select([(0, &web())].into_iter(), &Selection::new(&by_number).unwrap(), &nothing, &Budget::default()),
        Ok(vec![0])
    );
}
