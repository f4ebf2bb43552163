//! Tests hostile repositories: each is refused as a whole, with the place and the fix.

use setpoint_core::observed::UnknownReason;
use setpoint_store::StoreError;
use setpoint_testbed::Item;

use crate::scene::{Scene, opened, path, poll, read, refusal};

/// Opens a version whose root has entries that no honest tool writes.
async fn open_raw(entries: &[(&str, &[u8])]) -> Result<(), StoreError> {
    let scene = Scene::new();
    scene.repository.commit_raw("main", entries);
    opened(&scene.store()).await.map(drop)
}

async fn open_files(files: &[(&str, Item<'_>)]) -> Result<(), StoreError> {
    let scene = Scene::new();
    scene.repository.commit("main", None, files);
    opened(&scene.store()).await.map(drop)
}

#[tokio::test(flavor = "multi_thread")]
async fn case_09_a_submodule_is_refused_and_not_fetched() {
    let modules = "[submodule \"x\"]\n\tpath = x\n\turl = ext::sh -c id\n";
    let commit = "0123456789012345678901234567890123456789";
    let text = refusal(open_files(&[(".gitmodules", Item::File(modules)), ("x", Item::Submodule(commit))]).await);
    assert!(text.contains("`x` is a submodule"), "{text}");
    assert!(open_files(&[(".gitmodules", Item::File(modules))]).await.is_ok(), "a file alone leads nowhere");
}

#[tokio::test(flavor = "multi_thread")]
async fn case_10_a_submodule_path_that_ends_in_a_carriage_return_is_refused() {
    let text = refusal(open_raw(&[("160000", b"sub\r")]).await);
    assert!(text.contains("sub\\r"), "{text}");
}

#[tokio::test(flavor = "multi_thread")]
async fn case_11_names_that_mean_something_else_refuse_the_whole_version() {
    let names: [&[u8]; 9] =
        [b".git", b".GIT", b"git~1", ".g\u{200c}it".as_bytes(), b"..", b".", b"a\\b", b"a/b", b"\xff\xfe"];
    for name in names {
        refusal(open_raw(&[("100644", name), ("100644", b"z")]).await);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn case_12_two_names_that_are_one_on_another_system_are_refused() {
    refusal(open_files(&[("README", Item::File("a")), ("readme", Item::File("b"))]).await);
    refusal(open_files(&[("caf\u{e9}", Item::File("a")), ("cafe\u{301}", Item::File("b"))]).await);
    refusal(open_files(&[("A/x", Item::File("a")), ("a", Item::Link(".git"))]).await);
    refusal(open_raw(&[("100644", b"same"), ("100644", b"same")]).await);
}

#[tokio::test(flavor = "multi_thread")]
async fn case_13_links_that_lead_out_are_refused() {
    for target in ["/proc/self/environ", "../outside", "a/../../state/a/x", "/"] {
        refusal(open_files(&[("a/x", Item::File("1")), ("link", Item::Link(target))]).await);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn case_14_links_in_circles_and_long_chains_are_refused() {
    refusal(open_files(&[("a", Item::Link("b")), ("b", Item::Link("a"))]).await);
    refusal(open_files(&[("a", Item::Link("a"))]).await);
    let names: Vec<String> = (0..10).map(|n| format!("l{n}")).collect();
    let chain: Vec<_> = names.windows(2).map(|pair| (pair[0].as_str(), Item::Link(&pair[1]))).collect();
    refusal(open_files(&chain).await);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_path_deeper_or_longer_than_the_limit_is_refused() {
    let deep = vec!["d"; 33].join("/");
    refusal(open_files(&[(&deep, Item::File("1"))]).await);
    let long = vec!["x".repeat(200); 6].join("/");
    refusal(open_files(&[(&long, Item::File("1"))]).await);
}

#[tokio::test(flavor = "multi_thread")]
async fn more_files_than_the_limit_are_refused() {
    let scene = Scene::new();
    scene.repository.commit("main", None, &[("a", Item::File("1")), ("b", Item::File("2")), ("c", Item::File("3"))]);
    let store = scene.store_with(|options| options.limits.version.files = 2);
    assert!(refusal(opened(&store).await).contains("3 files"));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_large_file_may_be_there_but_is_not_read() {
    let scene = Scene::new();
    let text = "x".repeat(1_001);
    scene.repository.commit("main", None, &[("large", Item::File(&text)), ("fits", Item::File(&text[1..]))]);
    let store = scene.store_with(|options| options.limits.version.file_bytes = 1_000);
    let tree = opened(&store).await.unwrap();
    assert!(refusal(tree.read(&path("large"))).contains("1001 bytes"));
    assert!(read(&*tree, "fits").is_some());
    assert!(tree.id_at(&path("large")).unwrap().is_some());
}

#[tokio::test(flavor = "multi_thread")]
async fn case_24_attributes_run_nothing_and_change_nothing() {
    let scene = Scene::new();
    let attributes =
        "* filter=evil export-subst text eol=crlf working-tree-encoding=UTF-16\n".to_owned() + &"a* b\n".repeat(10_000);
    let marker = scene.folder.path().join("ran");
    let smudge = format!("touch {}", marker.display());
    for key in ["filter.evil.smudge", "filter.evil.clean", "filter.evil.process"] {
        scene.repository.git(&["config", key, &smudge], b"");
    }
    let text = "$Format:%H$\n$Id$\n";
    scene.repository.commit("main", None, &[(".gitattributes", Item::File(&attributes)), ("a", Item::File(text))]);
    assert_eq!(read(&*opened(&scene.store()).await.unwrap(), "a").as_deref(), Some(text));
    assert!(!marker.exists());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_that_sends_more_than_the_limit_is_cut_off() {
    let scene = Scene::new();
    // The data does not compress: git would otherwise send less than the limit.
    let mut state = 1_u64;
    let noise = std::iter::repeat_with(|| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        char::from(33 + u8::try_from(state >> 58).unwrap_or(0))
    });
    let noise: String = noise.take(200_000).collect();
    scene.repository.commit("main", None, &[("a", Item::File(&noise))]);
    let store = scene.store_with(|options| options.limits.pack_bytes = 100_000);
    let reason = poll(&store).await.unwrap_err();
    assert!(matches!(&reason, UnknownReason::Malformed { detail } if detail.contains("100000 bytes")), "{reason:?}");
}
