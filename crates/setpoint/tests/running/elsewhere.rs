//! Apps that an external program renders: a real kustomize, and one whose output a test chooses.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;
use std::time::Duration;

use setpoint_api::answer::AppState;
use setpoint_core::time::Span;
use setpoint_render_external::Pinned;
use tempfile::TempDir;

use super::lab::{Lab, file_document, withholds};

/// Returns the program of renderer.c, linked statically as every program in the sandbox must be. It
/// is built from this binary alone, which may run as a user to whom all other directories are
/// closed.
pub(super) fn answering() -> &'static Path {
    static BUILT: OnceLock<(TempDir, PathBuf)> = OnceLock::new();
    let (_, built) = BUILT.get_or_init(|| {
        let folder = tempfile::tempdir().expect("a folder for the program");
        let (source, built) = (folder.path().join("renderer.c"), folder.path().join("renderer"));
        fs::write(&source, include_str!("renderer.c")).expect("the folder is ours");
        let mut cc = setpoint_testbed::program("cc");
        let output = cc.args(["-static", "-O1", "-Wall", "-o"]).arg(&built).arg(&source).output().expect("a compiler");
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        (folder, built)
    });
    built
}

pub(super) fn digest(program: &Path) -> String {
    Pinned::as_found(program).expect("a program that can be pinned").digest()
}

fn external(digest: &str) -> String {
    format!("kustomize: {{ external: {{ digest: '{digest}' }} }}")
}

/// Declares an app whose directory contains a kustomization with one file, and the output of the
/// external program for it.
pub(super) fn kustomized(lab: &mut Lab, app: &str, content: &str, answer: &str) {
    lab.write(&format!("apps/{app}/kustomization.yaml"), "resources: [file.yaml]\n");
    lab.write(&format!("apps/{app}/file.yaml"), &file_document(app, content));
    lab.write(&format!("apps/{app}/answer"), answer);
}

/// A digest that no program has.
const NOBODYS: &str = "sha256:0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef";

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_the_other_program_writes_is_what_is_held_with_parameters_put_in() {
    let mut lab = Lab::new();
    let digest = digest(answering());
    lab.render_by(answering(), &digest);
    lab.app_with("hello", &format!("{}, parameters: {{ WORD: Hallo }}", external(&digest)));
    kustomized(&mut lab, "hello", "ours\n", &file_document("hello", "theirs: ${WORD}\n"));
    let first = lab.commit();
    let mut agent = lab.start().await;
    agent.until_converged("hello", &first).await;
    assert_eq!(lab.text("hello").as_deref(), Some("theirs: Hallo\n"));
    // Every file of the store may be one that the program reads.
    lab.write("elsewhere.txt", "1").commit();
    agent.hint().await;
    agent.until("it was rendered again", async |agent| (agent.renders() == 2).then_some(())).await;
    kustomized(&mut lab, "hello", "ours\n", &file_document("hello", "new\n"));
    let third = lab.commit();
    agent.until_converged("hello", &third).await;
    assert_eq!(lab.text("hello").as_deref(), Some("new\n"));
    agent.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_the_other_program_refuses_is_refused_without_its_words() {
    let mut lab = Lab::new();
    let digest = digest(answering());
    lab.render_by(answering(), &digest);
    lab.app_with("hello", &external(&digest));
    kustomized(&mut lab, "hello", "ours\n", "#mistake\nError: invalid literal source hunter2\n");
    lab.commit();
    let mut agent = lab.start().await;
    agent.hint().await;
    let detail = agent.until_app("hello", "is refused", |detail| detail.refused.is_some()).await;
    let problem = detail.refused.expect("it is").problem;
    assert!(
        problem.starts_with(
            "apps/hello: the external renderer failed with status 1; it reported: something that is not kept"
        ),
        "{problem}"
    );
    let command = format!("setpoint kustomize compare apps/hello --with {}`", answering().display());
    assert!(problem.contains(&command), "{problem}");
    for told in [problem, lab.told(&["why", "hello"]), lab.told(&["history", "hello"])] {
        assert!(!told.contains("hunter2"), "{told}");
    }
    assert_eq!(lab.text("hello"), None);
    agent.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_program_that_is_missing_another_or_unknown_is_told_to_its_apps_and_others_go_on() {
    let mut lab = Lab::new();
    let (known, late) = (digest(answering()), lab.path().join("installed-later"));
    lab.render_by(&late, &known);
    lab.render_by(Path::new("/bin/true"), NOBODYS);
    let unknown = NOBODYS.replace("01234567", "76543210");
    lab.app_with("late", &external(&known)).app_with("swapped", &external(NOBODYS));
    lab.app_with("unknown", &external(&unknown)).app("beside");
    for app in ["late", "swapped", "unknown"] {
        kustomized(&mut lab, app, "ours\n", &file_document(app, "theirs\n"));
    }
    let version = lab.file("beside", "beside", "plain\n").commit();
    let mut agent = lab.start().await;
    agent.until_converged("beside", &version).await;
    for (app, told) in [
        ("late", "installed-later cannot be read; put the program there, or correct `binary`"),
        ("swapped", "nothing was run; install the version that was pinned"),
        ("unknown", "the Bootstrap document of this agent does not list"),
    ] {
        let has_note = |note: &Option<String>| note.as_ref().is_some_and(|note| note.contains(told));
        let detail = agent.until_app(app, told, |detail| has_note(&detail.summary.note)).await;
        assert_eq!(detail.summary.state, AppState::Waiting, "{app}");
    }
    let lines = format!("renderers: [{{ binary: /usr/local/bin/kustomize, digest: \"{unknown}\" }}]");
    assert!(lab.told(&["why", "unknown"]).replace(['\n', ' '], "").contains(&lines.replace(' ', "")));
    fs::copy(answering(), &late).expect("it is ours");
    agent.until_converged("late", &version).await;
    assert_eq!(lab.text("late").as_deref(), Some("theirs\n"));
    agent.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn programs_that_hang_keep_no_other_app_waiting_and_end_with_the_agent() {
    let mut lab = Lab::new();
    let digest = digest(answering());
    lab.render_by(answering(), &digest);
    let slow = ["a-1", "a-2", "a-3", "a-4", "a-5", "a-6"];
    for app in slow {
        lab.app_with(app, &external(&digest));
        kustomized(&mut lab, app, "ours\n", "#endless\n");
    }
    let version = lab.app("zebra").file("zebra", "zebra", "striped\n").commit();
    let mut agent = lab.start().await;
    let converged = agent.until_converged("zebra", &version).await;
    assert_eq!(converged.summary.state, AppState::Converged);
    for app in slow {
        assert!(agent.detail(app).await.expect("it is known").summary.accepted.is_none(), "{app}");
    }
    agent.stop().await;
    // They would end on their own after half a minute.
    let trees = || fs::read_dir(lab.data().join("trees")).expect("it is there").count();
    let gone = async {
        while trees() > 0 {
            tokio::task::yield_now().await;
        }
    };
    tokio::time::timeout(Duration::from_secs(15), gone).await.expect("what they read is gone with them");
}

/// Changes the output of the program from now on, as a disk error might.
fn spoil_what_was_written(lab: &Lab, app: &str, answer: &str) {
    let trees: Vec<PathBuf> = fs::read_dir(lab.data().join("trees"))
        .expect("it is there")
        .map(|tree| tree.expect("it is ours").path())
        .collect();
    assert_eq!(trees.len(), 1, "the version was written: {trees:?}");
    let file = trees[0].join(format!("apps/{app}/answer"));
    fs::remove_file(&file).and_then(|()| fs::write(&file, answer)).expect("it is ours");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_delete_rests_on_the_store_and_not_on_what_was_written_for_the_program_before() {
    let mut lab = Lab::new();
    lab.settings.quarantine = Span::seconds(3);
    let digest = digest(answering());
    lab.render_by(answering(), &digest);
    lab.app_with("hello", &external(&digest));
    let (greeting, colours) = (file_document("greeting", "Hello\n"), file_document("colours", "red\n"));
    kustomized(&mut lab, "hello", "ours\n", &format!("{greeting}---\n{colours}"));
    let first = lab.commit();
    let mut agent = lab.start().await;
    agent.until_converged("hello", &first).await;
    lab.write("apps/hello/answer", &greeting);
    let second = lab.commit();
    agent.hint().await;
    agent.until_app("hello", "keeps what was removed", |detail| withholds(detail, "deletes are withheld for")).await;
    // An agent that trusted this would find the removed file declared, and keep it for ever.
    spoil_what_was_written(&lab, "hello", &format!("{greeting}---\n{colours}"));
    agent.until("the removed file is gone", async |_| lab.text("colours").is_none().then_some(())).await;
    agent.until_converged("hello", &second).await;
    agent.stop().await;
}

mod envtest {
    use setpoint_testbed::kube::kustomize;

    use super::super::lab::Lab;
    use super::{digest, external, file_document};

    #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
    async fn an_app_is_rendered_by_a_real_kustomize() {
        let mut lab = Lab::new();
        let digest = digest(&kustomize());
        lab.render_by(&kustomize(), &digest);
        lab.app_with("hello", &external(&digest));
        lab.write("apps/hello/kustomization.yaml", "resources: [../../base]\npatches:\n- path: patch.yaml\n");
        let patch = file_document("hello", "from the overlay\n");
        lab.write("apps/hello/patch.yaml", &patch);
        lab.write("base/kustomization.yaml", "resources: [file.yaml]\n");
        lab.write("base/file.yaml", &file_document("hello", "from the base\n"));
        let version = lab.commit();
        let mut agent = lab.start().await;
        agent.until_converged("hello", &version).await;
        assert_eq!(lab.text("hello").as_deref(), Some("from the overlay\n"));
        agent.stop().await;
    }
}
