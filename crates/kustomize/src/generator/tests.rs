//! Generated resources, and errors of generators.

use super::*;
use crate::files::Files;
use crate::limits::Budget;
use crate::origin::Sources;

struct NoFiles;

impl Files for NoFiles {
    fn read(&self, path: &str) -> Result<Arc<[u8]>, FileError> {
        Err(FileError::Missing { path: path.to_owned() })
    }
}

fn generate(generator: &Generator, origin: Origin) -> Result<Resource, GeneratorError> {
    generator.generate(&Folder::new(&NoFiles, "app", true), origin)
}

fn generator(literals: &[&str]) -> Generator {
    Generator {
        kind: Kind::ConfigMap,
        name: "settings".into(),
        namespace: "".into(),
        behavior: Behavior::Unspecified,
        literals: literals.iter().map(|literal| (*literal).into()).collect(),
        files: Vec::new(),
        envs: Vec::new(),
        options: Options::default(),
    }
}

fn nothing(_: &crate::identity::Gvk) -> bool {
    false
}

#[test]
fn all_that_is_generated_comes_from_the_generator() {
    let mut sources = Sources::default();
    let origin = sources.add("kustomization.yaml".into(), Some("configMapGenerator".into())).on(7);
    let made = generate(&generator(&["a=b"]), origin).unwrap();
    assert_eq!(made.node.at(&["data", "a"]).unwrap().origin, origin);
    assert_eq!(made.node.at(&["metadata", "name"]).unwrap().origin, origin);
    assert!(made.needs_hash);
}

#[test]
fn what_is_merged_keeps_where_it_came_from() {
    let mut sources = Sources::default();
    let base = sources.add("base/kustomization.yaml".into(), Some("configMapGenerator".into()));
    let overlay = sources.add("kustomization.yaml".into(), Some("configMapGenerator".into()));
    let mut existing = vec![generate(&generator(&["a=1", "b=1"]), base).unwrap()];
    let merged = Generator { behavior: Behavior::Merge, ..generator(&["b=2"]) };
    absorb(&mut existing, vec![generate(&merged, overlay).unwrap()], &nothing, &Budget::default()).unwrap();
    let from = |key| existing[0].node.at(&["data", key]).unwrap().origin;
    assert_eq!((from("a"), from("b")), (base, overlay));
}

#[test]
fn options_of_a_generator_win_over_those_of_all() {
    let options = |label: &str, is_immutable| Options {
        labels: BTreeMap::from([("a".into(), label.into()), (label.into(), "x".into())]),
        is_immutable,
        ..Options::default()
    };
    let both = options("own", false).or(&options("all", true));
    assert_eq!(both.labels.get("a").map(|label| &**label), Some("own"));
    assert_eq!(both.labels.len(), 3);
    assert!(both.is_immutable, "and what is true for all is true");
}

#[test]
fn mistakes_name_the_generator_and_what_to_do() {
    let told = |generator: Generator| generate(&generator, Origin::default()).unwrap_err().to_string();
    assert_eq!(
        told(generator(&["a=1", "a=2"])),
        "configmap settings illegally repeats the key `a`: give each value a key of its own"
    );
    assert_eq!(told(generator(&["a"])), "invalid literal source a, expected key=value: write a name, `=` and a value");
    let missing = Generator { envs: vec!["none.env".into()], ..generator(&[]) };
    assert_eq!(told(missing), "env source files of `settings`: cannot read a file");
}

#[test]
fn mistakes_in_a_secret_do_not_tell_what_may_be_a_part_of_it() {
    struct Key;
    impl Files for Key {
        fn read(&self, path: &str) -> Result<Arc<[u8]>, FileError> {
            Ok(if path.ends_with("number.env") { "123456\n" } else { "-----\nhunter2\nhunter2\n" }.as_bytes().into())
        }
    }
    let told = |literals: &[&str], env: &[&str]| {
        let envs = env.iter().map(|path| (*path).into()).collect();
        let secret = Generator { kind: Kind::Secret { r#type: "".into() }, envs, ..generator(literals) };
        secret.generate(&Folder::new(&Key, "app", true), Origin::default()).unwrap_err().to_string()
    };
    assert_eq!(
        told(&["a=1", "hunter2password"], &[]),
        "invalid literal source 2 of the secret `settings`, which is not shown, expected key=value: write a name, `=` and a value"
    );
    assert_eq!(
        told(&["a=1", "a=2"], &[]),
        "configmap settings illegally repeats the key `a`: give each value a key of its own"
    );
    let hidden = "the key of a line in `envs` (not shown)";
    assert_eq!(
        told(&[], &["pem.env"]),
        format!("configmap settings illegally repeats {hidden}: give each value a key of its own")
    );
    let key = told(&[], &["number.env"]);
    assert!(key.contains(&format!("{hidden} of `settings` is not a string")) && !key.contains("123456"), "{key}");
}

#[test]
fn a_line_that_kustomize_would_drop_in_silence_is_refused() {
    struct Long;
    impl Files for Long {
        fn read(&self, _: &str) -> Result<Arc<[u8]>, FileError> {
            Ok(format!("A=1\nB={}\nC=2\n", "x".repeat(65_534)).into_bytes().into())
        }
    }
    let generator = Generator { envs: vec!["long.env".into()], ..generator(&[]) };
    let made = generator.generate(&Folder::new(&Long, "app", true), Origin::default());
    assert!(matches!(made, Err(GeneratorError::LongLine { line: 2, .. })));
}

#[test]
fn many_generated_resources_are_absorbed_one_lookup_each() {
    let one = |at: usize, behavior| Generator { name: format!("c{at}").into(), behavior, ..generator(&["a=b"]) };
    let made = |behavior| {
        let all = (0..5_000).map(|at| generate(&one(at, behavior), Origin::default()));
        all.collect::<Result<Vec<_>, _>>().unwrap()
    };
    let mut existing = made(Behavior::Create);
    absorb(&mut existing, made(Behavior::Merge), &nothing, &Budget::default()).unwrap();
    assert_eq!(existing.len(), 5_000);
}
