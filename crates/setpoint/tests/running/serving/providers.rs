//! Sign-in at a real identity provider, in a process of its own.

use std::collections::BTreeMap;
use std::net::SocketAddr;

use setpoint_testbed::identity_provider::IdentityProvider;
use setpoint_testbed::node::Node;

use super::browser::{Browser, Response};
use super::{Agent, Lab, NAME, PASSWORD, csrf, lab, served_at};

/// People of the provider: the subject, the name, and the groups. One has the name of the local
/// administrator.
const PEOPLE: [(&str, &str, &[&str]); 3] =
    [("id-1", NAME, &["web", "staff"]), ("id-2", "otto", &["other", "staff"]), ("id-3", "nemo\u{202e}", &["web"])];

/// A browser of a person, which follows redirects between servers and keeps the cookies of each.
#[derive(Clone, Debug, Default)]
struct Person {
    cookies: BTreeMap<SocketAddr, BTreeMap<String, String>>,
    /// The last addresses, with the parameters of each.
    visited: Vec<String>,
}

impl Person {
    fn browser(&self, server: SocketAddr) -> Browser {
        let cookies = self.cookies.get(&server).into_iter().flatten();
        let cookies: Vec<String> = cookies.map(|(name, value)| format!("{name}={value}")).collect();
        Browser { cookie: cookies.join("; "), ..Browser::new(server) }
    }

    /// Opens an address, and follows redirects until a page.
    async fn open(&mut self, url: &str) -> Response {
        let (server, path) = parts(url);
        let response = self.browser(server).get(path).await;
        self.visited.push(url.to_owned());
        self.follow(server, response).await
    }

    /// Sends a form, and follows redirects until a page.
    async fn submit(&mut self, url: &str, fields: &[(&str, &str)]) -> Response {
        let (server, path) = parts(url);
        let response = self.browser(server).post(path, fields).await;
        self.follow(server, response).await
    }

    async fn follow(&mut self, mut server: SocketAddr, mut response: Response) -> Response {
        for _ in 0..20 {
            self.keep_cookies(server, &response);
            if !matches!(response.status, 302 | 303) {
                return response;
            }
            let location = response.header("location").to_owned();
            let url = if location.starts_with('/') { format!("http://{server}{location}") } else { location };
            let (next, path) = parts(&url);
            response = self.browser(next).get(path).await;
            server = next;
            self.visited.push(url);
        }
        panic!("too many redirects: {:#?}", self.visited);
    }

    fn keep_cookies(&mut self, server: SocketAddr, response: &Response) {
        let lines = response.head.lines().filter_map(|line| line.split_once(": "));
        for (_, cookie) in lines.filter(|(name, _)| name.eq_ignore_ascii_case("set-cookie")) {
            let (pair, properties) = cookie.split_once(';').unwrap_or((cookie, ""));
            let (name, value) = pair.split_once('=').expect("a name and a value");
            let jar = self.cookies.entry(server).or_default();
            if properties.contains("Max-Age=0") {
                jar.remove(name);
            } else {
                jar.insert(name.to_owned(), value.to_owned());
            }
        }
    }

    /// Signs in at the provider, as the person with this subject, and consents.
    async fn sign_in(&mut self, server: SocketAddr, subject: &str) -> Response {
        let form = self.open(&format!("http://{server}/sign-in/corporate?next=%2Fapps%3Fq%3Dweb")).await;
        assert_eq!(form.field("prompt"), "login", "{}: {}", form.head, form.body);
        let fields = [("prompt", "login"), ("login", subject), ("password", "any")];
        let consent = self.submit(&action(&form), &fields).await;
        assert_eq!(consent.field("prompt"), "consent", "{}: {}", consent.head, consent.body);
        self.submit(&action(&consent), &[("prompt", "consent")]).await
    }

    /// Returns the address at which the provider has sent the browser back.
    fn callback(&self) -> &str {
        let is_callback = |url: &&String| url.contains("/sign-in/corporate/callback?");
        self.visited.iter().rfind(is_callback).expect("the browser came back")
    }
}

fn parts(url: &str) -> (SocketAddr, &str) {
    let rest = url.strip_prefix("http://").unwrap_or_else(|| panic!("an address of this machine: {url}"));
    let start = rest.find('/').unwrap_or(rest.len());
    (rest[..start].parse().expect("an address and a port"), &rest[start..])
}

fn action(form: &Response) -> String {
    let (_, rest) = form.body.split_once("action=\"").expect("a form");
    rest.split_once('"').expect("an end").0.to_owned()
}

/// Declares who may do what: the group `web` of the provider sees the app `web`, the group `other`
/// of the provider has all rights on an empty scope, and `staff` of another provider sees all.
fn declare_access(lab: &mut Lab) {
    lab.write("setpoint/other.yaml", "apiVersion: setpoint.dev/v1\nkind: Scope\nmetadata: { name: other }\nspec: {}\n");
    for (name, scope, subject, verb) in [
        ("web", "default", "{ group: web, provider: corporate }", "see"),
        ("others", "other", "{ group: other, provider: corporate }", "all"),
        ("strangers", "default", "{ group: staff, provider: partner }", "see"),
        ("administrators", "default", &format!("{{ account: {NAME} }}"), "administer"),
    ] {
        let text = format!(
            "apiVersion: setpoint.dev/v1\nkind: Access\nmetadata: {{ name: {name}, scope: {scope} }}\nspec: {{ subjects: [{subject}], rules: [{{ verbs: [{verb}] }}] }}\n"
        );
        lab.write(&format!("setpoint/access-{name}.yaml"), &text);
    }
}

/// An agent, its administrator, and the provider of its people. All of it must be bound by a test:
/// what is not ends at once.
struct Installation {
    lab: Lab,
    agent: Agent,
    administrator: Browser,
    provider: IdentityProvider,
    server: SocketAddr,
}

/// Starts an agent and a provider. Without Node, the test is reported as skipped.
async fn installation() -> Option<Installation> {
    installation_with(str::to_owned).await
}

/// Starts them with another `issuer` than the provider's own.
async fn installation_with(issuer: impl FnOnce(&str) -> String) -> Option<Installation> {
    let node = Node::find().inspect_err(|reason| setpoint_testbed::skipped(reason)).ok()?;
    let mut lab = lab();
    declare_access(&mut lab);
    let server = lab.serve();
    let redirect = format!("http://{server}/sign-in/corporate/callback");
    let provider = IdentityProvider::start(&node, &redirect, &PEOPLE);
    let (client, secret) = IdentityProvider::CLIENT;
    let file = lab.path().join("client-secret");
    std::fs::write(&file, format!("{secret}\n")).expect("it is ours");
    lab.serve_with(&format!(
        "providers: [{{ name: corporate, title: Example Corp, issuer: '{}', clientId: {client}, clientSecretFile: {} }}]",
        issuer(provider.issuer()),
        file.display()
    ));
    let (agent, administrator) = served_at(&mut lab, server, "").await;
    Some(Installation { lab, agent, administrator, provider, server })
}

#[tokio::test]
async fn people_of_a_provider_have_the_rights_of_their_groups() {
    let Some(Installation { agent, administrator, server, lab: _lab, provider: _provider }) = installation().await
    else {
        return;
    };
    let page = Browser::new(server).get("/sign-in?next=%2Fdrift").await.body;
    assert!(page.contains("Continue with Example Corp"), "{page}");
    assert!(page.contains("href=\"/sign-in/corporate?next=%2Fdrift\""), "{page}");

    let mut reader = Person::default();
    let page = reader.sign_in(server, "id-1").await;
    assert_eq!(page.status, 200, "{}", page.body);
    assert!(reader.visited.last().expect("a page").ends_with("/apps?q=web"), "{:?}", reader.visited);
    assert!(page.body.contains("/apps/default/web") && page.body.contains(NAME), "{}", page.body);
    let reader = reader.browser(server);
    assert!(!reader.cookie.contains("sign-in"), "the cookie of the sign-in is gone: {}", reader.cookie);
    for path in ["/access", "/account"] {
        assert_eq!(reader.get(path).await.status, 404, "{path}: the local account of this name is another person");
    }
    assert_eq!(reader.get("/apps/default/web/order?order=suspend").await.status, 403);

    let mut other = Person::default();
    assert_eq!(other.sign_in(server, "id-2").await.status, 200);
    let other = other.browser(server);
    for path in ["/apps", "/changes", "/drift", "/stores", "/targets", "/audit", "/api/v1/overview"] {
        let page = other.get(path).await;
        assert_eq!(page.status, 200, "{path}");
        assert!(!page.body.contains("default/web") && !page.body.contains("web.conf"), "{path}: {}", page.body);
    }
    let (hidden, missing) = (other.get("/api/v1/apps/default/web").await, other.get("/api/v1/apps/default/wub").await);
    assert_eq!((hidden.status, hidden.body.replace("default/web", "")), (404, missing.body.replace("default/wub", "")));

    let sessions = administrator.get("/access/sessions").await.body;
    for shown in ["oidc:corporate/id-1", "oidc:corporate/id-2", "provider corporate"] {
        assert!(sessions.contains(shown), "{shown}: {sessions}");
    }
    agent.stop().await;
}

#[tokio::test]
async fn an_administrator_ends_the_session_of_a_person() {
    let Some(Installation { agent, mut administrator, server, lab: _lab, provider: _provider }) = installation().await
    else {
        return;
    };
    let mut reader = Person::default();
    reader.sign_in(server, "id-1").await;
    let reader = reader.browser(server);
    assert_eq!(reader.get("/api/v1/apps/default/web").await.status, 200);
    let page = administrator.get("/access/sessions").await.body;
    let (_, row) = page.split_once("oidc:corporate/id-1").expect("the session is listed");
    let session = row.split_once("name=\"session\" value=\"").and_then(|(_, rest)| rest.split_once('"'));
    let csrf = csrf(&administrator).await;
    let fields = [("csrf", csrf.as_str()), ("session", session.expect("an identifier").0)];
    assert_eq!(administrator.post("/access/sessions", &fields).await.status, 303);
    assert_eq!(reader.get("/api/v1/apps/default/web").await.status, 401);
    agent.stop().await;
}

#[tokio::test]
async fn a_response_of_the_provider_opens_nothing_in_another_browser_or_twice() {
    let Some(Installation { agent, server, lab: _lab, provider: _provider, .. }) = installation().await else { return };
    let mut victim = Person::default();
    victim.open(&format!("http://{server}/sign-in/corporate")).await;
    let before = victim.cookies.clone();
    let mut attacker = Person::default();
    attacker.sign_in(server, "id-1").await;
    let callback = attacker.callback().to_owned();
    for mut browser in [Person::default(), victim.clone()] {
        let refused = browser.open(&callback).await;
        assert_eq!(refused.status, 400);
        assert!(refused.body.contains("did not begin in this browser"), "{}", refused.body);
        assert!(!browser.browser(server).cookie.contains("__Host-setpoint="), "no session began");
    }
    assert_eq!(before, victim.cookies, "its own sign-in goes on");

    let mut twice = Person::default();
    let begun = twice.open(&format!("http://{server}/sign-in/corporate")).await;
    let sealed = twice.cookies[&server].clone();
    let fields = [("prompt", "login"), ("login", "id-1"), ("password", "any")];
    let consent = twice.submit(&action(&begun), &fields).await;
    assert_eq!(twice.submit(&action(&consent), &[("prompt", "consent")]).await.status, 200);
    let callback = twice.callback().to_owned();
    assert_eq!(twice.open(&callback).await.status, 400, "the cookie of the sign-in is gone");
    let mut replayed = Person { cookies: [(server, sealed)].into(), ..Person::default() };
    let refused = replayed.open(&callback).await;
    assert_eq!(refused.status, 400);
    assert!(refused.body.contains("has ended before"), "{}", refused.body);
    agent.stop().await;
}

#[tokio::test]
async fn the_words_of_the_provider_are_shown_as_text() {
    let Some(Installation { agent, server, lab: _lab, provider: _provider, .. }) = installation().await else { return };
    let mut person = Person::default();
    person.open(&format!("http://{server}/sign-in/corporate?next=%2Fdrift")).await;
    let page = person.visited.iter().find(|url| url.contains("state=")).expect("the address has a state");
    let state = page.split_once("state=").and_then(|(_, rest)| rest.split('&').next()).expect("a state").to_owned();
    let words = "error=access_denied&error_description=%3Cb%3Enot+today%3C%2Fb%3E";
    let refused = person.open(&format!("http://{server}/sign-in/corporate/callback?state={state}&{words}")).await;
    assert_eq!(refused.status, 403);
    assert!(refused.body.contains("access_denied: &#60;b&#62;not today&#60;/b&#62;"), "{}", refused.body);
    assert!(refused.body.contains("href=\"/sign-in/corporate?next=%2Fdrift\""), "another try leads to the same page");
    agent.stop().await;
}

#[tokio::test]
async fn a_name_that_could_deceive_is_refused_with_the_reason() {
    let Some(Installation { agent, server, lab: _lab, provider: _provider, .. }) = installation().await else { return };
    let mut person = Person::default();
    let refused = person.sign_in(server, "id-3").await;
    assert_eq!(refused.status, 403);
    assert!(refused.body.contains("has invisible characters"), "{}", refused.body);
    let warned = agent.said().iter().any(|line| line.contains("sign-in refused") && line.contains("corporate"));
    assert!(warned, "{:#?}", agent.said());
    agent.stop().await;
}

#[tokio::test]
async fn local_accounts_sign_in_while_the_provider_is_down() {
    let Some(Installation { agent, provider, server, lab: _lab, .. }) = installation().await else { return };
    drop(provider);
    let down = Browser::new(server).get("/sign-in/corporate").await;
    assert_eq!(down.status, 503);
    assert!(down.body.contains("the provider cannot be used now") && down.body.contains("refused"), "{}", down.body);
    let mut administrator = Browser::new(server);
    let signed_in = administrator.post("/sign-in", &[("account", NAME), ("password", PASSWORD)]).await;
    assert_eq!(signed_in.status, 303);
    assert_eq!(Browser::new(server).get("/sign-in/nowhere").await.status, 404);
    agent.stop().await;
}

#[tokio::test]
async fn a_provider_with_another_issuer_is_not_used() {
    let other_name = |issuer: &str| issuer.replace("127.0.0.1", "localhost");
    let Some(Installation { agent, server, lab: _lab, provider: _provider, .. }) = installation_with(other_name).await
    else {
        return;
    };
    let refused = Browser::new(server).get("/sign-in/corporate").await;
    assert_eq!(refused.status, 503);
    assert!(refused.body.contains("it names itself `http://127.0.0.1:"), "{}", refused.body);
    agent.stop().await;
}

#[tokio::test]
async fn the_sessions_of_a_provider_that_is_removed_do_not_count() {
    let Some(Installation { mut lab, agent, server, provider: _provider, .. }) = installation().await else { return };
    let mut reader = Person::default();
    reader.sign_in(server, "id-1").await;
    let reader = reader.browser(server);
    agent.stop().await;
    let agent = lab.start().await;
    assert_ne!(reader.get("/api/v1/apps/default/web").await.status, 401, "sessions outlive the agent");
    agent.stop().await;
    lab.serve_at(server);
    let agent = lab.start().await;
    assert_eq!(reader.get("/api/v1/apps/default/web").await.status, 401);
    agent.stop().await;
}

#[tokio::test]
async fn no_secret_of_a_sign_in_is_logged() {
    let Some(Installation { mut agent, server, lab: _lab, provider: _provider, .. }) = installation().await else {
        return;
    };
    let mut person = Person::default();
    person.sign_in(server, "id-1").await;
    let told = |log: &String| log.contains("signed in by provider corporate") && log.contains("oidc:corporate/id-1");
    let logged = async |agent: &Agent| Some(agent.said().join("\n")).filter(told);
    let log = agent.until("the sign-in is recorded", logged).await;
    let (_, parameters) = person.callback().split_once('?').expect("parameters");
    let secrets = parameters.split('&').filter_map(|pair| pair.split_once('='));
    let secrets = secrets.filter(|(name, _)| matches!(*name, "code" | "state")).map(|(_, value)| value);
    let cookies = person.cookies[&server].values().map(String::as_str);
    for secret in secrets.chain(cookies).chain([IdentityProvider::CLIENT.1]) {
        assert!(secret.len() > 20 && !log.contains(secret), "{log}");
    }
    agent.stop().await;
}
