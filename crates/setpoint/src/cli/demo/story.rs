//! The sequence of events on the stage. The demo waits for each effect that it claims, and observes
//! it.

use std::fs;
use std::io::Write;
use std::path::PathBuf;

use setpoint_api::answer::{AppDetail, AppState};
use setpoint_api::question::{OrderKind, OrderRequest};
use setpoint_core::hold::HoldReason;
use setpoint_core::name::AppId;
use setpoint_core::value::Path;
use setpoint_ledger_verify::{Key, verify};
use setpoint_store::StorePath;
use setpoint_store_git::{Change, Parent};

use super::super::Failure;
use super::super::init::write;
use super::super::run::{could_not, told_to_stop};
use super::stage::Stage;
use super::teller::Teller;
use crate::agent::bootstrap::Bootstrap;
use crate::doors;

/// The number of files of the app that is being created when the agent is killed.
const FLEET: usize = 400;

fn app(name: &str) -> AppId {
    format!("default/{name}").parse().expect("a plain name")
}

pub(super) async fn tell<W: Write>(stage: &mut Stage, teller: &mut Teller<'_, W>, keep: bool) -> Result<(), Failure> {
    converge(stage, teller).await?;
    drift(stage, teller).await?;
    change(stage, teller).await?;
    refuse(stage, teller).await?;
    rewrite(stage, teller).await?;
    empty(stage, teller).await?;
    kill(stage, teller).await?;
    if keep {
        return stay(stage, teller).await;
    }
    prove(stage, teller).await
}

async fn converge<W: Write>(stage: &mut Stage, teller: &mut Teller<'_, W>) -> Result<(), Failure> {
    teller.chapter("A repository declares a directory and two files. An agent starts.")?;
    let before = stage.clock.now();
    stage.start_agent().map_err(could_not)?;
    teller.wait("the agent reads the repository, accepts the first commit and creates the declared objects")?;
    let detail = stage.until_converged(&app("hello"), 3).await.map_err(could_not)?;
    let after = stage.clock.now().since(before);
    teller.seen(&format!("converged {after} after its start: {}", declared(&detail)))?;
    Ok(())
}

fn declared(detail: &AppDetail) -> String {
    detail.resources.iter().map(|line| line.key.name().to_owned()).collect::<Vec<_>>().join(", ")
}

async fn drift<W: Write>(stage: &mut Stage, teller: &mut Teller<'_, W>) -> Result<(), Failure> {
    teller.chapter("Another process interferes. The agent detects, records and heals each change.")?;
    let deeds = [
        ("edits a file", "echo \"I was here\" >> config/greeting"),
        ("deletes one", "rm config/colours"),
        ("opens one to all users", "chmod 0666 config/colours"),
    ];
    for (deed, script) in deeds {
        teller.act(&format!("A process {deed}: {script}"))?;
        teller.wait("watching")?;
        let since = stage.stranger(script).await.map_err(could_not)?;
        let drift = stage.drift_since(&app("hello"), since).await.map_err(could_not)?;
        let healed = drift.healed.unwrap_or(drift.seen);
        // A difference of the whole object has no field.
        let fields = drift.differences.iter().filter(|difference| difference.path != Path::default());
        let fields: Vec<_> = fields.map(|difference| difference.path.to_string()).collect();
        let what = if fields.is_empty() { "gone".to_owned() } else { fields.join(", ") };
        let (seen, healed) = (drift.seen.since(since), healed.since(since));
        teller.seen(&format!("{} ({what}): detected after {seen}, healed after {healed}", drift.key.name()))?;
    }
    Ok(())
}

async fn change<W: Write>(stage: &mut Stage, teller: &mut Teller<'_, W>) -> Result<(), Failure> {
    teller.chapter("A commit changes the declaration.")?;
    let colours = write("apps/hello/colours.txt", "red\ngreen\nblue\nviolet\n");
    let commit = stage.commit(&[colours], "Add violet\n", Parent::Head).map_err(could_not)?;
    teller.act(&format!("Commit {commit} adds a colour."))?;
    teller.wait("the agent polls the repository every second")?;
    let moved = |detail: &AppDetail| {
        let accepted =
            detail.summary.accepted.as_ref().is_some_and(|accepted| accepted.revision.to_string().contains(&commit));
        accepted && detail.summary.state == AppState::Converged
    };
    stage.until(&app("hello"), moved).await.map_err(could_not)?;
    let text = fs::read_to_string(stage.managed("config/colours")).unwrap_or_default();
    teller.seen(&format!(
        "accepted and applied: config/colours now ends with {:?}",
        text.lines().last().unwrap_or_default()
    ))?;
    Ok(())
}

async fn refuse<W: Write>(stage: &mut Stage, teller: &mut Teller<'_, W>) -> Result<(), Failure> {
    teller.chapter("A commit has a mistake. The agent refuses it; the accepted version stays in force.")?;
    let broken = "apiVersion: host.setpoint.dev/v1\nkind: File\nmetadata: { name: extra }\nspec:\n  path: /config/extra\n  contents: oops\n";
    let commit =
        stage.commit(&[write("apps/hello/extra.yaml", broken)], "Add a file\n", Parent::Head).map_err(could_not)?;
    teller.act(&format!("Commit {commit} writes `contents` where `content` was meant."))?;
    teller.wait("the agent checks the commit")?;
    let detail = stage.until(&app("hello"), |detail| detail.refused.is_some()).await.map_err(could_not)?;
    teller.stopped("refused:")?;
    teller.quote(&detail.refused.map(|refused| refused.problem).unwrap_or_default())?;
    let mended = broken.replace("contents: oops", "content: |\n    corrected");
    let commit =
        stage.commit(&[write("apps/hello/extra.yaml", &mended)], "Write content\n", Parent::Head).map_err(could_not)?;
    teller.wait("the agent checks the next commit")?;
    stage.until_converged(&app("hello"), 4).await.map_err(could_not)?;
    teller.seen(&format!("commit {commit} corrects it and is applied"))?;
    Ok(())
}

async fn rewrite<W: Write>(stage: &mut Stage, teller: &mut Teller<'_, W>) -> Result<(), Failure> {
    teller.chapter("History is rewritten. The agent does not follow it silently.")?;
    let colours = write("apps/hello/colours.txt", "grey\n");
    let commit = stage.commit(&[colours], "All is grey, and always was\n", Parent::Orphan).map_err(could_not)?;
    teller.act(&format!("The branch is forced to {commit}, which does not descend from the accepted commit."))?;
    teller.wait("the agent compares the new head with the accepted one")?;
    let rewritten =
        |detail: &AppDetail| detail.hold.as_ref().is_some_and(|hold| matches!(hold.why, HoldReason::Rewritten { .. }));
    let detail = stage.until(&app("hello"), rewritten).await.map_err(could_not)?;
    teller.stopped("held, both heads shown:")?;
    teller.quote(&detail.hold.map(|hold| hold.why.to_string()).unwrap_or_default())?;
    // This is `setpoint release --store`: the control documents come from the same history.
    for name in [app("hello"), Bootstrap::root()] {
        let order = OrderKind::Release { accept: Some(commit.clone()) };
        let release = OrderRequest { app: name, reason: "the rewrite was ours".to_owned(), order };
        stage.order(&release).await.map_err(could_not)?;
    }
    teller.wait("the agent records the release, then follows it")?;
    stage
        .until(&app("hello"), |detail| detail.hold.is_none() && detail.summary.state == AppState::Converged)
        .await
        .map_err(could_not)?;
    teller.seen(&format!(
        "a person names the correct version: setpoint release --store {} --accept {commit} --reason \"the rewrite was ours\"",
        Bootstrap::store()
    ))?;
    Ok(())
}

async fn empty<W: Write>(stage: &mut Stage, teller: &mut Teller<'_, W>) -> Result<(), Failure> {
    teller.chapter("The app's directory is emptied. An empty directory is not an order to delete everything.")?;
    let gone = ["apps/hello/hello.yaml", "apps/hello/extra.yaml", "apps/hello/colours.txt"];
    let removals: Vec<_> =
        gone.iter().map(|path| Change::Remove { path: StorePath::new(path).expect("a plain path") }).collect();
    let commit = stage.commit(&removals, "Clean up\n", Parent::Head).map_err(could_not)?;
    teller.act(&format!("Commit {commit} removes every file of the app."))?;
    teller.wait("the agent checks the commit")?;
    let detail = stage.until(&app("hello"), |detail| detail.refused.is_some()).await.map_err(could_not)?;
    let there = stage.managed("config/greeting").exists();
    teller
        .stopped(&format!("nothing is deleted (config/greeting is {}):", if there { "still there" } else { "GONE" }))?;
    teller.quote(&detail.refused.map(|refused| refused.problem).unwrap_or_default())?;
    Ok(())
}

async fn kill<W: Write>(stage: &mut Stage, teller: &mut Teller<'_, W>) -> Result<(), Failure> {
    teller.chapter("The agent is killed in the middle of a change, and restarted.")?;
    let mut files = vec![write("setpoint/fleet.yaml", &fleet_app())];
    files.push(write("apps/fleet/files.yaml", &fleet_files()));
    let commit = stage.commit(&files, "Declare a fleet of files\n", Parent::Head).map_err(could_not)?;
    teller.act(&format!("Commit {commit} declares an app of {FLEET} files."))?;
    teller.wait("waiting for the first of them")?;
    stage.until_there(&stage.managed("fleet/000")).await.map_err(could_not)?;
    stage.kill_agent().await.map_err(could_not)?;
    let made = fs::read_dir(stage.managed("fleet")).map_or(0, |entries| {
        entries.filter_map(Result::ok).filter(|entry| !entry.file_name().to_string_lossy().starts_with('.')).count()
    });
    teller.act(&format!("kill -9, with {made} of {FLEET} files in place."))?;
    stage.start_agent().map_err(could_not)?;
    teller.wait("the new agent determines the outcome of the changes in flight, then continues")?;
    stage.until_converged(&app("fleet"), FLEET + 1).await.map_err(could_not)?;
    let whole = (0..FLEET)
        .all(|n| fs::read_to_string(stage.managed(&format!("fleet/{n:03}"))).is_ok_and(|text| text == fleet_text(n)));
    teller.seen(&format!("all {FLEET} files are in place and {}", if whole { "whole" } else { "BROKEN" }))?;
    Ok(())
}

fn fleet_text(n: usize) -> String {
    format!("ship {n}\n").repeat(50)
}

fn fleet_app() -> String {
    "apiVersion: setpoint.dev/v1\nkind: App\nmetadata: { name: fleet }\nspec:\n  component: fleet\n  environment: lab\n  \
     inputs: [{ name: main, store: bootstrap, path: apps/fleet }]\n  target: lab\n"
        .to_owned()
}

fn fleet_files() -> String {
    let folder =
        "apiVersion: host.setpoint.dev/v1\nkind: Directory\nmetadata: { name: fleet }\nspec: { path: /fleet }\n"
            .to_owned();
    let file = |n: usize| {
        let content = serde_json::Value::from(fleet_text(n));
        format!(
            "---\napiVersion: host.setpoint.dev/v1\nkind: File\nmetadata: {{ name: ship-{n} }}\nspec: {{ path: /fleet/{n:03}, content: {content} }}\n"
        )
    };
    folder + &(0..FLEET).map(file).collect::<String>()
}

async fn prove<W: Write>(stage: &mut Stage, teller: &mut Teller<'_, W>) -> Result<(), Failure> {
    teller.chapter("The ledger holds every decision and every action.")?;
    stage.stop_agent().await.map_err(could_not)?;
    let keys = fs::read_to_string(stage.data().join("ledger.keys")).unwrap_or_default();
    let keys: Vec<Key> = keys.lines().filter_map(|key| key.parse().ok()).collect();
    let report = verify(&stage.data().join("ledger.db"), &[], &keys).await;
    let report = report.map_err(|error| could_not(crate::complaint::told(&error)))?;
    let records: u64 = report.logs.iter().map(|log| log.records).sum();
    if report.is_sound() {
        teller.seen(&format!("verified: {records} records, every hash and signature recomputed by a verifier that shares no code with the writer"))?;
        return Ok(());
    }
    Err(could_not("the ledger is not sound; report this as a bug"))
}

/// Returns this program as another terminal finds it: `setpoint` if it was found on the PATH, else its
/// absolute path, for example after `cargo run`.
fn program() -> String {
    let invoked = doors::arguments().next().map(PathBuf::from);
    let is_path = |invoked: &PathBuf| invoked.components().count() > 1;
    let path = invoked.filter(is_path).and_then(|invoked| doors::absolute(&invoked).ok());
    path.map_or_else(|| "setpoint".to_owned(), |path| path.display().to_string())
}

async fn stay<W: Write>(stage: &mut Stage, teller: &mut Teller<'_, W>) -> Result<(), Failure> {
    if let Some(link) = stage.set_up_link() {
        teller
            .chapter("The agent keeps running. Open its web pages with this link, and choose a name and a password:")?;
        teller.seen(&link)?;
    }
    teller.chapter("Or try, in another terminal:")?;
    let (program, data) = (program(), stage.data());
    let data = data.display();
    for command in ["status", "why hello", "get fleet", "drift", "history --limit 20", "plan"] {
        teller.act(&format!("{program} --data {data} {command}"))?;
    }
    teller.act(&format!("{program} --data {data} suspend fleet --for 5m --reason \"trying things\""))?;
    teller.act(&format!("echo mine > {}", stage.managed("config/greeting").display()))?;
    teller.act("Ctrl-C stops it and removes everything.")?;
    told_to_stop().await
}
