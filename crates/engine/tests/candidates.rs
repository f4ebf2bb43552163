//! Revisions of an app: skipped, rendered, refused or unavailable. A skip is sound: rendering would
//! have given the same bytes.

use std::cell::Cell;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use proptest::prelude::*;
use setpoint_core::bundle::Bundle;
use setpoint_core::canonical;
use setpoint_core::key::Key;
use setpoint_core::name::{AppId, StoreName, TargetIdentity};
use setpoint_core::observed::UnknownReason;
use setpoint_core::resource::{AdditionRule, Resource, SharedField, Treat};
use setpoint_core::value::Value;
use setpoint_documents::FieldProblem;
use setpoint_engine::accept::{AppSource, Considered, Footprint, consider};
use setpoint_render::Trees;
use setpoint_store::{Blob, EntryId, Listing, MemoryTree, StoreError, StorePath, Tree};
use setpoint_target::{Kinds, Unidentifiable, after_implied};

use crate::scene::{app, documents};

/// A target with files: the key of a file is its path, and directories come before their content.
#[derive(Debug, Default)]
pub(crate) struct Files {
    /// The number of objects that were checked.
    looked_at: Cell<u32>,
}

impl Kinds for Files {
    fn check(&self, _: &str, kind: &str, _: &Value) -> Vec<FieldProblem> {
        self.looked_at.set(self.looked_at.get() + 1);
        let strange = (kind == "Strange").then(|| FieldProblem::new("kind", "there is no such kind", "remove it"));
        strange.into_iter().collect()
    }

    fn key(&self, _: &str, kind: &str, body: &Value) -> Result<Key, Unidentifiable> {
        let path = body.get("spec").and_then(|spec| spec.get("path")).and_then(Value::as_str);
        let named = || body.get("metadata").and_then(|metadata| metadata.get("name")).and_then(Value::as_str);
        match (path, kind) {
            (Some(path), _) => Ok(key("file", path)),
            (None, "File") => Err(Unidentifiable { problem: "a File has a `spec.path`".into() }),
            (None, kind) => Ok(key(kind, named().expect("rendered objects have names"))),
        }
    }

    fn after(&self, declared: &[(Key, &Value)]) -> BTreeMap<Key, BTreeSet<Key>> {
        after_implied(declared, |of| {
            of.name().rfind('/').filter(|at| *at > 0).map(|at| key("file", &of.name()[..at])).into_iter().collect()
        })
    }

    fn is_protected(&self, _: &str, kind: &str) -> bool {
        kind == "Namespace"
    }
}

fn key(class: &str, name: &str) -> Key {
    Key::new(class, "", name).expect("a key of the test")
}

fn shop() -> AppId {
    "web/shop".parse().expect("an app")
}

pub(crate) fn source() -> AppSource {
    documents(&app("shop", "")).source(&shop()).expect("the app is declared")
}

/// The same app, with some objects that may be deleted and created again.
pub(crate) fn replacing(rules: &str) -> AppSource {
    let app = app("shop", &format!("  sync: {{ replace: [{rules}] }}\n")).replace("target: here", "target: cluster");
    let target = "---\napiVersion: setpoint.dev/v1\nkind: Target\nmetadata: { name: cluster, scope: web }\nspec: { kind: kubernetes }\n";
    let ruled = documents(&(app + target)).source(&shop()).expect("the app is declared");
    AppSource { replaced: ruled.replaced, ..source() }
}

fn path(text: &str) -> StorePath {
    StorePath::new(text).expect("a path of the test")
}

fn trees(tree: impl Tree + 'static) -> Trees {
    BTreeMap::from([(StoreName::new("platform").expect("a name"), Arc::new(tree) as Arc<dyn Tree>)])
}

pub(crate) fn file(name: &str, at: &str) -> String {
    format!("apiVersion: v1\nkind: File\nmetadata: {{ name: {name} }}\nspec: {{ path: {at} }}\n")
}

fn considered(tree: &MemoryTree, last: Option<&Footprint>) -> Considered {
    consider(&source(), &trees(tree.clone()), last, &Files::default())
}

pub(crate) fn rendered(tree: &MemoryTree) -> (Vec<Resource>, Footprint) {
    match considered(tree, None) {
        Considered::Rendered { resources, footprint, .. } => (resources, footprint),
        other => panic!("expected a render, not {other:?}"),
    }
}

fn problems(tree: &MemoryTree) -> Vec<String> {
    match considered(tree, None) {
        Considered::Refused { problems } => problems.iter().map(ToString::to_string).collect(),
        other => panic!("expected a refusal, not {other:?}"),
    }
}

#[test]
fn an_app_on_a_cluster_with_another_namespace_is_another_source() {
    let recipe = |namespace: &str| {
        let cluster = format!(
            "apiVersion: setpoint.dev/v1\nkind: Target\nmetadata: {{ name: cluster, scope: web }}\nspec: {{ kind: kubernetes, namespace: {namespace} }}\n---\n"
        );
        let app = app("shop", "").replace("target: here", "target: cluster");
        documents(&(cluster + &app)).source(&shop()).expect("the app is declared").recipe()
    };
    assert_eq!(recipe("one"), recipe("one"));
    assert_ne!(recipe("one"), recipe("two"), "what names no namespace has another key there");
}

#[test]
fn resources_get_their_keys_from_the_target_and_come_after_what_they_need() {
    let tree = MemoryTree::of([
        ("apps/shop/a.yaml", file("motd", "/etc/motd").as_str()),
        ("apps/shop/b.yaml", file("etc", "/etc").as_str()),
        ("apps/shop/c.yaml", file("lone", "/srv/x").as_str()),
        ("apps/shop/d.yaml", "apiVersion: v1\nkind: Namespace\nmetadata: { name: web }\n"),
    ]);
    let (resources, _) = rendered(&tree);
    let after = |n: usize| resources[n].after.iter().map(ToString::to_string).collect::<Vec<_>>();
    assert_eq!(resources[0].key.to_string(), "file /etc/motd");
    assert_eq!((after(0), after(1), after(2)), (vec!["file /etc".to_owned()], vec![], vec![]), "only what is declared");
    assert_eq!(resources.iter().map(|resource| resource.protected).collect::<Vec<_>>(), [false, false, false, true]);
}

#[test]
fn leave_to_make_anew_reaches_the_resources_it_is_about_and_never_what_is_protected() {
    let tree = MemoryTree::of([
        ("apps/shop/a.yaml", "apiVersion: apps/v1\nkind: Deployment\nmetadata: { name: front }\n"),
        ("apps/shop/b.yaml", "apiVersion: apps/v1\nkind: Deployment\nmetadata: { name: back }\n"),
        ("apps/shop/c.yaml", "apiVersion: v1\nkind: Namespace\nmetadata: { name: web }\n"),
    ]);
    // The files of the test know only one protected kind; a rule of another group may name it.
    let rules = "{ group: apps, kind: Deployment, name: front }, { group: example.com, kind: Namespace }";
    let source = replacing(rules);
    let (before, footprint) = rendered(&tree);
    assert!(before.iter().all(|resource| !resource.replace));
    let Considered::Rendered { resources, .. } =
        consider(&source, &trees(tree.clone()), Some(&footprint), &Files::default())
    else {
        panic!("a rule that is new renders anew")
    };
    assert_eq!(resources.iter().map(|resource| resource.replace).collect::<Vec<_>>(), [true, false, false]);
}

#[test]
fn rules_about_shared_fields_reach_the_resources_they_are_about_and_change_what_is_rendered() {
    let tree = MemoryTree::of([
        ("apps/shop/a.yaml", "apiVersion: apps/v1\nkind: Deployment\nmetadata: { name: front }\n"),
        ("apps/shop/b.yaml", "apiVersion: apps/v1\nkind: Deployment\nmetadata: { name: back }\n"),
        ("apps/shop/c.yaml", "apiVersion: other/v1\nkind: Deployment\nmetadata: { name: third }\n"),
    ]);
    let sync = "ignore: [{ group: apps, kind: Deployment, paths: [spec.replicas] }], \
        coOwners: [{ writer: w, name: front, paths: [spec.x] }]";
    let app = app("shop", &format!("  sync: {{ {sync} }}\n")).replace("target: here", "target: cluster");
    let target = "---\napiVersion: setpoint.dev/v1\nkind: Target\nmetadata: { name: cluster, scope: web }\nspec: { kind: kubernetes }\n";
    let ruled = documents(&(app + target)).source(&shop()).expect("the app is declared");
    let source = AppSource { shared: ruled.shared, ..source() };
    let (before, footprint) = rendered(&tree);
    assert!(before.iter().all(|resource| resource.shared.is_empty()));
    let Considered::Rendered { resources, .. } =
        consider(&source, &trees(tree.clone()), Some(&footprint), &Files::default())
    else {
        panic!("a rule that is new renders anew")
    };
    let shared: Vec<Vec<String>> = resources
        .iter()
        .map(|resource| {
            let field = |field: &SharedField| format!("{} {:?}", field.path, field.writer);
            resource.shared.iter().map(field).collect()
        })
        .collect();
    let (replicas, lent) = ("spec.replicas None".to_owned(), r#"spec.x Some("w")"#.to_owned());
    assert_eq!(shared, [vec![replicas.clone(), lent], vec![replicas], vec![]]);
}

#[test]
fn another_program_is_another_recipe_and_one_that_nobody_runs_is_no_word_on_the_version() {
    let tree = MemoryTree::of([
        ("apps/shop/kustomization.yaml", "resources: [a.yaml]\n"),
        ("apps/shop/a.yaml", &file("front", "/front")),
    ]);
    let (_, footprint) = rendered(&tree);
    let with = |digit: &str, mode: &str| {
        let fields = format!("  kustomize: {{ {mode}: {{ digest: 'sha256:{}' }} }}\n", digit.repeat(64));
        documents(&app("shop", &fields)).source(&shop()).expect("the app is declared")
    };
    let considered = |source: &AppSource| consider(source, &trees(tree.clone()), Some(&footprint), &Files::default());
    assert_eq!(considered(&source()), Considered::Unchanged);
    assert!(matches!(considered(&with("0", "shadow")), Considered::Rendered { .. }), "it is compared at once");
    let failed = considered(&with("0", "external"));
    assert!(matches!(failed, Considered::Failed { reason: UnknownReason::NotRun { .. } }), "{failed:?}");
    let recipes: BTreeSet<_> = [with("0", "external"), with("1", "external"), with("0", "shadow"), source()]
        .map(|source| source.recipe())
        .into();
    assert_eq!(recipes.len(), 4);
}

#[test]
fn what_an_app_says_of_its_kustomizations_is_part_of_the_recipe() {
    let tree = MemoryTree::of([
        ("apps/shop/kustomization.yaml", "resources: [a.yaml]\n"),
        ("apps/shop/a.yaml", &file("front", "\"/front$${A}\"")),
    ]);
    let with = |fields: &str| documents(&app("shop", fields)).source(&shop()).expect("the app is declared");
    let declared = [
        "",
        "  parameters: { A: x }\n",
        "  parameters: { A: y }\n",
        "  parameters: { A: 1 }\n",
        "  parameters: { A: \"1\" }\n",
        "  kustomize: { undeclared: keep }\n",
        "  kustomize: { loadRestrictor: none }\n",
        "  kustomize: { bases: [platform] }\n",
    ];
    for (at, one) in declared.iter().enumerate() {
        let Considered::Rendered { footprint, .. } =
            consider(&with(one), &trees(tree.clone()), None, &Files::default())
        else {
            panic!("{one} renders")
        };
        for (other, two) in declared.iter().enumerate() {
            let considered = consider(&with(two), &trees(tree.clone()), Some(&footprint), &Files::default());
            assert_eq!(considered == Considered::Unchanged, at == other, "{one:?}, {two:?}");
        }
    }
}

#[test]
fn what_kustomizations_are_rendered_from_is_told_apart_whoever_renders_them_and_whatever_is_put_in_afterwards() {
    let recipe = |fields: &str, folder: &str| {
        let app = app("shop", fields).replace("path: apps/shop", &format!("path: {folder}"));
        documents(&app).source(&shop()).expect("the app is declared").recipe_of_kustomizations()
    };
    let plain = recipe("", "apps/shop");
    let shadow = format!("  kustomize: {{ shadow: {{ digest: 'sha256:{}' }} }}\n", "0".repeat(64));
    for same in [shadow.as_str(), "  parameters: { WORD: Hello }\n", "  kustomize: { undeclared: keep }\n"] {
        assert_eq!(recipe(same, "apps/shop"), plain, "{same}");
    }
    assert_ne!(recipe("", "apps/front"), plain);
    assert_ne!(recipe("  kustomize: { loadRestrictor: none }\n", "apps/shop"), plain);
}

#[test]
fn rules_about_additions_reach_the_resources_they_are_about_and_change_what_is_rendered() {
    let tree = MemoryTree::of([
        ("apps/shop/a.yaml", "apiVersion: apps/v1\nkind: Deployment\nmetadata: { name: front }\n"),
        ("apps/shop/b.yaml", "apiVersion: v1\nkind: Service\nmetadata: { name: front }\n"),
    ]);
    let sync = "additions: [{ paths: [metadata.labels], then: heal }, { kind: Deployment, paths: [spec.template], then: report }]";
    let app = app("shop", &format!("  sync: {{ {sync} }}\n")).replace("target: here", "target: cluster");
    let target = "---\napiVersion: setpoint.dev/v1\nkind: Target\nmetadata: { name: cluster, scope: web }\nspec: { kind: kubernetes }\n";
    let ruled = documents(&(app + target)).source(&shop()).expect("the app is declared");
    let source = AppSource { additions: ruled.additions, ..source() };
    let (before, footprint) = rendered(&tree);
    assert!(before.iter().all(|resource| resource.additions.is_empty()));
    let Considered::Rendered { resources, .. } =
        consider(&source, &trees(tree.clone()), Some(&footprint), &Files::default())
    else {
        panic!("a rule that is new renders anew")
    };
    let rule = |path: &str, then| AdditionRule { path: path.into(), then };
    let labels = rule("metadata.labels", Treat::Heal);
    let ruled: Vec<Vec<AdditionRule>> =
        resources.into_iter().map(|resource| resource.additions.into_iter().collect()).collect();
    assert_eq!(ruled, [vec![labels.clone(), rule("spec.template", Treat::Report)], vec![labels]]);
}

#[test]
fn case_42_two_documents_that_are_one_object_on_the_target_are_refused_with_both_places() {
    let tree = MemoryTree::of([
        ("apps/shop/a.yaml", file("one", "/etc/motd").as_str()),
        ("apps/shop/b.yaml", file("two", "/etc/motd").as_str()),
    ]);
    assert_eq!(
        problems(&tree),
        [
            "apps/shop/b.yaml:3:19: file /etc/motd is declared twice (first here: apps/shop/a.yaml:3:19); keep one of them"
        ]
    );
}

#[test]
fn what_the_target_finds_wrong_is_told_with_file_line_and_field() {
    let tree = MemoryTree::of([("apps/shop/a.yaml", "apiVersion: v1\nkind: Strange\nmetadata: { name: a }\n")]);
    assert_eq!(problems(&tree), ["apps/shop/a.yaml:2:7: `kind`: there is no such kind; remove it"]);
    let tree = MemoryTree::of([("apps/shop/a.yaml", "apiVersion: v1\nkind: File\nmetadata: { name: a }\n")]);
    assert_eq!(problems(&tree), ["apps/shop/a.yaml:3:19: a File has a `spec.path`"]);
}

#[test]
fn a_commit_elsewhere_is_skipped_without_a_look_at_any_object() {
    let tree = MemoryTree::of([("apps/shop/a.yaml", file("a", "/a").as_str())]);
    let (_, footprint) = rendered(&tree);
    let elsewhere = tree.with_file(&path("apps/other/a.yaml"), b"x").with_file(&path("README.md"), b"x");
    let files = Files::default();
    assert_eq!(consider(&source(), &trees(elsewhere), Some(&footprint), &files), Considered::Unchanged);
    assert_eq!(files.looked_at.get(), 0);
}

#[test]
fn a_link_that_leads_nowhere_good_is_refused_with_its_place_and_not_asked_for_again() {
    let tree = MemoryTree::of([
        ("apps/shop/kustomization.yaml", "resources: [a.yaml]\n"),
        ("apps/shop/a.yaml", file("a", "/a").as_str()),
    ]);
    let (_, footprint) = rendered(&tree);
    for leads in ["a.yaml", "../../../etc/passwd"] {
        let linked = tree.with_link(&path("apps/shop/a.yaml"), leads);
        let Considered::Refused { problems } = considered(&linked, Some(&footprint)) else {
            panic!("{leads}: a refusal")
        };
        assert!(problems[0].to_string().starts_with("apps/shop/kustomization.yaml:1:"), "{leads}: {problems:?}");
    }
}

#[test]
fn a_new_file_in_the_folder_is_seen() {
    let tree = MemoryTree::of([("apps/shop/a.yaml", file("a", "/a").as_str())]);
    let (_, footprint) = rendered(&tree);
    let more = tree.with_file(&path("apps/shop/b.yaml"), file("b", "/b").as_bytes());
    let Considered::Rendered { resources, .. } = considered(&more, Some(&footprint)) else { panic!("a render") };
    assert_eq!(resources.len(), 2);
}

#[test]
fn another_source_is_rendered_though_the_store_did_not_move() {
    let tree = MemoryTree::of([("apps/shop/a.yaml", file("a", "/a").as_str()), ("apps/new/b.yaml", "")]);
    let (_, footprint) = rendered(&tree);
    let mut moved = source();
    moved.inputs[0].path = path("apps/new");
    let considered = consider(&moved, &trees(tree), Some(&footprint), &Files::default());
    assert!(matches!(considered, Considered::Rendered { resources, .. } if resources.is_empty()));
}

#[test]
fn a_footprint_that_was_stored_skips_as_before() {
    let tree = MemoryTree::of([("apps/shop/a.yaml", file("a", "/a").as_str())]);
    let (_, footprint) = rendered(&tree);
    let stored: Footprint = canonical::from_bytes(&canonical::to_bytes(&footprint)).unwrap();
    assert_eq!(considered(&tree, Some(&stored)), Considered::Unchanged);
}

/// A store that never responds.
#[derive(Debug)]
struct Silent;

impl Tree for Silent {
    fn read(&self, _: &StorePath) -> Result<Option<Blob>, StoreError> {
        Err(StoreError::denied("401"))
    }

    fn list(&self, _: &StorePath) -> Result<Option<Listing>, StoreError> {
        Err(StoreError::denied("401"))
    }

    fn id_at(&self, _: &StorePath) -> Result<Option<EntryId>, StoreError> {
        Err(StoreError::denied("401"))
    }

    fn real_path(&self, _: &StorePath) -> Result<Option<StorePath>, StoreError> {
        Err(StoreError::denied("401"))
    }
}

#[test]
fn a_store_that_cannot_be_read_is_a_failure_with_and_without_a_footprint() {
    let (_, footprint) = rendered(&MemoryTree::of([("apps/shop/a.yaml", "")]));
    let failed = Considered::Failed { reason: UnknownReason::Denied { detail: "401".into() } };
    for last in [None, Some(&footprint)] {
        assert_eq!(consider(&source(), &trees(Silent), last, &Files::default()), failed);
    }
}

#[test]
fn an_app_says_where_it_comes_from_in_its_own_document_only() {
    let documents = documents(&app("shop", ""));
    assert_eq!(documents.source(&"web/other".parse().unwrap()), None);
    assert_eq!(source().inputs[0].path.as_str(), "apps/shop");
}

/// A change of one path of the repository.
#[derive(Clone, Debug)]
enum Edit {
    File(String),
    Link(&'static str),
    Gone,
}

/// A history of commits, each of which changes some paths.
type History = Vec<Vec<(String, Edit)>>;

/// Changes of a repository of plain files, inside of the app's directory and outside.
fn plain_edits() -> impl Strategy<Value = Vec<(String, Edit)>> {
    let folder = prop::sample::select(vec!["apps/shop", "apps/shop/sub", "apps/other", "docs"]);
    let name = prop::sample::select(vec!["a.yaml", "b.yml", "notes.md", "data"]);
    let content = prop_oneof![
        1 => Just(Edit::Gone),
        4 => (0..4u8).prop_map(|n| Edit::File(file(&format!("n{n}"), &format!("/p{n}")))),
        1 => Just(Edit::File("kind: broken".to_owned())),
        2 => "[a-c]{0,2}".prop_map(Edit::File),
        2 => Just(Edit::File("apiVersion: host.setpoint.dev/v1\nkind: File\nmetadata: { name: c }\nspec: { path: /c, contentFrom: data }\n".to_owned())),
    ];
    prop::collection::vec(((folder, name).prop_map(|(folder, name)| format!("{folder}/{name}")), content), 1..4)
}

/// The content of a store whose app is an overlay.
const OVERLAY: [(&str, &str); 9] = [
    ("apps/shop/kustomization.yaml", KUSTOMIZATIONS[0]),
    ("apps/shop/own.yaml", "apiVersion: v1\nkind: File\nmetadata: { name: own }\nspec: { path: /own }\n"),
    ("apps/shop/patch.yaml", "apiVersion: v1\nkind: File\nmetadata: { name: own }\nspec: { mode: x }\n"),
    ("apps/shop/data", "a=b"),
    ("base/kustomization.yaml", "resources: [a.yaml]\n"),
    ("base/a.yaml", "apiVersion: v1\nkind: File\nmetadata: { name: a }\nspec: { path: /a }\n"),
    ("base/other.yaml", "apiVersion: v1\nkind: File\nmetadata: { name: other }\nspec: { path: /other }\n"),
    ("outside.yaml", "apiVersion: v1\nkind: File\nmetadata: { name: other }\nspec: { path: /other }\n"),
    ("parts/kustomization.yaml", "kind: Component\nnamePrefix: part-\n"),
];

const KUSTOMIZATIONS: [&str; 6] = [
    "resources: [../../base, own.yaml]\npatches: [{ path: patch.yaml }]\nconfigMapGenerator: [{ name: m, files: [data] }]\n",
    "resources: [../../base]\nconfigMapGenerator: [{ name: m, envs: [data] }]\nnamePrefix: p-\n",
    "resources: [own.yaml]\ncomponents: [../../parts]\n",
    "resources: [own.yaml, ../../base/other.yaml]\n",
    "resources: [../../base]\nlabels: [{ pairs: { a: b } }]\n",
    "resources: [nowhere.yaml]\n",
];

/// Changes of that store: files that are read, paths that were searched, links in their places, and
/// files without a reference.
fn overlay_edits() -> impl Strategy<Value = Vec<(String, Edit)>> {
    let kustomization = prop::sample::select(&KUSTOMIZATIONS[..]).prop_map(|text| Edit::File(text.to_owned()));
    let base = prop::sample::select(vec!["resources: [a.yaml]\n", "resources: [a.yaml, other.yaml]\n", "{}"]);
    let object = (0..3u8).prop_map(|n| Edit::File(file(&format!("n{n}"), &format!("/p{n}"))));
    let link = prop::sample::select(vec!["../outside.yaml", "../base/other.yaml", "other.yaml", "a.yaml", "../../x"]);
    let at = |path: &'static str, edit: BoxedStrategy<Edit>| edit.prop_map(move |edit| (path.to_owned(), edit));
    let any_object = prop_oneof![4 => object, 1 => Just(Edit::Gone), 3 => link.prop_map(Edit::Link)].boxed();
    let text = "[a-c]=[a-c]{0,2}".prop_map(Edit::File).boxed();
    let unread = prop::sample::select(vec!["base/notes.md", "docs/a.yaml", "apps/shop/more.yaml", "apps/other/a.yaml"]);
    let second = prop_oneof![Just(Edit::Gone), Just(Edit::File("{}".to_owned()))].boxed();
    let edit = prop_oneof![
        3 => at("apps/shop/kustomization.yaml", kustomization.boxed()),
        1 => at("apps/shop/kustomization.yml", second),
        2 => at("base/kustomization.yaml", base.prop_map(|text| Edit::File(text.to_owned())).boxed()),
        2 => at("apps/shop/own.yaml", any_object.clone()),
        2 => at("base/a.yaml", any_object.clone()),
        1 => at("base/other.yaml", any_object.clone()),
        1 => at("outside.yaml", any_object),
        2 => at("apps/shop/data", text.clone()),
        4 => (unread, text).prop_map(|(path, edit)| (path.to_owned(), edit)),
    ];
    prop::collection::vec(edit, 1..4)
}

fn edited(tree: &MemoryTree, edits: &[(String, Edit)]) -> MemoryTree {
    edits.iter().fold(tree.clone(), |tree, (at, edit)| match edit {
        Edit::File(content) => tree.with_file(&path(at), content.as_bytes()),
        Edit::Link(target) => tree.with_link(&path(at), target),
        Edit::Gone => tree.without(&path(at)),
    })
}

/// Returns the bytes of a bundle with these resources.
fn bytes(resources: Vec<Resource>) -> Vec<u8> {
    Bundle::new(shop(), TargetIdentity::new("host-1").expect("an identity"), resources).expect("a bundle").to_bytes()
}

/// Considers a history of edits as production does, with a full render next to every skip. Returns
/// the number of skips.
fn follow(first: &[(&str, &str)], history: &History) -> Result<u32, TestCaseError> {
    let mut tree = MemoryTree::of(first.iter().copied());
    let (resources, mut last) = rendered(&tree);
    let mut accepted = bytes(resources);
    let mut skips = 0;
    for edits in history {
        tree = edited(&tree, edits);
        match considered(&tree, Some(&last)) {
            Considered::Unchanged => {
                skips += 1;
                let Considered::Rendered { resources, .. } = considered(&tree, None) else {
                    return Err(TestCaseError::fail("a skipped revision does not even render"));
                };
                prop_assert_eq!(bytes(resources), accepted.clone());
            }
            Considered::Rendered { resources, footprint, .. } => (accepted, last) = (bytes(resources), footprint),
            Considered::Refused { .. } => {}
            Considered::Failed { reason } => return Err(TestCaseError::fail(reason.to_string())),
        }
    }
    Ok(skips)
}

/// The first content of a store of plain files.
const PLAIN: [(&str, &str); 1] =
    [("apps/shop/first.yaml", "apiVersion: v1\nkind: File\nmetadata: { name: first }\nspec: { path: /first }\n")];

proptest! {
    #[test]
    fn what_is_skipped_would_have_rendered_to_the_same_bytes(history in prop::collection::vec(plain_edits(), 1..8)) {
        follow(&PLAIN, &history)?;
    }

    #[test]
    fn so_it_is_with_what_kustomizations_read(history in prop::collection::vec(overlay_edits(), 1..8)) {
        follow(&OVERLAY, &history)?;
    }
}

#[test]
fn skips_and_renders_really_happen_in_random_histories() {
    fn skips(first: &[(&str, &str)], edits: impl Strategy<Value = Vec<(String, Edit)>>) -> u32 {
        use proptest::strategy::ValueTree;
        let mut runner = proptest::test_runner::TestRunner::deterministic();
        let histories = prop::collection::vec(edits, 8);
        let histories = (0..50).map(|_| histories.new_tree(&mut runner).unwrap().current());
        histories.map(|history| follow(first, &history).unwrap()).sum()
    }
    for skips in [skips(&PLAIN, plain_edits()), skips(&OVERLAY, overlay_edits())] {
        assert!((20..380).contains(&skips), "{skips} of 400 were skipped");
    }
}
