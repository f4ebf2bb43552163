//! The pages and the API over HTTP, for people, programs and attackers.

mod browser;
mod canary;
mod commands;
mod contract;
mod metrics;
mod providers;
mod webhooks;

use std::net::SocketAddr;
use std::time::Duration;

use setpoint_api::answer::AppDetail;
use setpoint_api::question::{HistoryQuestion, OrderKind};
use setpoint_core::time::Span;
use setpoint_ledger_verify::Key;
use setpoint_testbed::tls::Authority;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::time::timeout;

use self::browser::{Browser, Response};
use super::lab::{Agent, Lab, app};

const NAME: &str = "erika";
const PASSWORD: &str = "nine quiet turtles swim";

/// Paths of pages, each of which needs a session.
const PAGES: [&str; 8] = [
    "/apps",
    "/apps/default/web",
    "/changes",
    "/drift",
    "/stores",
    "/targets",
    "/audit",
    "/apps/default/web/order?order=sync",
];

/// Paths of the API that need a caller.
const ROUTES: [&str; 12] = [
    "/api/v1/overview",
    "/api/v1/apps",
    "/api/v1/apps/default/web",
    "/api/v1/apps/default/web/tree",
    "/api/v1/logs?app=default/web",
    "/api/v1/history",
    "/api/v1/changes",
    "/api/v1/drift",
    "/api/v1/plan",
    "/api/v1/explain?app=default/web&object=File/a",
    "/api/v1/events",
    "/api/v1/nothing",
];

fn lab() -> Lab {
    let mut lab = Lab::new();
    lab.app("web").file("web", "etc/web.conf", "listen 80\n");
    lab
}

/// Starts an agent whose app has converged, with an administrator that is signed in.
async fn served(lab: &mut Lab) -> (Agent, Browser) {
    let address = lab.serve();
    served_at(lab, address, "").await
}

/// Starts such an agent, whose paths have this one before them.
async fn served_at(lab: &mut Lab, address: SocketAddr, base: &str) -> (Agent, Browser) {
    let version = lab.commit();
    std::fs::create_dir_all(lab.at("etc")).expect("it is ours");
    let mut agent = lab.start().await;
    agent.until_converged("web", &version).await;
    let mut browser = Browser::new(address);
    let token = agent.set_up_token().expect("there is no account yet");
    let fields = [("token", token.as_str()), ("account", NAME), ("password", PASSWORD), ("again", PASSWORD)];
    let created = browser.post(&format!("{base}/set-up"), &fields).await;
    let expected = format!("{base}/apps");
    assert_eq!((created.status, created.header("location")), (303, expected.as_str()), "{}", created.body);
    (agent, browser)
}

async fn sign_in(browser: &mut Browser, password: &str) -> Response {
    browser.post("/sign-in", &[("account", NAME), ("password", password)]).await
}

async fn csrf(browser: &Browser) -> String {
    let token = browser.get("/apps/default/web/order?order=suspend").await.field("csrf");
    assert!(!token.is_empty(), "the form has a token");
    token
}

#[tokio::test]
async fn without_a_session_pages_lead_to_the_sign_in_and_the_api_refuses() {
    let mut lab = lab();
    let (agent, browser) = served(&mut lab).await;
    let stranger = Browser::new(browser.address);
    for path in PAGES {
        let response = stranger.get(path).await;
        assert_eq!(response.status, 303, "{path}");
        assert!(response.header("location").starts_with("/sign-in?next=%2F"), "{path}: {}", response.head);
        assert!(!response.body.contains("web.conf"), "{path}");
    }
    let forged = Browser {
        cookie: "__Host-setpoint=AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA".to_owned(),
        ..stranger.clone()
    };
    for path in ROUTES.iter().filter(|path| **path != "/api/v1/nothing") {
        assert_eq!(stranger.get(path).await.status, 401, "{path}");
        assert_eq!(forged.get(path).await.status, 401, "{path}");
        let token = "authorization: Bearer setpoint_AAAAAAAA_BBBBBBBB_CCCC\r\n";
        assert_eq!(stranger.send("GET", path, token, "").await.status, 401, "{path}");
    }
    assert_eq!(stranger.send("POST", "/api/v1/orders", "", "{}").await.status, 401);
    agent.stop().await;
}

#[tokio::test]
async fn an_administrator_sees_every_page() {
    let mut lab = lab();
    let (agent, browser) = served(&mut lab).await;
    for path in PAGES {
        let response = browser.get(path).await;
        assert_eq!(response.status, 200, "{path}: {}", response.body);
        assert!(response.body.contains(NAME), "{path} shows who is signed in");
        assert!(response.header("content-security-policy").starts_with("default-src 'none'"), "{path}");
        assert_eq!(response.header("cache-control"), "no-store", "{path}");
    }
    assert!(browser.get("/apps").await.body.contains("/apps/default/web"));
    let page = browser.get("/apps/default/web").await.body;
    assert!(page.contains("/etc/web.conf") && page.contains("converged"), "{page}");
    assert_eq!(browser.get("/apps/default/none").await.status, 404);
    // The app of the control documents has no target.
    assert_eq!(browser.get("/apps/setpoint/root?tab=tree").await.status, 200);
    assert_eq!(browser.get("/api/v1/logs?app=setpoint/root").await.status, 409);
    assert_eq!(browser.get("/api/v1/apps/setpoint/root/tree").await.status, 409);
    let explained = browser.get("/apps/default/web?tab=diff&kind=File&name=etc-web.conf").await.body;
    assert!(explained.contains("apps/web/etc-web.conf.yaml"), "the origin of the fields: {explained}");
    assert!(browser.get("/audit?q=accepted+WEB").await.body.contains("default/web"));
    assert!(!browser.get("/audit?q=nowhere").await.body.contains("default/web"), "a search leaves out the rest");
    agent.stop().await;
}

#[tokio::test]
async fn the_page_of_a_version_shows_what_it_changed_and_where_it_was_refused() {
    let mut lab = lab();
    lab.app("shop").file("shop", "etc/shop.conf", "open\n");
    let (mut agent, browser) = served(&mut lab).await;
    lab.file("web", "etc/web.conf", "listen 81\n");
    lab.file("web", "etc/more.conf", "more\n");
    lab.write("apps/shop/etc-shop.conf.yaml", "apiVersion: host.setpoint.dev/v1\nkind: File\nmetadata: [oops\n");
    let version = lab.commit();
    agent.until_converged("web", &version).await;
    let refused = |detail: &AppDetail| detail.refused.is_some();
    agent.until_app("shop", "refuses the version", refused).await;
    let page = browser.get(&format!("/versions/{version}")).await;
    assert_eq!(page.status, 200, "{}", page.body);
    for text in [
        "1 app converged; 1 app refused it",
        "1 created, 1 changed",
        "apps/shop/etc-shop.conf.yaml:4:1",
        "/etc/more.conf",
    ] {
        assert!(page.body.contains(text), "{text}: {}", page.body);
    }
    let linked = format!("/versions/{}", &version[..12]);
    assert!(browser.get("/changes").await.body.contains(&linked), "changes link to it");
    assert_eq!(browser.get(&linked).await.status, 200);
    for unknown in ["/versions/0123456789", "/versions/..%2f", "/versions/abc"] {
        assert_eq!(browser.get(unknown).await.status, 404, "{unknown}");
    }
    agent.stop().await;
}

#[tokio::test]
async fn a_record_is_shown_with_its_proof_which_is_that_of_the_ledger() {
    let mut lab = lab();
    let (agent, browser) = served(&mut lab).await;
    let page = browser.get("/audit/1").await;
    assert_eq!(page.status, 200, "{}", page.body);
    assert!(page.body.contains("Record 1") && page.body.contains("The signed checkpoint"), "{}", page.body);
    let proof = browser.get("/audit/1/proof").await;
    assert_eq!(proof.header("content-disposition"), "attachment; filename=\"record-1.txt\"");
    for unknown in ["/audit/99999", "/audit/x", "/audit/-1/proof"] {
        assert_eq!(browser.get(unknown).await.status, 404, "{unknown}");
    }
    agent.stop().await;
    let database = lab.data().join("ledger.db");
    let keys = std::fs::read_to_string(lab.data().join("ledger.keys")).expect("the agent wrote it");
    let keys: Vec<Key> = keys.lines().map(|line| line.parse().expect("a key")).collect();
    let (first, checkpoint) = proof.body.split_once("The last hash is the root").expect("a proof");
    let log = first.split_once(" of log ").and_then(|(_, rest)| rest.split_once(',')).expect("its name").0;
    let ours = setpoint_ledger_verify::prove(&database, log, 1, &keys).await.expect("it can be proven");
    let (record, _) = ours.split_once("Each hash is").expect("a proof");
    assert!(first.starts_with(record), "{first}");
    assert!(checkpoint.contains(log), "{checkpoint}");
    let root = first.lines().rev().find_map(|line| line.trim().strip_prefix("= ")).expect("a root");
    let root = (0..root.len()).step_by(2).map(|at| u8::from_str_radix(&root[at..at + 2], 16).expect("hex"));
    let root: Vec<u8> = root.collect();
    let signed = checkpoint.lines().skip_while(|line| *line != log).nth(2).expect("the third line");
    assert_eq!(data_encoding::BASE64.encode(&root), signed, "the steps lead to the signed root");
}

#[tokio::test]
async fn the_set_up_link_creates_one_administrator_once() {
    let mut lab = lab();
    let address = lab.serve();
    lab.commit();
    let agent = lab.start().await;
    let token = agent.set_up_token().expect("there is no account yet");
    let mut browser = Browser::new(address);
    let fields = |token: &str, password: &str| {
        let again = if password == "mistyped" { PASSWORD } else { password };
        let fields = [("token", token), ("account", NAME), ("password", password), ("again", again)];
        fields.map(|(name, value)| (name, value.to_owned()))
    };
    let mut send = async |token: &str, password: &str| {
        let fields = fields(token, password);
        let fields: Vec<_> = fields.iter().map(|(name, value)| (*name, value.as_str())).collect();
        browser.post("/set-up", &fields).await.status
    };
    assert_eq!(send("wrong", PASSWORD).await, 400);
    assert_eq!(send(&token, "mistyped").await, 400, "both passwords must be the same");
    assert_eq!(send(&token, "short").await, 400, "a refused password leaves the link valid");
    assert_eq!(send(&token, PASSWORD).await, 303);
    assert_eq!(send(&token, PASSWORD).await, 400, "it is used up");
    let page = Browser::new(address).get(&format!("/set-up?token={token}")).await.body;
    assert!(page.contains("was used or has expired") && !page.contains("<form"), "{page}");
    agent.stop().await;
    let agent = lab.start().await;
    assert_eq!(agent.set_up_token(), None, "there is an account");
    assert_eq!(browser.get("/apps").await.status, 200, "the session outlives the agent");
    agent.stop().await;
}

#[tokio::test]
async fn an_order_from_a_page_is_recorded_with_its_author() {
    let mut lab = lab();
    let (agent, mut browser) = served(&mut lab).await;
    let csrf = csrf(&browser).await;
    let order = [("csrf", csrf.as_str()), ("order", "suspend"), ("reason", "<b>night</b> shift"), ("length", "1h")];
    let response = browser.post("/apps/default/web/orders", &order).await;
    assert_eq!((response.status, response.header("location")), (303, "/apps/default/web"), "{}", response.body);
    let detail = agent.detail("web").await.expect("it exists");
    let suspension = detail.suspension.expect("it is suspended");
    assert_eq!(suspension.by.as_str(), "account:erika");
    let page = browser.get("/apps/default/web").await.body;
    assert!(page.contains("&#60;b&#62;night&#60;/b&#62; shift"), "reasons are text: {page}");
    let question = HistoryQuestion { app: Some(app("web")), limit: 5, before: None };
    let changes = agent.client().changes(&question).await.expect("it answers");
    assert!(changes.iter().any(|change| change.actor == "account:erika"), "{changes:#?}");
    agent.stop().await;
}

#[tokio::test]
async fn an_order_without_a_reason_is_refused_on_its_page() {
    let mut lab = lab();
    let (agent, mut browser) = served(&mut lab).await;
    let csrf = csrf(&browser).await;
    let order = [("csrf", csrf.as_str()), ("order", "hold"), ("reason", " ")];
    let response = browser.post("/apps/default/web/orders", &order).await;
    assert_eq!(response.status, 400);
    assert!(response.body.contains("give a reason"), "{}", response.body);
    assert!(agent.detail("web").await.expect("it exists").hold.is_none());
    agent.stop().await;
}

#[tokio::test]
async fn case_69_a_page_of_another_site_cannot_give_orders() {
    let mut lab = lab();
    let (agent, mut browser) = served(&mut lab).await;
    let csrf = csrf(&browser).await;
    let fields = [("csrf", csrf.as_str()), ("order", "suspend"), ("reason", "attack"), ("length", "1h")];
    for headers in ["origin: https://evil.example\r\n", "origin: null\r\n", "sec-fetch-site: cross-site\r\n"] {
        let response = browser.clone().post_with("/apps/default/web/orders", headers, &fields).await;
        assert_eq!(response.status, 403, "{headers}");
    }
    for csrf in ["", "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA"] {
        let fields = [("csrf", csrf), ("order", "suspend"), ("reason", "attack"), ("length", "1h")];
        assert_eq!(browser.post("/apps/default/web/orders", &fields).await.status, 403, "`{csrf}`");
    }
    let body = r#"{"app":"default/web","reason":"attack","order":{"what":"hold"}}"#;
    let response = browser.send("POST", "/api/v1/orders", "content-type: application/json\r\n", body).await;
    assert_eq!(response.status, 403, "the API needs the token of the session, too");
    let detail = agent.detail("web").await.expect("it exists");
    assert!(detail.suspension.is_none() && detail.hold.is_none(), "nothing was ordered");
    let header = format!("x-csrf-token: {csrf}\r\n");
    assert_eq!(browser.send("POST", "/api/v1/orders", &header, body).await.status, 200);
    agent.stop().await;
}

#[tokio::test]
async fn a_session_ends_with_the_sign_out_and_its_streams_with_it() {
    let mut lab = lab();
    let (agent, mut browser) = served(&mut lab).await;
    let mut stream = TcpStream::connect(browser.address).await.expect("the server listens");
    let request = format!("GET /api/v1/events HTTP/1.1\r\nhost: a\r\ncookie: {}\r\n\r\n", browser.cookie);
    stream.write_all(request.as_bytes()).await.expect("sent");
    let former = browser.clone();
    let csrf = csrf(&browser).await;
    let response = browser.post("/sign-out", &[("csrf", &csrf)]).await;
    assert_eq!(response.header("location"), "/sign-in");
    assert!(response.header("set-cookie").contains("Max-Age=0"), "{}", response.head);
    assert_eq!(former.get("/api/v1/overview").await.status, 401, "the old cookie opens nothing");
    let ended = timeout(Duration::from_secs(30), async {
        let mut rest = Vec::new();
        stream.read_to_end(&mut rest).await
    });
    ended.await.expect("the stream ends within 30 s").ok();
    assert_eq!(sign_in(&mut browser, PASSWORD).await.status, 303);
    assert_eq!(browser.get("/apps").await.status, 200);
    agent.stop().await;
}

#[tokio::test]
async fn the_cookie_is_for_this_server_alone() {
    let mut lab = lab();
    let (agent, mut browser) = served(&mut lab).await;
    let response = sign_in(&mut browser, PASSWORD).await;
    let cookie = response.header("set-cookie");
    assert!(cookie.starts_with("__Host-setpoint="), "{cookie}");
    for property in ["Path=/", "Secure", "HttpOnly", "SameSite=Lax"] {
        assert!(cookie.contains(property), "{property}: {cookie}");
    }
    assert!(!cookie.contains("Domain"), "{cookie}");
    agent.stop().await;
}

#[tokio::test]
async fn case_67_wrong_passwords_are_answered_ever_more_slowly() {
    let mut lab = lab();
    let (agent, mut browser) = served(&mut lab).await;
    let mut stranger = Browser { from: [127, 9, 9, 9].into(), ..Browser::new(browser.address) };
    let mut refused = Vec::new();
    for _ in 0..60 {
        refused.push(sign_in(&mut stranger, "wrong").await.status);
    }
    assert!(refused.contains(&401) && refused.contains(&429), "{refused:?}");
    assert!(stranger.cookie.is_empty());
    assert_eq!(browser.get("/apps").await.status, 200, "sessions go on");
    let known = sign_in(&mut browser, PASSWORD).await.status;
    assert_eq!(known, 303, "an address that has signed in before is not locked out");
    agent.stop().await;
}

#[tokio::test]
async fn the_page_after_a_sign_in_is_one_of_this_server() {
    let mut lab = lab();
    let (agent, mut browser) = served(&mut lab).await;
    let next = async |browser: &mut Browser, next: &str| {
        let fields = [("account", NAME), ("password", PASSWORD), ("next", next)];
        browser.post("/sign-in", &fields).await.header("location").to_owned()
    };
    assert_eq!(next(&mut browser, "/drift?writer=x").await, "/drift?writer=x");
    for foreign in [
        "https://evil.example/",
        "//evil.example/",
        "/\\evil.example",
        "javascript:alert(1)",
        "/a\r\nx: y",
        "/\t/evil.example",
    ] {
        assert_eq!(next(&mut browser, foreign).await, "/apps", "{foreign}");
    }
    agent.stop().await;
}

/// Creates an account, and signs it in.
async fn account(administrator: &mut Browser, name: &str, groups: &str) -> Browser {
    let csrf = csrf(administrator).await;
    let fields =
        [("csrf", csrf.as_str()), ("action", "create"), ("name", name), ("password", PASSWORD), ("groups", groups)];
    let created = administrator.post("/access/accounts", &fields).await;
    assert_eq!(created.status, 303, "{}", created.body);
    let mut browser = Browser::new(administrator.address);
    let signed_in = browser.post("/sign-in", &[("account", name), ("password", PASSWORD)]).await;
    assert_eq!(signed_in.status, 303, "{}", signed_in.body);
    browser
}

/// Creates a machine token, and returns its text.
async fn token(administrator: &mut Browser, name: &str) -> String {
    let csrf = csrf(administrator).await;
    let fields = [("csrf", csrf.as_str()), ("action", "create"), ("name", name), ("days", "7")];
    let page = administrator.post("/access/tokens", &fields).await.body;
    let start = page.find("setpoint_").expect("the token is shown");
    let is_part = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
    page[start..].chars().take_while(|c| is_part(*c)).collect()
}

/// Declares who may do what: people of the group `web` see the app `web`, and those of `other` have
/// all rights on an empty scope.
fn with_access(lab: &mut Lab) {
    let access = |name: &str, metadata: &str, spec: &str| {
        let text = format!(
            "apiVersion: setpoint.dev/v1\nkind: Access\nmetadata: {{ name: {name}{metadata} }}\nspec: {spec}\n"
        );
        (format!("setpoint/{name}.yaml"), text)
    };
    let empty = "apiVersion: setpoint.dev/v1\nkind: Scope\nmetadata: { name: other }\nspec: {}\n";
    lab.write("setpoint/other.yaml", empty);
    for (path, text) in [
        access("readers", "", "{ subjects: [{ group: web }, { token: ci }], rules: [{ verbs: [see] }] }"),
        access("others", ", scope: other", "{ subjects: [{ group: other }], rules: [{ verbs: [all] }] }"),
    ] {
        lab.write(&path, &text);
    }
}

#[tokio::test]
async fn case_64_what_a_person_may_not_see_does_not_exist_on_any_page() {
    let mut lab = lab();
    with_access(&mut lab);
    let (agent, mut administrator) = served(&mut lab).await;
    let reader = account(&mut administrator, "ruth", "web").await;
    let other = account(&mut administrator, "otto", "other").await;
    let page = reader.get("/apps/default/web").await;
    assert_eq!(page.status, 200);
    assert!(!page.body.contains("order?order=suspend"), "no order is offered");
    assert_eq!(reader.get("/apps/default/web/order?order=suspend").await.status, 403);
    for path in ["/apps", "/apps?q=web", "/changes", "/drift", "/stores", "/targets", "/audit", "/api/v1/overview"] {
        let page = other.get(path).await;
        assert_eq!(page.status, 200, "{path}");
        let shown = page.body.replace("value=\"web\"", "");
        assert!(!shown.contains("default/web") && !shown.contains("web.conf"), "{path}: {shown}");
    }
    for path in
        ["/apps/default/{}", "/apps/default/{}?tab=tree", "/api/v1/apps/default/{}", "/api/v1/drift?app=default/{}"]
    {
        let (hidden, missing) =
            (other.get(&path.replace("{}", "web")).await, other.get(&path.replace("{}", "wub")).await);
        assert_eq!((hidden.status, missing.status), (404, 404), "{path}");
        assert_eq!(hidden.body.replace("default/web", ""), missing.body.replace("default/wub", ""), "{path}");
    }
    for person in [&reader, &other] {
        assert_eq!(person.get("/access").await.status, 404, "the accounts are for administrators");
    }
    agent.stop().await;
}

#[tokio::test]
async fn a_machine_token_has_the_rights_of_its_documents_until_it_is_revoked() {
    let mut lab = lab();
    with_access(&mut lab);
    let (agent, mut administrator) = served(&mut lab).await;
    let text = &token(&mut administrator, "ci").await;
    let csrf = csrf(&administrator).await;
    let program = Browser::new(administrator.address);
    let header = format!("authorization: Bearer {text}\r\n");
    assert_eq!(program.send("GET", "/api/v1/apps/default/web", &header, "").await.status, 200);
    let order = r#"{"app":"default/web","reason":"attack","order":{"what":"hold"}}"#;
    assert_eq!(program.send("POST", "/api/v1/orders", &header, order).await.status, 403);
    assert_eq!(program.send("GET", "/apps", &header, "").await.status, 303, "pages are for people");
    let tokens = administrator.get("/access/tokens").await;
    assert!(!tokens.body.contains(text), "the text is shown once");
    let id = text.split('_').nth(1).expect("an identifier");
    let fields = [("csrf", csrf.as_str()), ("action", "revoke"), ("token", id), ("reason", "leaked")];
    assert_eq!(administrator.post("/access/tokens", &fields).await.status, 303);
    assert_eq!(program.send("GET", "/api/v1/apps/default/web", &header, "").await.status, 401);
    agent.stop().await;
}

#[tokio::test]
async fn changes_of_access_are_in_the_ledger_with_their_author() {
    let mut lab = lab();
    with_access(&mut lab);
    let (mut agent, mut administrator) = served(&mut lab).await;
    let reader = account(&mut administrator, "ruth", "web").await;
    let csrf = csrf(&administrator).await;
    let fields = [("csrf", csrf.as_str()), ("action", "disable"), ("name", "ruth"), ("reason", "she left")];
    assert_eq!(administrator.post("/access/accounts", &fields).await.status, 303);
    let records = agent
        .until("the change is in the ledger", async |agent| {
            let question = HistoryQuestion { app: None, limit: 100, before: None };
            let records = agent.client().history(&question).await.expect("it answers");
            let of_access: Vec<_> = records.into_iter().filter(|record| record.kind == "access.changed").collect();
            (of_access.len() == 5).then_some(of_access)
        })
        .await;
    let told: Vec<_> = records.iter().map(|record| (record.actor.as_str(), record.text.as_str())).rev().collect();
    assert_eq!(
        told,
        [
            (
                "account:erika",
                "number: 1, via: set-up link, what: administrator account:erika created through the set-up link"
            ),
            ("account:erika", "number: 2, via: password, what: account:erika signed in by password"),
            ("account:erika", "number: 3, via: password, what: account:ruth created"),
            ("account:ruth", "number: 4, via: password, what: account:ruth signed in by password"),
            (
                "account:erika",
                "number: 5, reason: she left, via: password, what: account:ruth disabled, 1 session ended"
            ),
        ]
    );
    assert!(administrator.get("/audit?q=she+left").await.body.contains("account:ruth disabled"));
    assert!(administrator.get("/changes").await.body.contains("account:ruth disabled"));
    assert_eq!(reader.get("/audit").await.status, 303, "the session has ended");
    agent.stop().await;
}

#[tokio::test]
async fn a_page_explains_why_someone_may_do_something() {
    let mut lab = lab();
    with_access(&mut lab);
    let (agent, mut administrator) = served(&mut lab).await;
    let reader = account(&mut administrator, "ruth", "web").await;
    token(&mut administrator, "ci").await;
    let page = async |query: &str| administrator.get(&format!("/access/rights?{query}")).await.body;
    assert!(page("").await.contains("<option value=\"account:ruth\">"));
    for who in ["who=account%3Aruth", "who=token%3Aci", "group=web"] {
        let body = page(&format!("{who}&app=default%2Fweb")).await;
        assert_eq!(
            (body.matches(">may</span>").count(), body.matches("Access default/readers, rule 1").count()),
            (1, 2),
            "{who}: {body}"
        );
    }
    assert!(page("who=account%3Aerika").await.contains("All rights"));
    assert!(page("group=nobody").await.contains("so they may do nothing"));
    assert!(page("who=account%3Anobody").await.contains("there is no account:nobody"));
    assert!(page("who=account%3Aruth&app=default%2Fnone").await.contains("there is no app default/none"));
    assert!(page("who=account%3Aruth&app=%3Cb%3E").await.contains("is not an app"));
    assert_eq!(reader.get("/access/rights").await.status, 404, "it is for administrators");
    agent.stop().await;
}

#[tokio::test]
async fn only_administrators_make_administrators() {
    let mut lab = lab();
    let access = "apiVersion: setpoint.dev/v1\nkind: Access\nmetadata: { name: desk }\nspec: { subjects: [{ group: desk }], rules: [{ verbs: [administer, see, suspend] }] }\n";
    lab.write("setpoint/desk.yaml", access);
    let (agent, mut administrator) = served(&mut lab).await;
    let mut clerk = account(&mut administrator, "clara", "desk").await;
    assert_eq!(clerk.get("/access").await.status, 200);
    let csrf = csrf(&clerk).await;
    for (action, name) in [
        ("create", "mallory"),
        ("set-password", NAME),
        ("disable", NAME),
        ("delete", NAME),
        ("make-administrator", "clara"),
        ("make-ordinary", NAME),
        ("end-sessions", NAME),
    ] {
        let mut fields = vec![
            ("csrf", csrf.as_str()),
            ("action", action),
            ("name", name),
            ("password", "mine mine my own"),
            ("reason", "x"),
        ];
        if action == "create" {
            fields.push(("administrator", "on"));
        }
        assert_eq!(clerk.post("/access/accounts", &fields).await.status, 403, "{action}");
    }
    assert_eq!(sign_in(&mut administrator, PASSWORD).await.status, 303, "the administrator is as before");
    agent.stop().await;
}

#[tokio::test]
async fn an_administrator_makes_another_one_and_ends_all_sessions_of_an_account() {
    let mut lab = lab();
    let (agent, mut administrator) = served(&mut lab).await;
    let second = account(&mut administrator, "clara", "").await;
    assert_eq!(second.get("/access").await.status, 404);
    let csrf = csrf(&administrator).await;
    let mut change = async |action: &str, name: &str, reason: &str| {
        let fields = [("csrf", csrf.as_str()), ("action", action), ("name", name), ("reason", reason)];
        administrator.post("/access/accounts", &fields).await.status
    };
    assert_eq!(change("make-administrator", "clara", " ").await, 400, "a reason is needed");
    assert_eq!(change("make-administrator", "clara", "she stands in").await, 303);
    assert_eq!(second.get("/access").await.status, 200);
    assert_eq!(change("make-ordinary", "clara", "I am back").await, 303);
    assert_eq!(second.get("/access").await.status, 404);
    assert_eq!(change("end-sessions", "clara", "a lost laptop").await, 303);
    assert_eq!(second.get("/apps").await.status, 303, "it must sign in again");
    assert_eq!(change("make-ordinary", NAME, "no one is left").await, 409, "the last administrator stays");
    agent.stop().await;
}

#[tokio::test]
async fn malformed_requests_harm_no_one() {
    let mut lab = lab();
    let (agent, browser) = served(&mut lab).await;
    let headers = "x: y\r\n".repeat(10_000);
    assert_eq!(browser.send("GET", "/apps", &headers, "").await.status, 431);
    let long = format!("GET /apps HTTP/1.1\r\nhost: a\r\nx: {}\r\n\r\n", "y".repeat(1024 * 1024));
    assert_eq!(browser.exchange(long.as_bytes()).await.status, 431);
    let body = "a".repeat(2 * 1024 * 1024);
    assert_eq!(browser.send("POST", "/sign-in", "", &body).await.status, 413);
    for path in
        ["/..%2f..%2fetc/passwd", "/assets/../../etc/passwd", "//apps", "/apps/default%2fweb", "/assets/%2e%2e/x"]
    {
        let response = browser.get(path).await;
        assert!(matches!(response.status, 400 | 404), "{path}: {}", response.status);
        assert!(!response.body.contains("root:"), "{path}");
    }
    // Slowly sent headers: the connection ends, and others are served meanwhile.
    let mut slow = TcpStream::connect(browser.address).await.expect("the server listens");
    slow.write_all(b"GET /apps HTTP/1.1\r\nhost: a\r\nx-slow:").await.expect("sent");
    // A stream that is never read.
    let mut unread = TcpStream::connect(browser.address).await.expect("the server listens");
    let request = format!("GET /api/v1/events HTTP/1.1\r\nhost: a\r\ncookie: {}\r\n\r\n", browser.cookie);
    unread.write_all(request.as_bytes()).await.expect("sent");
    let rubbish = browser.exchange(b"\x16\x03\x01\x02\x00 rubbish\r\n\r\n").await;
    assert!(matches!(rubbish.status, 0 | 400), "{rubbish:?}");
    assert_eq!(browser.get("/apps").await.status, 200);
    let mut rest = Vec::new();
    let ended = timeout(Duration::from_secs(30), slow.read_to_end(&mut rest)).await;
    ended.expect("a slow request ends").ok();
    drop(unread);
    agent.stop().await;
}

#[tokio::test]
async fn the_feed_reports_a_change_after_the_position_of_a_page() {
    let mut lab = lab();
    let (agent, browser) = served(&mut lab).await;
    let page = browser.get("/apps").await.body;
    let position =
        page.split_once("data-position=\"").and_then(|(_, rest)| rest.split_once('"')).expect("a position").0;
    let mut stream = TcpStream::connect(browser.address).await.expect("the server listens");
    let path = format!("/api/v1/events?after={position}");
    let request = format!("GET {path} HTTP/1.1\r\nhost: a\r\ncookie: {}\r\n\r\n", browser.cookie);
    stream.write_all(request.as_bytes()).await.expect("sent");
    let mut received = String::new();
    let mut until = async |event: &str| {
        let reading = async {
            while !received.contains(event) {
                let mut part = [0; 4096];
                let length = stream.read(&mut part).await.expect("the stream goes on");
                assert!(length > 0, "the stream ended: {received}");
                received.push_str(&String::from_utf8_lossy(&part[..length]));
            }
        };
        timeout(Duration::from_secs(60), reading).await.expect("it is reported");
    };
    // The first reader begins the observation of changes, which was idle before.
    until("event: reload").await;
    agent.order("web", OrderKind::Suspend { length: Span::hours(1) }).await;
    until("event: app").await;
    agent.stop().await;
}

#[tokio::test]
async fn behind_a_proxy_all_paths_are_below_that_of_the_url() {
    let mut lab = lab();
    let address = lab.serve();
    lab.serve_with("url: 'https://ops.example/setpoint', trustedProxies: [127.0.0.1]");
    let (agent, browser) = served_at(&mut lab, address, "/setpoint").await;
    let page = browser.get("/setpoint/apps").await;
    assert_eq!(page.status, 200);
    for link in page.body.split("href=\"").skip(1).filter_map(|rest| rest.split('"').next()) {
        assert!(link.starts_with("/setpoint/") || link.starts_with('#'), "{link}");
    }
    assert_eq!(browser.get("/setpoint/api/v1/apps").await.status, 200);
    assert_eq!(browser.get("/apps").await.status, 404);
    let stranger = Browser::new(address);
    let sign_in = stranger.get("/setpoint/drift").await.header("location").to_owned();
    assert_eq!(sign_in, "/setpoint/sign-in?next=%2Fsetpoint%2Fdrift");
    let csrf = browser.get("/setpoint/apps/default/web/order?order=suspend").await.field("csrf");
    let fields = [("csrf", csrf.as_str()), ("order", "suspend"), ("reason", "night"), ("length", "1h")];
    let path = "/setpoint/apps/default/web/orders";
    let ordered = browser.clone().post_with(path, "origin: https://ops.example\r\n", &fields).await;
    assert_eq!((ordered.status, ordered.header("location")), (303, "/setpoint/apps/default/web"));
    agent.stop().await;
}

/// Requests a page over TLS, as a client that trusts only this authority.
async fn over_tls(address: SocketAddr, authority: &Authority) -> Result<String, reqwest::Error> {
    let trusted = reqwest::Certificate::from_pem(authority.pem().as_bytes()).expect("a certificate");
    let client = reqwest::Client::builder().tls_certs_only([trusted]).resolve("localhost", address).no_proxy();
    let url = format!("https://localhost:{}/healthz", address.port());
    client.build().expect("a client").get(url).send().await?.text().await
}

#[tokio::test]
async fn a_certificate_that_is_replaced_is_used_for_new_connections() {
    let mut lab = lab();
    let address = lab.serve();
    let (certificate, key) = (lab.path().join("tls.crt"), lab.path().join("tls.key"));
    let install = |authority: &Authority| {
        let pair = authority.for_loopback();
        std::fs::write(&certificate, pair.certificate).expect("it is ours");
        std::fs::write(&key, pair.key).expect("it is ours");
    };
    let (first, second) = (Authority::fresh(), Authority::fresh());
    install(&first);
    lab.serve_with(&format!("tls: {{ certificateFile: {}, keyFile: {} }}", certificate.display(), key.display()));
    lab.commit();
    let agent = lab.start().await;
    assert_eq!(over_tls(address, &first).await.expect("a response"), "ok\n");
    assert!(over_tls(address, &second).await.is_err(), "another authority has not signed it");
    std::fs::write(&certificate, "half a certificate").expect("it is ours");
    assert_eq!(over_tls(address, &first).await.expect("the former certificate is in force"), "ok\n");
    install(&second);
    assert_eq!(over_tls(address, &second).await.expect("a response"), "ok\n");
    assert_eq!(Browser::new(address).get("/healthz").await.status, 0, "nothing is served without TLS");
    agent.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn monitors_need_no_account_and_learn_when_the_agent_can_act() {
    let mut lab = lab();
    let address = lab.serve();
    // A store that accepts connections, and never responds.
    let silent = std::net::TcpListener::bind("127.0.0.1:0").expect("an address");
    let url = format!("https://{}/state.git", silent.local_addr().expect("it is bound"));
    lab.reach_by(format!("url: '{url}'"));
    let mut agent = lab.start().await;
    let stranger = Browser::new(address);
    let ready = async |expected: (u16, &str)| {
        let response = stranger.get("/readyz").await;
        ((response.status, response.body.as_str()) == expected).then_some(())
    };
    let unread = (503, "the stores have not been read yet\n");
    agent.until("the ledger is held", async |_| ready(unread).await).await;
    assert_eq!(stranger.get("/healthz").await.body, "ok\n");
    drop(silent);
    agent.until("a store that fails was tried", async |_| ready((200, "ready\n")).await).await;
    agent.stop().await;
}
