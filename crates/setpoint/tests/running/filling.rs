//! A disk that fills up under a running agent: orders are declined with the reason, requests are
//! served, and the agent continues when there is space again.

use std::fs;
use std::io::{BufRead, BufReader};
use std::process::{Child, Stdio};
use std::time::Duration;

use rustix::process::{Pid, Resource, Rlimit, Signal, kill_process, prlimit};
use setpoint_api::answer::AppState;
use setpoint_api::question::{HistoryQuestion, OrderKind, OrderRequest};
use setpoint_api::{AskError, Client, Problem, ProblemKind, socket_in};
use setpoint_core::time::Span;
use tokio::time::timeout;

use super::lab::{Lab, app};
use crate::setpoint::command_that_outlives_limits;

/// Longer than anything takes on a busy machine.
const PATIENCE: Duration = Duration::from_secs(120);

/// An agent in a process of its own, whose files can be prevented from growing.
struct Agent {
    child: Child,
    client: Client,
    unlimited: Rlimit,
}

impl Agent {
    fn start(lab: &Lab) -> Self {
        let (config, data) = (lab.bootstrap().display().to_string(), lab.data().display().to_string());
        let mut command = command_that_outlives_limits(&["run", "--config", &config, "--data", &data]);
        command.stdout(Stdio::piped()).stderr(Stdio::null());
        let mut child = command.spawn().expect("every system has a shell");
        let mut lines = BufReader::new(child.stdout.take().expect("it was piped")).lines();
        let line = lines.next().expect("it says something").expect("it is text");
        assert!(line.starts_with("holding; data in "), "{line}");
        let unlimited = Rlimit { current: None, maximum: None };
        Self { child, client: Client::new(socket_in(&lab.data())), unlimited }
    }

    /// Prevents all writes to files from now on.
    fn fill_disk(&mut self) {
        let pid = Pid::from_child(&self.child);
        let full = Rlimit { current: Some(0), maximum: None };
        self.unlimited = prlimit(Some(pid), Resource::Fsize, full).expect("it is ours");
    }

    fn make_room(&self) {
        prlimit(Some(Pid::from_child(&self.child)), Resource::Fsize, self.unlimited).expect("it is ours");
    }

    async fn suspend(&self) -> Result<(), AskError> {
        let order = OrderKind::Suspend { length: Span::hours(1) };
        let request = OrderRequest { app: app("hello"), reason: "the test wants it".to_owned(), order };
        self.client.order(&request).await.map(drop)
    }

    /// Returns the response to an order that cannot be recorded now.
    async fn declined(&self) -> String {
        match self.suspend().await.expect_err("it cannot be recorded") {
            AskError::Refused(Problem { kind: ProblemKind::Unavailable, message }) => message,
            other => panic!("{other}"),
        }
    }

    /// Polls until the app is in this state: the agent is another process, whose steps cannot be
    /// awaited.
    async fn until(&self, state: AppState) {
        let asking = async {
            while self.client.app(app("hello")).await.map(|detail| detail.summary.state).ok() != Some(state) {
                tokio::task::yield_now().await;
            }
        };
        timeout(PATIENCE, asking).await.unwrap_or_else(|_| panic!("the app is not {state:?} within {PATIENCE:?}"));
    }
}

impl Drop for Agent {
    fn drop(&mut self) {
        // It may have ended on its own.
        let _ = kill_process(Pid::from_child(&self.child), Signal::KILL);
        let _ = self.child.wait();
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn case_77_while_the_disk_takes_nothing_orders_are_declined_and_questions_answered() {
    let mut lab = Lab::new();
    lab.app("hello").file("hello", "greeting", "Hello\n");
    lab.commit();
    let mut agent = Agent::start(&lab);
    agent.until(AppState::Converged).await;

    agent.fill_disk();
    let declined = agent.declined().await;
    assert!(declined.contains("the order could not be recorded, so it does not count"), "{declined}");
    assert!(declined.contains("could not make records durable"), "{declined}");
    assert!(declined.contains("free or repair the disk"), "{declined}");
    let overview = agent.client.overview().await.expect("questions are answered");
    assert!(overview.ledger.trouble.is_some(), "{overview:?}");
    fs::write(lab.at("greeting"), "by hand\n").expect("this process may");
    assert!(agent.declined().await.contains("the ledger is in trouble"));
    let told = lab.command(&["suspend", "hello", "--for", "1h", "--reason", "restoring"]);
    assert_eq!(told.code, Some(1), "{told:?}");
    assert!(told.complaints.contains("the ledger is in trouble"), "{told:?}");
    let status = lab.command(&["status"]);
    assert!(status.code == Some(4) && status.output.contains("in trouble"), "{status:?}");
    let question = HistoryQuestion { app: Some(app("hello")), limit: 10, before: None };
    // Longer than the agent takes to try in vain to open the ledger again, and to close it.
    let asked = agent.client.overview().await.expect("questions are answered").now;
    while agent.client.overview().await.expect("questions are answered").now.since(asked) < Span::seconds(5) {
        let history = agent.client.history(&question).await.expect("what is recorded can be read");
        assert!(!history.is_empty());
    }
    assert_eq!(lab.text("greeting").as_deref(), Some("by hand\n"), "nothing is done without its intent");

    agent.make_room();
    agent.until(AppState::Converged).await;
    assert_eq!(lab.text("greeting").as_deref(), Some("Hello\n"));
    agent.suspend().await.expect("it is recorded");
    agent.until(AppState::Suspended).await;
}
