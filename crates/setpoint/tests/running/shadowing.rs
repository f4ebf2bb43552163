//! Apps whose versions another program renders too: differences are reported, and have no other
//! effect.

use std::fs;
use std::path::Path;

use setpoint_api::answer::{AppDetail, AppState, ShadowStanding};

use super::elsewhere::{answering, digest, kustomized};
use super::lab::{Agent, Lab};

fn shadow(digest: &str, versions: u32) -> String {
    format!("kustomize: {{ shadow: {{ digest: '{digest}', versions: {versions} }} }}")
}

/// Returns Setpoint's own output for an app of [`kustomized`].
fn ours(app: &str, content: &str) -> String {
    format!(
        "apiVersion: host.setpoint.dev/v1\nkind: File\nmetadata:\n  name: {app}\nspec:\n  content: |\n    {content}  path: /{app}\n"
    )
}

fn standing(detail: &AppDetail) -> &ShadowStanding {
    detail.shadow.as_ref().expect("the app has a shadow")
}

async fn until_compared(agent: &mut Agent, app: &str, versions: usize) -> AppDetail {
    let is = |detail: &AppDetail| detail.shadow.as_ref().is_some_and(|shadow| shadow.compared == versions);
    agent.until_app(app, &format!("has {versions} versions compared"), is).await
}

fn says(agent: &Agent, text: &str) -> bool {
    agent.said().iter().any(|line| line.contains(text))
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn versions_are_counted_over_restarts_until_there_are_enough() {
    let mut lab = Lab::new();
    let digest = digest(answering());
    lab.render_by(answering(), &digest);
    lab.app_with("hello", &shadow(&digest, 2));
    kustomized(&mut lab, "hello", "one\n", &ours("hello", "one\n"));
    let first = lab.commit();
    let mut agent = lab.start().await;
    agent.until_converged("hello", &first).await;
    let detail = until_compared(&mut agent, "hello", 1).await;
    assert_eq!((standing(&detail).different.len(), standing(&detail).is_over()), (0, false));
    assert!(lab.told(&["get", "hello"]).contains("no differences so far"));
    agent.stop().await;

    let mut agent = lab.start().await;
    kustomized(&mut lab, "hello", "two\n", &ours("hello", "two\n"));
    let second = lab.commit();
    agent.until_converged("hello", &second).await;
    let detail = until_compared(&mut agent, "hello", 2).await;
    assert!(standing(&detail).is_over(), "{detail:?}");
    assert!(says(&agent, "it has ended: 2 versions rendered alike: safe to leave"), "{:?}", agent.said());
    assert!(lab.told(&["why", "hello"]).contains("2 versions rendered alike: safe to leave"));
    let json: serde_json::Value = serde_json::from_str(&lab.told(&["get", "hello", "--output", "json"])).expect("JSON");
    assert_eq!((&json["shadow"]["compared"], &json["shadow"]["renderer"]), (&2.into(), &digest.as_str().into()));

    kustomized(&mut lab, "hello", "three\n", "#mistake\nit is not asked any more\n");
    let third = lab.commit();
    agent.until_converged("hello", &third).await;
    assert_eq!(standing(&agent.detail("hello").await.expect("it is there")).compared, 2);
    agent.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_app_that_says_otherwise_how_it_is_rendered_is_counted_anew() {
    let mut lab = Lab::new();
    let digest = digest(answering());
    lab.render_by(answering(), &digest);
    lab.app_with("hello", &shadow(&digest, 1));
    kustomized(&mut lab, "hello", "one\n", &ours("hello", "one\n"));
    let first = lab.commit();
    let mut agent = lab.start().await;
    agent.until_converged("hello", &first).await;
    let ended = until_compared(&mut agent, "hello", 1).await;
    assert_eq!((standing(&ended).is_over(), standing(&ended).different.len()), (true, 0));

    lab.app_with("hello", &shadow(&digest, 1).replace("shadow:", "loadRestrictor: none, shadow:"));
    kustomized(&mut lab, "hello", "two\n", &ours("hello", "something else\n"));
    lab.commit();
    agent.hint().await;
    let differs = |detail: &AppDetail| standing(detail).different.len() == 1;
    let anew = agent.until_app("hello", "has a version that differs", differs).await;
    assert_eq!(standing(&anew).compared, 1);
    assert!(says(&agent, "counting starts over: it is rendered from other inputs now"), "{:?}", agent.said());
    agent.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_the_other_program_does_otherwise_is_told_while_ours_is_held() {
    let mut lab = Lab::new();
    let digest = digest(answering());
    lab.render_by(answering(), &digest);
    lab.app_with("hello", &shadow(&digest, 10)).app("beside").file("beside", "beside", "plain\n");
    kustomized(&mut lab, "hello", "ours\n", &ours("hello", "secret of theirs\n"));
    let first = lab.commit();
    let mut agent = lab.start().await;
    agent.until_converged("hello", &first).await;
    agent.until_converged("beside", &first).await;
    let detail = until_compared(&mut agent, "hello", 1).await;
    assert_eq!(lab.text("hello").as_deref(), Some("ours\n"));
    let differences = |detail: &AppDetail| standing(detail).different.last().expect("it differs").differences.clone();
    let told = "apps/hello: host.setpoint.dev/v1 File hello: spec.content";
    assert_eq!(differences(&detail), [told]);
    assert!(says(&agent, told) && !says(&agent, "secret"), "{:?}", agent.said());

    kustomized(&mut lab, "hello", "more\n", "#mistake\nError: no\n");
    let second = lab.commit();
    agent.until_converged("hello", &second).await;
    let detail = until_compared(&mut agent, "hello", 2).await;
    assert!(differences(&detail)[0].contains("the other program refuses it, and we do not: "), "{detail:?}");

    kustomized(&mut lab, "hello", "more\n", &ours("hello", "more\n"));
    lab.write("apps/hello/kustomization.yaml", "resources: [missing.yaml]\n").commit();
    agent.hint().await;
    let detail = until_compared(&mut agent, "hello", 3).await;
    assert!(differences(&detail)[0].contains("we refuse it, and the other program does not: "), "{detail:?}");
    assert_eq!(lab.text("hello").as_deref(), Some("more\n"));
    assert!(agent.detail("hello").await.expect("it is there").refused.is_some());
    assert!(lab.told(&["why", "hello"]).contains("3 of 3 rendered differently; Setpoint uses its own output"));
    agent.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn versions_that_both_refuse_are_told_apart_and_make_nothing_safe_to_leave() {
    let mut lab = Lab::new();
    let digest = digest(answering());
    lab.render_by(answering(), &digest);
    lab.app_with("hello", &shadow(&digest, 1));
    kustomized(&mut lab, "hello", "one\n", "#mistake\nError: no\n");
    lab.write("apps/hello/kustomization.yaml", "resources: [missing.yaml]\n").commit();
    let mut agent = lab.start().await;
    agent.hint().await;
    let refused = |detail: &AppDetail| standing(detail).refused_by_both == 1;
    let detail = agent.until_app("hello", "has a version that both refuse", refused).await;
    assert_eq!((standing(&detail).compared, standing(&detail).is_over()), (0, false));
    assert!(says(&agent, "is refused by both, and not counted (0 of 1): apps/hello: we refuse it: "));
    assert!(!says(&agent, "safe to leave"), "{:?}", agent.said());
    for command in ["get", "why"] {
        let told = lab.told(&[command, "hello"]);
        assert!(told.contains("1 by both") && told.contains("no version is compared yet"), "{told}");
    }

    kustomized(&mut lab, "hello", "two\n", &ours("hello", "two\n"));
    let second = lab.commit();
    agent.until_converged("hello", &second).await;
    let detail = until_compared(&mut agent, "hello", 1).await;
    assert_eq!((standing(&detail).refused_by_both, standing(&detail).is_over()), (1, true));
    assert!(lab.told(&["get", "hello"]).contains("safe to leave"));
    agent.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_shadow_that_cannot_be_run_is_told_and_holds_nothing_up() {
    let mut lab = Lab::new();
    let digest = digest(answering());
    lab.render_by(Path::new("/nowhere/kustomize"), &digest);
    lab.app_with("hello", &shadow(&digest, 10));
    kustomized(&mut lab, "hello", "ours\n", "");
    let first = lab.commit();
    let mut agent = lab.start().await;
    let converged = agent.until_converged("hello", &first).await;
    assert_eq!((converged.summary.state, converged.summary.note), (AppState::Converged, None));
    let troubled = |detail: &AppDetail| standing(detail).trouble.is_some();
    let detail = agent.until_app("hello", "has a shadow in trouble", troubled).await;
    let trouble = standing(&detail).trouble.clone().expect("it has");
    assert!(
        trouble.contains("could not be compared: the external renderer /nowhere/kustomize cannot be read"),
        "{trouble}"
    );
    assert_eq!(standing(&detail).compared, 0);
    let shown = lab.told(&["get", "hello"]);
    let shown = shown.split_whitespace().collect::<Vec<_>>().join(" ");
    let again = "it is tried again with the next commit";
    assert!(shown.contains(again) && says(&agent, again), "{shown}\n{:?}", agent.said());
    agent.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_version_that_a_newer_one_overtakes_is_passed_over_and_told() {
    let mut lab = Lab::new();
    let digest = digest(answering());
    lab.render_by(answering(), &digest);
    lab.app_with("hello", &shadow(&digest, 10));
    kustomized(&mut lab, "hello", "one\n", "#endless\n");
    let first = lab.commit();
    let mut agent = lab.start().await;
    agent.until_converged("hello", &first).await;
    // The other program is still rendering the first version.
    let mut versions = Vec::new();
    for content in ["two\n", "three\n"] {
        kustomized(&mut lab, "hello", content, &ours("hello", content));
        versions.push(lab.commit());
        agent.hint().await;
        agent.until_converged("hello", versions.last().expect("it was committed")).await;
    }
    let overtaken = |detail: &AppDetail| standing(detail).passed_over == 1;
    let detail = agent.until_app("hello", "has passed one over", overtaken).await;
    assert_eq!((standing(&detail).compared, standing(&detail).different.len()), (0, 0));
    let passed = agent.said().into_iter().find(|line| line.contains("is skipped, because"));
    let passed = passed.expect("it is said");
    let places = versions
        .iter()
        .map(|version| passed.find(&version[..7]).unwrap_or_else(|| panic!("{version} is named: {passed}")));
    assert!(places.is_sorted(), "{passed}");
    assert!(lab.told(&["get", "hello"]).contains("1, because newer versions arrived"));
    agent.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_version_that_was_not_compared_when_the_agent_stopped_is_compared_by_the_next_one() {
    let mut lab = Lab::new();
    let (digest, late) = (digest(answering()), lab.path().join("installed-later"));
    lab.render_by(&late, &digest);
    lab.app_with("hello", &shadow(&digest, 10));
    kustomized(&mut lab, "hello", "one\n", &ours("hello", "one\n"));
    let first = lab.commit();
    let mut agent = lab.start().await;
    agent.until_converged("hello", &first).await;
    let troubled = |detail: &AppDetail| standing(detail).trouble.is_some();
    agent.until_app("hello", "has a shadow in trouble", troubled).await;
    agent.stop().await;

    fs::copy(answering(), &late).expect("it is ours");
    let mut agent = lab.start().await;
    let detail = until_compared(&mut agent, "hello", 1).await;
    assert_eq!((standing(&detail).different.len(), &standing(&detail).trouble), (0, &None));
    agent.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn damaged_counts_are_begun_anew_which_is_said_and_nothing_stays_of_a_shadow_that_is_gone() {
    let mut lab = Lab::new();
    let digest = digest(answering());
    lab.render_by(answering(), &digest);
    lab.app_with("hello", &shadow(&digest, 10));
    kustomized(&mut lab, "hello", "one\n", &ours("hello", "one\n"));
    let first = lab.commit();
    let mut agent = lab.start().await;
    agent.until_converged("hello", &first).await;
    until_compared(&mut agent, "hello", 1).await;
    agent.stop().await;

    let folder = lab.data().join("shadows");
    let files = || fs::read_dir(&folder).expect("it is there").map(|file| file.expect("a file").path());
    let file = files().next().expect("one for the app");
    fs::write(&file, "{").expect("it is ours");
    let mut agent = lab.start().await;
    agent.until_converged("hello", &first).await;
    until_compared(&mut agent, "hello", 1).await;
    assert!(says(&agent, "counting starts over: its file is damaged"), "{:?}", agent.said());

    // Without a shadow, its state is removed.
    let second = lab.app("hello").commit();
    agent.hint().await;
    agent.until_app("hello", "has no shadow", |detail| detail.shadow.is_none()).await;
    agent.until("its file is gone", async |_| (files().count() == 0).then_some(())).await;
    agent.until_converged("hello", &first).await;
    assert!(agent.has_seen(&second).await);
    agent.stop().await;
}

mod envtest {
    use setpoint_testbed::kube::kustomize;

    use super::super::elsewhere::{digest, kustomized};
    use super::super::lab::Lab;
    use super::{says, shadow, until_compared};

    #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
    async fn a_real_kustomize_renders_as_we_do() {
        let mut lab = Lab::new();
        let digest = digest(&kustomize());
        lab.render_by(&kustomize(), &digest);
        lab.app_with("hello", &shadow(&digest, 3));
        let mut agent = None;
        for (number, content) in ["one\n", "two\n", "three\n"].into_iter().enumerate() {
            kustomized(&mut lab, "hello", content, "");
            let version = lab.commit();
            let agent = match &mut agent {
                Some(agent) => agent,
                none => none.insert(lab.start().await),
            };
            agent.until_converged("hello", &version).await;
            until_compared(agent, "hello", number + 1).await;
        }
        let agent = agent.expect("it was started");
        assert!(says(&agent, "it has ended: 3 versions rendered alike: safe to leave"), "{:?}", agent.said());
        agent.stop().await;
    }
}
