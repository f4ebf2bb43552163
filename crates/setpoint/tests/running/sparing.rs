//! The cost of a commit: one render for each app it affects, none for the others.

use super::lab::{Lab, file_document};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_commit_that_touches_one_of_many_apps_renders_one() {
    let mut lab = Lab::new();
    for number in 0..30 {
        lab.app(&name(number)).file(&name(number), &name(number), "x\n");
    }
    let first = lab.commit();
    let mut agent = lab.start().await;
    for number in 0..30 {
        agent.until_converged(&name(number), &first).await;
    }
    let before = agent.renders();
    assert_eq!(before, 30);

    let second = lab.file(&name(7), &name(7), "y\n").commit();
    agent.until_converged(&name(7), &second).await;
    let considered = async |agent: &super::lab::Agent| agent.has_considered_all().await.then_some(());
    agent.until("the others have considered the commit", considered).await;
    assert_eq!(agent.renders(), before + 1);
    assert_eq!(lab.text(&name(7)).as_deref(), Some("y\n"));

    // A commit elsewhere in the repository costs no render at all.
    let third = lab.write("docs/README.md", "words\n").commit();
    agent.hint().await;
    agent.until("the commit was seen", async |agent| agent.has_seen(&third).await.then_some(())).await;
    agent.until("all have considered the commit", considered).await;
    assert_eq!(agent.renders(), before + 1);
    agent.stop().await;
}

/// Returns an overlay with a file of its own, on a shared base.
fn overlay(number: u32) -> String {
    format!(
        "resources: [../../base]\npatches:\n- target: {{ kind: File }}\n  patch: '[{{\"op\": \"replace\", \"path\": \"/spec/path\", \"value\": \"/{}\"}}]'\n",
        name(number)
    )
}

fn name(number: u32) -> String {
    format!("app-{number:02}")
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_commit_to_an_overlay_renders_one_to_their_base_all_and_a_broken_one_keeps_nobody_back() {
    let mut lab = Lab::new();
    lab.write("base/kustomization.yaml", "resources: [file.yaml]\n");
    lab.write("base/file.yaml", &file_document("greeting", "Hello\n"));
    for number in 0..10 {
        lab.app(&name(number)).write(&format!("apps/{}/kustomization.yaml", name(number)), &overlay(number));
    }
    let first = lab.commit();
    let mut agent = lab.start().await;
    for number in 0..10 {
        agent.until_converged(&name(number), &first).await;
    }
    assert_eq!(agent.renders(), 10);
    assert_eq!(lab.text("app-03").as_deref(), Some("Hello\n"));

    let second = lab.write("apps/app-03/kustomization.yaml", &(overlay(3) + "nameSuffix: -x\n")).commit();
    agent.until_converged(&name(3), &second).await;
    let considered = async |agent: &super::lab::Agent| agent.has_considered_all().await.then_some(());
    agent.until("the others have considered the commit", considered).await;
    assert_eq!(agent.renders(), 11);

    let third = lab.write("base/file.yaml", &file_document("greeting", "Howdy\n")).commit();
    for number in 0..10 {
        agent.until_converged(&name(number), &third).await;
        assert_eq!(lab.text(&name(number)).as_deref(), Some("Howdy\n"));
    }
    assert_eq!(agent.renders(), 21);

    lab.write("apps/app-05/kustomization.yaml", "resources: [../../base]\nnamePrefx: a-\n");
    let fourth = lab.write("base/file.yaml", &file_document("greeting", "Hi\n")).commit();
    for number in (0..10).filter(|number| *number != 5) {
        agent.until_converged(&name(number), &fourth).await;
    }
    agent.until_app(&name(5), "is told of the refused version", |detail| detail.refused.is_some()).await;
    assert_eq!((lab.text("app-04").as_deref(), lab.text("app-05").as_deref()), (Some("Hi\n"), Some("Howdy\n")));
    let why = lab.told(&["why", &name(5)]);
    assert!(why.contains("apps/app-05/kustomization.yaml:2") && why.contains("namePrefx"), "{why}");
    agent.stop().await;
}
