//! The commands of a user on another machine: `login`, and requests to the server.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::Stdio;

use setpoint_testbed::tls::Authority;

use super::{NAME, PASSWORD, lab, served, token, with_access};
use crate::setpoint::{Run, command, read};

/// Runs a command with this home directory and this standard input.
fn run(home: &Path, arguments: &[&str], input: &str) -> Run {
    let file = home.join("input");
    fs::write(&file, input).expect("it is ours");
    let input = fs::File::open(file).expect("it was written");
    read(&command(arguments).env("HOME", home).stdin(Stdio::from(input)).output().expect("it starts"))
}

fn succeeded(run: Run) -> String {
    assert_eq!(run.code, Some(0), "{run:?}");
    run.output
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_person_signs_in_and_gives_orders_from_another_machine() {
    let mut lab = lab();
    let (agent, browser) = served(&mut lab).await;
    let home = tempfile::tempdir().expect("a home");
    let home = home.path();
    let url = format!("http://{}", browser.address);
    let wrong = run(home, &["login", &url, "--account", NAME], "a wrong password\n");
    assert_eq!((wrong.code, wrong.complaints.as_str()), (Some(1), "error: the account or the password is wrong\n"));
    let file = home.join(".config/setpoint/contexts.json");
    assert!(!file.exists(), "nothing is stored");

    let told = succeeded(run(home, &["login", &url, "--account", NAME], &format!("{PASSWORD}\n")));
    assert!(told.contains("as account:erika (password)"), "{told}");
    let mode = fs::metadata(&file).expect("it is stored").permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
    assert!(!fs::read_to_string(&file).expect("it is ours").contains(PASSWORD));
    assert!(succeeded(run(home, &["status"], "")).contains("default/web"));
    assert!(succeeded(run(home, &["history", "web"], "")).contains("accept"));
    let reason = ["suspend", "web", "--for", "1h", "--reason", "from afar"];
    succeeded(run(home, &reason, ""));
    let suspension = agent.detail("web").await.expect("it exists").suspension.expect("it is suspended");
    assert_eq!((suspension.by.as_str(), suspension.reason.as_str()), ("account:erika", "from afar"));
    let contexts = succeeded(run(home, &["context"], ""));
    assert_eq!(contexts, format!("* {}\n", browser.address));

    // The agent on this machine is asked if its directory is given.
    let data = lab.data();
    let local = succeeded(run(home, &["status", "--data", data.to_str().expect("UTF-8"), "-o", "json"], ""));
    assert!(local.contains("default/web"));
    let both = run(home, &["status", "--data", "/x", "--server", &url], "");
    assert_eq!(both.code, Some(1), "only one of the two");
    let unknown = run(home, &["status", "--server", "https://other.example"], "");
    assert!(unknown.complaints.contains("there is no context `https://other.example`"), "{unknown:?}");

    let cookie = fs::read_to_string(&file).expect("it is ours");
    succeeded(run(home, &["logout"], ""));
    fs::write(&file, cookie).expect("it is ours");
    let ended = run(home, &["status"], "");
    assert_eq!(ended.code, Some(1));
    assert!(ended.complaints.contains("run `setpoint login` again"), "the session is over: {ended:?}");
    agent.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_administrator_gets_back_in_on_the_machine_of_the_agent() {
    let mut lab = lab();
    let (mut agent, mut browser) = served(&mut lab).await;
    let home = tempfile::tempdir().expect("a home");
    let home = home.path();
    let data = lab.data();
    let data = data.to_str().expect("UTF-8");
    let reset = ["account", "reset", NAME, "--data", data, "--reason", "password lost"];
    let short = run(home, &reset, "short\n");
    assert_eq!(short.code, Some(1), "{short:?}");
    let told = succeeded(run(home, &reset, "a new and longer password\n"));
    assert_eq!(told, "password of account:erika set, 1 session ended\n");
    assert_eq!(browser.get("/apps").await.status, 303, "the session has ended");
    assert_eq!(super::sign_in(&mut browser, PASSWORD).await.status, 401);
    assert_eq!(super::sign_in(&mut browser, "a new and longer password").await.status, 303);
    let other = ["account", "reset", "emergency", "--data", data, "--reason", "no one else is here"];
    let told = succeeded(run(home, &other, "a new and longer password\n"));
    assert_eq!(told, "administrator account:emergency created\n");
    let trust = ["account", "trust", NAME, "127.9.9.9", "--data", data, "--reason", "under attack"];
    assert_eq!(succeeded(run(home, &trust, "")), "address for sign-ins of account:erika trusted\n");
    let by = succeeded(run(
        home,
        &["account", "trust", NAME, "127.9.9.8", "--data", data, "--reason", "x", "-o", "json"],
        "",
    ));
    assert!(by.contains("address-trusted"), "{by}");
    let missing = run(home, &["account", "reset", NAME, "--data", home.to_str().expect("UTF-8"), "--reason", "x"], "");
    assert!(missing.complaints.contains("there are no accounts in"), "{missing:?}");
    assert!(!home.join("access.db").exists(), "nothing is created");
    let recorded = async |agent: &super::super::lab::Agent| {
        let question = super::HistoryQuestion { app: None, limit: 100, before: None };
        let records = agent.client().history(&question).await.expect("it answers");
        records.into_iter().find(|record| record.text.contains("via: data directory"))
    };
    let record = agent.until("the change is recorded", recorded).await;
    assert!(record.actor.starts_with("user:") || record.actor.starts_with("uid:"), "{record:?}");
    agent.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_token_has_its_own_rights_over_tls() {
    let mut lab = lab();
    with_access(&mut lab);
    let address = lab.serve();
    let (certificate, key, authority) = (lab.path().join("crt"), lab.path().join("key"), lab.path().join("ca.pem"));
    let ours = Authority::fresh();
    let pair = ours.for_hosts(&[&address.ip().to_string()]);
    for (file, text) in [(&certificate, &*pair.certificate), (&key, &*pair.key), (&authority, ours.pem())] {
        fs::write(file, text).expect("it is ours");
    }
    let (agent, mut administrator) = super::served_at(&mut lab, address, "").await;
    let secret = token(&mut administrator, "ci").await;
    agent.stop().await;
    lab.serve_with(&format!("tls: {{ certificateFile: {}, keyFile: {} }}", certificate.display(), key.display()));
    let mut agent = lab.start().await;
    agent.until_converged("web", lab.head()).await;

    let home = tempfile::tempdir().expect("a home");
    let home = home.path();
    let url = format!("https://{address}");
    let unknown = run(home, &["login", &url, "--token-file", "-"], &secret);
    assert_eq!(unknown.code, Some(1), "no CA of the system has signed the certificate: {unknown:?}");
    let authority = authority.to_str().expect("UTF-8");
    let login = ["login", &url, "--token-file", "-", "--authority", authority, "--name", "lab"];
    let told = succeeded(run(home, &login, &secret));
    assert!(told.contains("as token:ci (token)"), "{told}");
    assert!(succeeded(run(home, &["status", "--server", "lab"], "")).contains("default/web"));
    let order = run(home, &["hold", "web", "--reason", "no right"], "");
    assert_eq!(order.code, Some(1), "{order:?}");
    assert!(agent.detail("web").await.expect("it exists").hold.is_none());
    let used = run(home, &["login", &url, "--token-file", "-", "--authority", authority], "setpoint_not_a_token");
    assert_eq!(used.code, Some(1), "{used:?}");
    succeeded(run(home, &["context", "--local"], ""));
    assert_eq!(
        succeeded(run(home, &["context"], "")),
        "  lab  ".to_owned() + &url + "\ncommands ask the agent on this machine\n"
    );
    agent.stop().await;
}
