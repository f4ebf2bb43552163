//! What a commit costs: one render for the app it touches, none for the others.

use super::lab::Lab;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_commit_that_touches_one_of_many_apps_renders_one() {
    let mut lab = Lab::new();
    let name = |number: u32| format!("app-{number:02}");
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

    // A commit elsewhere in the repository costs nothing at all.
    let third = lab.write("docs/README.md", "words\n").commit();
    agent.hint().await;
    agent.until("the commit was seen", async |agent| agent.has_seen(&third).await.then_some(())).await;
    agent.until("all have considered the commit", considered).await;
    assert_eq!(agent.renders(), before + 1);
    agent.stop().await;
}
