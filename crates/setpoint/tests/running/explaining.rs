//! Explains the fields of a resource that an app declares: the agent knows the app's stores,
//! version and parameters.

use setpoint_testbed::{GitRepository, GitServer, Item};

use super::lab::{Lab, file_document};

const OVERLAY: &str = "resources: [SERVER/base.git]\nnamePrefix: shop-\npatches:\n- path: more.yaml\n";
const PATCH: &str =
    "apiVersion: host.setpoint.dev/v1\nkind: File\nmetadata: { name: greeting }\nspec:\n  content: ${WORD}\n";

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_app_is_explained_through_its_remote_base_its_patch_and_its_parameters() {
    let mut lab = Lab::new();
    let server = GitServer::start(lab.path());
    let base = GitRepository::init(&lab.path().join("base.git"));
    let document = file_document("greeting", "Hello\n");
    let files = [("kustomization.yaml", Item::File("resources: [file.yaml]\n")), ("file.yaml", Item::File(&document))];
    base.commit("main", None, &files);
    let url = server.url("base.git");
    let store = format!("{{ url: {url}, authoritiesFile: {}, interval: 1s }}", server.authority().display());
    lab.control("base", "Store", &store);
    lab.app_with("shop", "kustomize: { bases: [base] }, parameters: { WORD: Hi }");
    lab.write("apps/shop/kustomization.yaml", &OVERLAY.replace("SERVER/base.git", &url));
    lab.write("apps/shop/more.yaml", PATCH);
    lab.app("plain").file("plain", "motd", "Welcome\n");
    let first = lab.commit();
    let mut agent = lab.start().await;
    agent.until_converged("shop", &first).await;
    agent.until_converged("plain", &first).await;

    let told = lab.told(&["explain", "--app", "shop", "File/greeting"]);
    for row in [
        ["kind", "File", "base:file.yaml:2", "-"],
        ["metadata.name", "shop-greeting", "bootstrap:apps/shop/kustomization.yaml:2", "namePrefix"],
        ["spec.content", "Hi", "-", "parameters"],
    ] {
        assert!(told.lines().any(|line| line.split_whitespace().eq(row)), "{row:?}:\n{told}");
    }
    assert!(told.contains(&first[..12]), "{told}");
    let plain = lab.told(&["explain", "--app", "plain", "file/motd", "spec.content"]);
    assert!(plain.contains("apps/plain/motd.yaml:"), "{plain}");

    let second = lab.write("apps/shop/more.yaml", &PATCH.replace("${WORD}", "Howdy")).commit();
    agent.until_converged("shop", &second).await;
    let rows = |rev: &str| lab.told(&["explain", "--app", "shop", "File/greeting", "spec.content", "--rev", rev]);
    assert!(rows(&second[..12]).contains("bootstrap:apps/shop/more.yaml:5"), "{}", rows(&second));
    assert!(rows(&first).contains("parameters"), "a version that was left is asked for");
    // The base's store has no such version: the accepted one is used.
    assert_eq!(lab.command(&["plan", "shop", "--rev", &first]).code, Some(2));
    agent.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_cannot_be_explained_is_told_with_what_there_is_and_what_is_sensitive_not_at_all() {
    let mut lab = Lab::new();
    lab.app("hello").file("hello", "greeting", "Hello\n");
    let first = lab.commit();
    let mut agent = lab.start().await;
    agent.until_converged("hello", &first).await;
    let token = "apiVersion: host.setpoint.dev/v1\nkind: File\nmetadata: { name: token }\nspec: { path: /token, sensitive: true, content: hunter2 }\n";
    let second = lab.write("apps/hello/token.yaml", token).commit();
    agent.until_converged("hello", &second).await;
    let told = lab.told(&["explain", "--app", "hello", "File.v1.host.setpoint.dev/token"]);
    assert!(told.contains("spec.content") && told.contains("(secret)") && !told.contains("hunter2"), "{told}");
    for (arguments, told) in [
        (["--app", "hello", "File/farewell"].as_slice(), "there is no File/farewell; there are File/greeting"),
        (&["--app", "hello", "File/greeting", "spec.contents"], "there is no `spec.contents`; there are "),
        (&["--app", "helo", "File/greeting"], "did you mean default/hello?"),
        (&["--app", "hello", "File/greeting", "--rev", "abcdef123456"], "has a version abcdef123456"),
    ] {
        let run = lab.command(&[&["explain"], arguments].concat());
        assert_eq!((run.code, run.output.as_str()), (Some(1), ""), "{arguments:?}");
        assert!(run.complaints.contains(told), "{}", run.complaints);
    }
    // A file that cannot be parsed is not reported as missing.
    let broken = lab.write("apps/hello/farewell.yaml", "kind: File\nmetadata: { name: farewell\n").commit();
    agent.until_app("hello", "is told of the refused version", |detail| detail.refused.is_some()).await;
    let run = lab.command(&["explain", "--app", "hello", "File/farewell", "--rev", &broken]);
    assert!(run.complaints.contains("apps/hello/farewell.yaml:"), "{}", run.complaints);
    agent.stop().await;
}
