//! Tests kustomizations that another program renders.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use setpoint_core::fields::Fields;
use setpoint_core::value::Value;
use setpoint_render::external::{Found, TreeLimits, Wanted, each_file};
use setpoint_render::{External, Input, Kustomize, Limits, NotGiven, NotRendered, Rendered, Request, Trees, render};
use setpoint_store::{Blob, EntryId, Listing, MemoryTree, StoreError, StorePath, Tree};

use crate::scene::{names, object, path, problems, store};

/// A program that returns the same for every input, and records its inputs.
#[derive(Debug)]
struct Program {
    answer: Result<&'static str, NotGiven>,
    asked: Mutex<Vec<(String, String, bool)>>,
}

impl Program {
    fn that(answer: Result<&'static str, NotGiven>) -> Self {
        Self { answer, asked: Mutex::default() }
    }
}

impl External for Program {
    fn render(&self, wanted: &Wanted<'_>) -> Result<String, NotGiven> {
        let asked = (wanted.digest.to_owned(), wanted.folder.to_string(), wanted.is_restricted);
        self.asked.lock().expect("nobody panics with it").push(asked);
        self.answer.clone().map(ToOwned::to_owned)
    }
}

const WRITTEN: &str = "apiVersion: v1\nkind: Made\nmetadata:\n  name: a-${COLOUR:=green}\nspec:\n  size: ${SIZE:=1}\n---\napiVersion: v1\nkind: Made\nmetadata:\n  name: b\n";

fn tree() -> MemoryTree {
    MemoryTree::of([
        ("app/kustomization.yaml", "nobody: reads this\n"),
        ("plain/a.yaml", &object("Plain", "a")),
        ("elsewhere.txt", "1"),
    ])
}

fn rendered(
    tree: MemoryTree,
    external: Option<&dyn External>,
    parameters: &Value,
    is_restricted: bool,
) -> Result<Rendered, NotRendered> {
    let trees: Trees = BTreeMap::from([(store("main"), Arc::new(tree) as Arc<dyn Tree>)]);
    let inputs = ["app", "plain"].map(|folder| Input { store: store("main"), path: path(folder) });
    let kustomize = Kustomize { external: Some("sha256:01".to_owned()), is_restricted, ..Kustomize::default() };
    let check = |_: &str, kind: &str, _: &Value| match kind {
        "Wrong" => vec![setpoint_documents::FieldProblem::new("kind", "there is no such kind", "remove it")],
        _ => Vec::new(),
    };
    let (trees, limits) = (&trees, Limits::default());
    render(&Request {
        inputs: &inputs,
        parameters,
        kustomize: &kustomize,
        trees,
        check: &check,
        external,
        limits,
        stop: None,
    })
}

fn none() -> Value {
    Value::Map(Fields::new())
}

#[test]
fn what_it_writes_is_what_is_declared_and_plain_inputs_are_not_asked_of_it() {
    let program = Program::that(Ok("apiVersion: v1\nkind: Made\nmetadata:\n  name: a\n"));
    let both = rendered(tree(), Some(&program), &none(), true).unwrap();
    assert_eq!(names(&both), ["Made a", "Plain a"]);
    rendered(tree(), Some(&program), &none(), false).unwrap();
    let asked = |is_restricted| ("sha256:01".to_owned(), "app".to_owned(), is_restricted);
    assert_eq!(*program.asked.lock().unwrap(), [asked(true), asked(false)]);
}

#[test]
fn parameters_are_put_into_what_it_writes() {
    let program = Program::that(Ok(WRITTEN));
    let parameters = Value::map([("COLOUR", Value::str("red")), ("SIZE", Value::int(3))]);
    let made = rendered(tree(), Some(&program), &parameters, true).unwrap();
    assert_eq!(names(&made), ["Made a-red", "Made b", "Plain a"]);
    assert_eq!(made.resources[0].body.get("spec").unwrap().get("size"), Some(&Value::int(3)));
}

#[test]
fn any_change_of_the_store_is_one_of_what_it_may_have_read() {
    let program = Program::that(Ok(""));
    let made = rendered(tree(), Some(&program), &none(), true).unwrap();
    let reads = made.reads.get(&store("main")).unwrap();
    assert!(reads.holds_on(&tree()).unwrap());
    let moved = MemoryTree::of([
        ("app/kustomization.yaml", "nobody: reads this\n"),
        ("plain/a.yaml", &object("Plain", "a")),
        ("elsewhere.txt", "2"),
    ]);
    assert!(!reads.holds_on(&moved).unwrap());
}

#[test]
fn what_it_refuses_is_refused_by_the_folder_and_what_cannot_be_run_is_no_word_on_the_version() {
    let refusing = Program::that(Err(NotGiven::Refused { what: "it said: no such file".to_owned() }));
    let told = problems(rendered(tree(), Some(&refusing), &none(), true));
    assert_eq!(told, ["app: it said: no such file; the accepted version stays in force"]);
    let absent = Program::that(Err(NotGiven::Unavailable { what: "it is not installed".to_owned() }));
    let failed = rendered(tree(), Some(&absent), &none(), true);
    assert_eq!(failed, Err(NotRendered::Unavailable { what: "it is not installed".to_owned() }));
    let nobody = rendered(tree(), None, &none(), true).unwrap_err();
    assert!(
        matches!(&nobody, NotRendered::Unavailable { what } if what.contains("this process cannot run one")),
        "{nobody:?}"
    );
}

#[test]
fn what_is_wrong_with_what_it_writes_is_told_by_the_line_of_that() {
    let wrong = Program::that(Ok(
        "apiVersion: v1\nkind: Made\nmetadata: {name: a}\n---\napiVersion: v1\nkind: Wrong\nmetadata:\n  name: b\n",
    ));
    let told = problems(rendered(tree(), Some(&wrong), &none(), true));
    assert_eq!(told, ["app (as it was rendered):6:1: `kind`: there is no such kind; remove it"]);
    for text in ["a: [", "just words", "kind: Made\n"] {
        let told = problems(rendered(tree(), Some(&Program::that(Ok(text))), &none(), true));
        assert!(told[0].starts_with("app: the output of the other program cannot be read: "), "{text}: {told:?}");
    }
}

/// Returns the path, and the content or link target, of each entry.
fn handed_over(tree: &dyn Tree, limits: TreeLimits) -> Result<Vec<(String, String)>, NotGiven> {
    let mut all = Vec::new();
    each_file(tree, limits, &mut |path, found| {
        let what = match found {
            Found::File { bytes, executable } => format!("{}{executable}", String::from_utf8_lossy(bytes)),
            Found::Link { to } => format!("-> {}", to.as_str()),
        };
        all.push((path.to_string(), what));
        Ok(())
    })?;
    all.sort();
    Ok(all)
}

#[test]
fn everything_is_handed_over_and_links_by_what_they_lead_to() {
    let tree = MemoryTree::of([("a/b/c.txt", "x"), ("d.txt", "y")])
        .with_link(&path("a/to"), "../d.txt")
        .with_link(&path("a/again"), "to")
        .with_link(&path("folder"), "a/b")
        .with_link(&path("nowhere"), "a/none");
    let all = handed_over(&tree, TreeLimits::default()).unwrap();
    let expected = [
        ("a/again", "-> d.txt"),
        ("a/b/c.txt", "xfalse"),
        ("a/to", "-> d.txt"),
        ("d.txt", "yfalse"),
        ("folder", "-> a/b"),
    ];
    assert_eq!(all, expected.map(|(path, what)| (path.to_owned(), what.to_owned())));
}

/// A tree that lists a file and a directory that it does not have.
#[derive(Debug)]
struct Promising(MemoryTree, &'static str);

impl Tree for Promising {
    fn read(&self, path: &StorePath) -> Result<Option<Blob>, StoreError> {
        if path.as_str() == self.1 { Ok(None) } else { self.0.read(path) }
    }

    fn list(&self, path: &StorePath) -> Result<Option<Listing>, StoreError> {
        if path.as_str() == self.1 { Ok(None) } else { self.0.list(path) }
    }

    fn id_at(&self, path: &StorePath) -> Result<Option<EntryId>, StoreError> {
        self.0.id_at(path)
    }

    fn real_path(&self, path: &StorePath) -> Result<Option<StorePath>, StoreError> {
        self.0.real_path(path)
    }
}

#[test]
fn what_is_listed_and_cannot_be_had_is_never_handed_over_as_empty() {
    for missing in ["a/b", "a/b/c.txt"] {
        let tree = Promising(MemoryTree::of([("a/b/c.txt", "x"), ("d.txt", "y")]), missing);
        let told = handed_over(&tree, TreeLimits::default());
        assert!(matches!(told, Err(NotGiven::Store(StoreError::Damaged { .. }))), "{missing}: {told:?}");
    }
}

#[test]
fn a_store_that_is_too_large_is_refused_with_what_to_do() {
    let tree = MemoryTree::of([("a", "12345"), ("b", "67890"), ("c", "")]);
    assert!(handed_over(&tree, TreeLimits { files: 3, bytes: 10 }).is_ok());
    for (limits, told) in [
        (TreeLimits { files: 2, bytes: 10 }, "more than 2 files"),
        (TreeLimits { files: 3, bytes: 9 }, "more than 9 bytes"),
    ] {
        let refused = handed_over(&tree, limits).unwrap_err();
        assert!(matches!(&refused, NotGiven::Refused { what } if what.contains(told)), "{refused:?}");
        assert!(refused.to_string().contains("give the Store a `path`"), "{refused}");
    }
}

#[test]
fn a_link_that_leads_out_is_told_by_its_path() {
    let tree = MemoryTree::of([("a.txt", "x")]).with_link(&path("out"), "../../etc/passwd");
    let refused = handed_over(&tree, TreeLimits::default()).unwrap_err();
    assert!(refused.to_string().contains("`out` leads out of the tree"), "{refused}");
}
