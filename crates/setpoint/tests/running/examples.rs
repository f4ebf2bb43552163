//! The examples of the repository, started as their READMEs describe, but in a temporary directory.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use setpoint::doors::Clock;
use setpoint_api::answer::{AppDetail, AppState};
use setpoint_core::name::{AppId, AppName, Scope};
use setpoint_engine::Settings;
use setpoint_testbed::program;
use tempfile::TempDir;

use super::lab::Agent;

/// The directory that the READMEs and the documents of the examples name.
const DIRECTORY: &str = "/tmp/setpoint-example";

/// The last command of each README.
const START: &str = "setpoint run --config bootstrap.yaml --data data";

/// An example, copied and committed by the commands of its README.
struct Example {
    folder: TempDir,
}

impl Example {
    /// Runs the commands of the README before the one that starts the agent. `setup` runs first.
    fn prepare(name: &str, setup: &str) -> Self {
        let repository = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
        let example = repository.join("examples").join(name);
        let readme = fs::read_to_string(example.join("README.md")).expect("each example has a README");
        let (_, commands) = readme.split_once("```sh\n").expect("the README has commands");
        let (commands, _) = commands.split_once("```").expect("the block has an end");
        let commands = commands.strip_suffix(&format!("{START}\n")).expect("the last command starts the agent");

        let folder = tempfile::tempdir().expect("a folder for the test");
        let example = Self { folder };
        let copied = example.path().display().to_string();
        // The documents name the directory too, and are committed with their own path.
        let adapt = format!("grep -rlF {DIRECTORY} . | xargs sed -i 's|{DIRECTORY}|{copied}|g'\ngit init");
        let commands = commands.replace(DIRECTORY, &copied).replace("git init", &adapt);
        let mut shell = program("/bin/sh");
        shell.current_dir(&repository).arg("-euc").arg(format!("{setup}\n{commands}"));
        run(shell, &commands);
        example
    }

    /// Commits the changes of the copy.
    fn commit(&self, message: &str) {
        let mut shell = program("/bin/sh");
        let commands = format!("git add . && git commit -q -m '{message}'");
        shell.current_dir(self.path()).arg("-euc").arg(&commands);
        run(shell, &commands);
    }

    /// Returns the directory of the copy. The commands of the README create it.
    fn path(&self) -> PathBuf {
        self.folder.path().join("example")
    }

    async fn start(&self) -> Agent {
        let bootstrap = self.path().join("bootstrap.yaml");
        Agent::start(&bootstrap, self.path().join("data"), Clock::start(), Settings::default(), None).await
    }

    fn read(&self, file: &str) -> Option<String> {
        fs::read_to_string(self.path().join(file)).ok()
    }
}

/// Runs commands with a Git identity.
fn run(mut shell: Command, commands: &str) {
    for role in ["AUTHOR", "COMMITTER"] {
        shell.env(format!("GIT_{role}_NAME"), "Test").env(format!("GIT_{role}_EMAIL"), "test@example.com");
    }
    let output = shell.output().expect("every system has a shell");
    assert!(output.status.success(), "{commands}\n{}", String::from_utf8_lossy(&output.stderr));
}

async fn until(agent: &mut Agent, scope: &str, name: &str, what: &str, is: impl Fn(&AppDetail) -> bool) -> AppDetail {
    let app = AppId::new(Scope::new(scope).expect("a valid name"), AppName::new(name).expect("a valid name"));
    let look = async |agent: &Agent| agent.client().app(app.clone()).await.ok().filter(&is);
    agent.until(&format!("app {app} {what}"), look).await
}

fn has_converged(detail: &AppDetail) -> bool {
    detail.summary.state == AppState::Converged
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_files_of_the_web_host_are_written_and_healed() {
    let example = Example::prepare("web-host", "");
    let mut agent = example.start().await;
    until(&mut agent, "default", "web", "has converged", has_converged).await;

    let declared = example.read("apps/web/site.conf").expect("it is in the repository");
    for file in ["etc/web/site.conf", "etc/web/enabled/site.conf"] {
        assert_eq!(example.read(&format!("machine/{file}")).as_deref(), Some(&*declared), "{file}");
    }
    let site = example.path().join("machine/etc/web/site.conf");
    fs::write(&site, "oops\n").expect("it is ours");
    let is_healed = async |_: &Agent| (fs::read_to_string(&site).ok()? == declared).then_some(());
    agent.until("the configuration is healed", is_healed).await;
    agent.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_lights_are_created_in_memory_and_follow_their_store() {
    let example = Example::prepare("in-memory", "");
    let mut agent = example.start().await;
    let detail = until(&mut agent, "default", "lights", "has converged", has_converged).await;
    assert_eq!(
        lights(&agent).await,
        (["memory-house".to_owned()].into(), ["hall", "kitchen"].map(String::from).into())
    );

    let declared = example.read("apps/lights/lights.yaml").expect("it is in the repository");
    let more = format!("{declared}---\n{}", declared.replace("kitchen", "porch").replace("hall", "cellar"));
    fs::write(example.path().join("apps/lights/lights.yaml"), more).expect("it is ours");
    example.commit("Declare more lights");
    let is_newer = |now: &AppDetail| has_converged(now) && now.resources.len() == 2 * detail.resources.len();
    until(&mut agent, "default", "lights", "has converged again", is_newer).await;
    assert_eq!(lights(&agent).await.1, ["cellar", "hall", "kitchen", "porch"].map(String::from).into());
    agent.stop().await;
}

/// Returns the identities of the target, and the names of the objects that exist on it.
async fn lights(agent: &Agent) -> (BTreeSet<String>, BTreeSet<String>) {
    let app = AppId::new(Scope::default_scope(), AppName::new("lights").expect("a valid name"));
    let tree = agent.client().tree(app).await.expect("it is reachable");
    let present = tree.objects.iter().filter(|object| object.present);
    let names = present.map(|object| object.key.name().to_owned());
    ([tree.target.to_string()].into(), names.collect())
}

mod envtest {
    use serde_json::json;
    use setpoint_api::question::{OrderKind, OrderRequest};
    use setpoint_testbed::kube::ApiServer;

    use super::*;

    /// Reports the Deployment of an environment as rolled out: no controller runs on the server.
    fn roll_out(server: &ApiServer, environment: &str, replicas: u32) {
        let path = format!("/apis/apps/v1/namespaces/shop-{environment}/deployments/web/status");
        let status = json!({ "status": {
            "observedGeneration": 1, "replicas": replicas, "updatedReplicas": replicas,
            "readyReplicas": replicas, "availableReplicas": replicas,
            "conditions": [
                { "type": "Available", "status": "True" },
                { "type": "Progressing", "status": "True", "reason": "NewReplicaSetAvailable" },
            ],
        }});
        let patch = ("application/merge-patch+json", status.to_string());
        server.request("PATCH", &path, Some((patch.0, patch.1.as_bytes()))).succeeded();
    }

    async fn until_deployed(agent: &mut Agent, server: &ApiServer, environment: &str) {
        let path = format!("/apis/apps/v1/namespaces/shop-{environment}/deployments/web");
        let exists = async |_: &Agent| (server.request("GET", &path, None).status == 200).then_some(());
        agent.until(&format!("{environment} is deployed"), exists).await;
    }

    #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
    async fn the_shop_reaches_its_environments_in_order_and_production_by_hand() {
        let server = ApiServer::shared();
        let kubectl = format!("kubectl() {{ cat {}; }}", server.kubeconfig().display());
        let example = Example::prepare("kubernetes-kustomize", &kubectl);
        let mut agent = example.start().await;

        until_deployed(&mut agent, server, "development").await;
        roll_out(server, "development", 1);
        until_deployed(&mut agent, server, "staging").await;
        roll_out(server, "staging", 2);
        until(&mut agent, "shop", "staging", "has converged", has_converged).await;

        let production = "/api/v1/namespaces/shop-production/services/web";
        assert_eq!(server.request("GET", production, None).status, 404, "production waits for a person");
        let app = AppId::new(Scope::new("shop").expect("a valid name"), AppName::new("production").expect("valid"));
        let order = OrderKind::Sync { allow_prune: 0 };
        let request = OrderRequest { app, reason: "First release".to_owned(), order };
        agent.client().order(&request).await.expect("it is recorded");
        until_deployed(&mut agent, server, "production").await;
        agent.stop().await;
    }
}
