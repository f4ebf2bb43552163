//! Failing stores: the accepted version stays enforced, people are notified, and other apps are not
//! slowed.

use std::fs;
use std::sync::Arc;

use setpoint_testbed::{Fault, GitServer, On};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpListener;
use tokio::sync::Mutex;
use tokio::task::JoinSet;

use super::lab::{Agent, Lab};

/// A webhook that records the messages it receives.
struct Receiver {
    url: String,
    heard: Arc<Mutex<Vec<String>>>,
    _serving: JoinSet<()>,
}

impl Receiver {
    async fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
        let url = format!("http://{}/hook", listener.local_addr().expect("an address"));
        let heard = Arc::new(Mutex::new(Vec::new()));
        let mut serving = JoinSet::new();
        serving.spawn(listen(listener, Arc::clone(&heard)));
        Self { url, heard, _serving: serving }
    }

    async fn has_heard(&self, part: &str) -> bool {
        self.heard.lock().await.iter().any(|message| message.contains(part))
    }
}

async fn listen(listener: TcpListener, heard: Arc<Mutex<Vec<String>>>) {
    while let Ok((mut stream, _)) = listener.accept().await {
        let (mut bytes, mut part) = (Vec::new(), [0; 4096]);
        // The body of a message is one JSON object.
        while !bytes.ends_with(b"}") {
            match stream.read(&mut part).await {
                Ok(read) if read > 0 => bytes.extend_from_slice(&part[..read]),
                _ => break,
            }
        }
        heard.lock().await.push(String::from_utf8_lossy(&bytes).into_owned());
        // If the client has disconnected, it does not need the response.
        let _ = stream.write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 0\r\nconnection: close\r\n\r\n").await;
    }
}

/// Returns a lab whose repository is reached over https.
fn served() -> (Lab, GitServer) {
    let mut lab = Lab::new();
    let server = GitServer::start(lab.path());
    let authority = server.authority();
    lab.reach_by(format!("url: {}, authoritiesFile: {}", server.url("state.git"), authority.display()));
    (lab, server)
}

async fn is_stale(agent: &Agent) -> Option<String> {
    let store = agent.overview().await.stores.into_iter().find(|store| store.store.as_str() == "bootstrap")?;
    store.problem.filter(|_| store.stale)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn while_the_git_server_is_down_bundles_are_enforced_and_people_hear_of_it() {
    let (mut lab, server) = served();
    let receiver = Receiver::start().await;
    lab.app("hello").file("hello", "greeting", "Hello\n");
    lab.control("ops", "Notifier", &format!("{{ url: \"{}\" }}", receiver.url));
    let first = lab.commit();
    let mut agent = lab.start().await;
    agent.until_converged("hello", &first).await;
    assert_eq!(is_stale(&agent).await, None);

    server.break_with(On::Everything, Fault::Status(503));
    fs::write(lab.at("greeting"), "by hand\n").expect("anyone may");
    let healed = async |_: &_| (lab.text("greeting").as_deref() == Some("Hello\n")).then_some(());
    agent.until("what was accepted is enforced", healed).await;
    let problem = agent.until("the store is stale", is_stale).await;
    assert!(problem.contains("503"), "{problem}");
    assert!(lab.told(&["status"]).contains("in a row"));
    let heard = async |_: &_| receiver.has_heard("store-stale").await.then_some(());
    agent.until("people are told", heard).await;
    fs::remove_file(lab.at("greeting")).expect("anyone may");
    agent.until("what was accepted is still enforced", healed).await;

    let second = lab.file("hello", "greeting", "Good day\n").commit();
    server.mend();
    agent.until_converged("hello", &second).await;
    assert_eq!(is_stale(&agent).await, None);
    agent.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_store_that_hangs_does_not_slow_another() {
    let mut lab = Lab::new();
    let hanging = GitServer::start(lab.path());
    hanging.break_with(On::Everything, Fault::Hang);
    let spec = format!("{{ url: {}, authoritiesFile: {} }}", hanging.url("state.git"), hanging.authority().display());
    for number in 0..20 {
        lab.control(&format!("slow-{number}"), "Store", &spec.replace("state.git", &format!("state-{number}.git")));
        lab.app_from(&format!("slow-app-{number}"), &format!("slow-{number}"), "");
    }
    lab.app("hello").file("hello", "greeting", "Hello\n");
    let first = lab.commit();
    let mut agent = lab.start().await;
    agent.until_converged("hello", &first).await;
    let asked = async |_: &_| (hanging.take_seen().len() > 5).then_some(());
    agent.until("the hanging stores are asked", asked).await;
    for text in ["Good day\n", "Good evening\n", "Good night\n"] {
        let before = agent.overview().await.now;
        let head = lab.file("hello", "greeting", text).commit();
        agent.until_converged("hello", &head).await;
        let took = agent.overview().await.now.since(before);
        assert!(took < setpoint_core::time::Span::seconds(5), "{took} with other stores hanging");
    }
    agent.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_target_that_is_not_to_be_reached_is_no_empty_plan() {
    let mut lab = Lab::new();
    lab.app("hello").file("hello", "greeting", "Hello\n");
    let first = lab.commit();
    let mut agent = lab.start().await;
    agent.until_converged("hello", &first).await;
    agent.stop().await;

    let (root, away) = (lab.at(""), lab.path().join("away"));
    fs::rename(&root, &away).expect("it is ours");
    let mut agent = lab.start().await;
    agent
        .until("the agent says that it waits", async |agent| {
            agent.said().iter().any(|line| line.contains("cannot be reached")).then_some(())
        })
        .await;
    let told = async |_: &_| lab.told(&["status"]).contains("waiting apps: default/hello").then_some(());
    agent.until("status says who waits", told).await;
    let plan = lab.command(&["plan", "hello"]);
    assert_eq!(plan.code, Some(1), "{}{}", plan.output, plan.complaints);
    assert!(plan.complaints.contains("cannot be planned"), "{}", plan.complaints);
    agent.stop().await;
}
