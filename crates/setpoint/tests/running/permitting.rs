//! Callers with restricted rights, at every method of the API of a running agent: what they may not
//! see does not exist for them, and what they may not do is refused.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use futures_util::StreamExt;
use serde::Serialize;
use setpoint_api::agent::{Agent, Parts, Reply};
use setpoint_api::answer::{
    AppDetail, AppState, AppTree, AppsPage, Change, DriftRecord, Explained, FeedEvent, Fleet, HistoryChange,
    HistoryRecord, LogPart, NotifyTested, Ordered, Overview, PlanAnswer, Readiness, RecordProof, VersionDetail,
};
use setpoint_api::question::{
    AppsQuestion, DriftQuestion, ExplainQuestion, HistoryQuestion, LogQuestion, OrderKind, OrderRequest, PlanRequest,
    VersionQuestion,
};
use setpoint_api::rights::Names;
use setpoint_api::{Caller, Grant, Principal, Problem, ProblemKind, Rights, Verb, Via};
use setpoint_core::intent::IntentId;
use setpoint_core::name::{Actor, AppId};
use setpoint_core::time::Span;
use tokio::time::timeout;

use super::lab::{self, Lab};

/// Words that only occur in what belongs to the scope `vault`.
const OF_VAULT: [&str; 3] = ["vault", "jewels", "barn"];

/// The app of the scope `web` that does not have the label of the others.
const UNLABELLED: &str = "web/cart";

/// Passes requests on, and records which methods were called.
#[derive(Debug)]
struct Recorder {
    agent: Arc<dyn Agent>,
    called: Mutex<BTreeSet<&'static str>>,
}

/// Implements all methods of the API for the recorder. A new method of the trait does not compile
/// before it is listed here, and the test fails until the matrix calls it.
macro_rules! record {
    ($( $method:ident($($argument:ident: $type:ty)?) -> $reply:ty; )*) => {
        const METHODS: &[&str] = &[$(stringify!($method)),*];

        impl Agent for Recorder {
            $(
                fn $method<'a>(&'a self, caller: &'a Caller $(, $argument: $type)?) -> Reply<'a, $reply> {
                    self.called.lock().expect("no test panics here").insert(stringify!($method));
                    self.agent.$method(caller $(, $argument)?)
                }
            )*
        }
    };
}

record! {
    overview() -> Overview;
    fleet() -> Fleet;
    readiness() -> Readiness;
    metrics() -> String;
    apps(question: AppsQuestion) -> AppsPage;
    app(app: AppId) -> AppDetail;
    tree(app: AppId) -> AppTree;
    logs(question: LogQuestion) -> Parts<LogPart>;
    history(question: HistoryQuestion) -> Vec<HistoryRecord>;
    proof(seq: u64) -> RecordProof;
    changes(question: HistoryQuestion) -> Vec<HistoryChange>;
    version(question: VersionQuestion) -> VersionDetail;
    drift(question: DriftQuestion) -> Vec<DriftRecord>;
    plan(request: PlanRequest) -> PlanAnswer;
    explain(question: ExplainQuestion) -> Explained;
    events(after: Option<u64>) -> Parts<FeedEvent>;
    order(request: OrderRequest) -> Ordered;
    test_notifiers() -> Vec<NotifyTested>;
}

fn id(app: &str) -> AppId {
    app.parse().expect("an app")
}

fn caller(rights: Rights) -> Caller {
    Caller { actor: Actor::new("token:test").expect("an actor"), rights, via: Via::Token { name: "test".into() } }
}

/// One row of the matrix: the verbs of a caller, its scope, and whether it is restricted by a label.
#[derive(Clone, Debug)]
struct Case {
    verbs: BTreeSet<Verb>,
    scope: &'static str,
    labelled: bool,
}

impl Case {
    fn all() -> Vec<Self> {
        let mut cases = Vec::new();
        for scope in ["web", "vault"] {
            for labelled in [false, true] {
                for verb in Verb::ALL {
                    for verbs in [BTreeSet::from([verb]), BTreeSet::from([verb, Verb::See])] {
                        cases.push(Self { verbs, scope, labelled });
                    }
                }
            }
        }
        cases
    }

    fn caller(&self) -> Caller {
        let labels = if self.labelled { [("team".to_owned(), "checkout".to_owned())].into() } else { BTreeMap::new() };
        caller(Rights::granted([Grant {
            verbs: self.verbs.clone(),
            scopes: Names::Only([self.scope.to_owned()].into()),
            environments: Names::Any,
            targets: Names::Any,
            labels,
            from: "the test".to_owned(),
        }]))
    }

    fn reaches(&self, app: &str) -> bool {
        app.starts_with(&format!("{}/", self.scope)) && (!self.labelled || app != UNLABELLED)
    }

    fn allows(&self, verb: Verb, app: &str) -> bool {
        self.reaches(app) && self.verbs.contains(&verb)
    }

    /// Returns words that no response to this caller may contain.
    fn hidden(&self) -> Vec<&'static str> {
        let sees = self.verbs.contains(&Verb::See);
        let of_web = [("shop", "web/shop"), ("tardy", "web/tardy"), ("cart", UNLABELLED)];
        let of_web = of_web.into_iter().filter(|(_, app)| !sees || !self.reaches(app)).map(|(word, _)| word);
        let of_vault = OF_VAULT.into_iter().filter(|_| !sees || self.scope != "vault");
        of_web.chain(of_vault).collect()
    }
}

/// A response, as text.
type Outcome = Result<String, Problem>;

fn text<T: Serialize>(response: Result<T, Problem>) -> Outcome {
    response.map(|value| serde_json::to_string(&value).expect("responses are JSON"))
}

/// Returns the responses of all methods about one app, with the verb that each needs.
async fn about(agent: &dyn Agent, caller: &Caller, app: &str) -> Vec<(&'static str, Verb, Outcome)> {
    let (app, name) = (id(app), app);
    let history = || HistoryQuestion { app: Some(app.clone()), limit: 1000, before: None };
    let logs = LogQuestion {
        app: app.clone(),
        object: None,
        follow: false,
        since: None,
        tail: None,
        container: None,
        previous: false,
    };
    let lamp = format!("Light/{}-lamp", name.replace('/', "-")).parse().expect("an object");
    let explain = ExplainQuestion { app: app.clone(), object: lamp, namespace: None, field: String::new(), rev: None };
    let plan = PlanRequest { app: Some(app.clone()), rev: None };
    let plan_of_version = PlanRequest { app: Some(app.clone()), rev: Some("0123456789".to_owned()) };
    let mut outcomes = vec![
        ("app", Verb::See, text(agent.app(caller, app.clone()).await)),
        ("tree", Verb::See, text(agent.tree(caller, app.clone()).await)),
        ("logs", Verb::Logs, agent.logs(caller, logs).await.map(|_| String::new())),
        ("history", Verb::See, text(agent.history(caller, history()).await)),
        ("changes", Verb::See, text(agent.changes(caller, history()).await)),
        ("drift", Verb::See, text(agent.drift(caller, DriftQuestion { app: Some(app.clone()), limit: 1000 }).await)),
        ("plan", Verb::Plan, text(agent.plan(caller, plan).await)),
        ("explain", Verb::Plan, text(agent.explain(caller, explain).await)),
    ];
    let planned = agent.plan(caller, plan_of_version).await.map_err(|mut problem| {
        // That there is no such version is not that there is no such app.
        if problem.message.contains("has a version") {
            problem.kind = ProblemKind::Conflict;
        }
        problem
    });
    outcomes.push(("plan of a version", Verb::Plan, text(planned)));
    let intent = IntentId { epoch: 1, number: 1 };
    let orders = [
        OrderKind::Sync { allow_prune: 1 },
        OrderKind::Suspend { length: Span::minutes(1) },
        OrderKind::Resume,
        OrderKind::Hold,
        OrderKind::Release { accept: None },
        OrderKind::Settle { intent, done: true },
    ];
    for order in orders {
        let verb = Verb::of(&order);
        // Without a reason, an order that is allowed is refused later, and changes nothing.
        let request = OrderRequest { app: app.clone(), reason: String::new(), order };
        outcomes.push(("order", verb, text(agent.order(caller, request).await)));
    }
    outcomes
}

/// Returns the responses of all methods that are not about one app.
async fn about_all(agent: &dyn Agent, caller: &Caller) -> Vec<(&'static str, Outcome)> {
    let history = || HistoryQuestion { app: None, limit: 10_000, before: None };
    let q = AppsQuestion { q: Some("a".to_owned()), ..AppsQuestion::default() };
    let first_event = match agent.events(caller, None).await {
        Ok(mut events) => Ok(events.next().await),
        Err(problem) => Err(problem),
    };
    vec![
        ("overview", text(agent.overview(caller).await)),
        ("fleet", text(agent.fleet(caller).await)),
        ("readiness", text(agent.readiness(caller).await)),
        ("apps", text(agent.apps(caller, AppsQuestion::default()).await)),
        ("search", text(agent.apps(caller, q).await)),
        ("history", text(agent.history(caller, history()).await)),
        ("changes", text(agent.changes(caller, history()).await)),
        ("drift", text(agent.drift(caller, DriftQuestion { app: None, limit: 10_000 }).await)),
        ("plan", text(agent.plan(caller, PlanRequest { app: None, rev: None }).await)),
        ("events", text(first_event)),
    ]
}

/// Returns a lab with two scopes on one system. `web/shop` declares an object that `vault/jewels`
/// owns, and `web/tardy` waits for `web/cart`.
fn two_scopes() -> Lab {
    let mut lab = Lab::new();
    let document = |kind: &str, metadata: &str, spec: &str| {
        format!("apiVersion: setpoint.dev/v1\nkind: {kind}\nmetadata: {{ {metadata} }}\nspec: {spec}\n")
    };
    let mut documents = vec![
        document("Target", "name: house", "{ kind: memory, system: house }"),
        document("Target", "name: barn, scope: vault", "{ kind: memory, system: barn }"),
        document("Scope", "name: web", "{ stores: [bootstrap], targets: [house] }"),
        document("Scope", "name: vault", "{ stores: [bootstrap], targets: [house] }"),
    ];
    for (app, target, team, more) in [
        ("vault/jewels", "house", "checkout", ""),
        ("vault/straw", "barn", "checkout", ""),
        ("web/cart", "house", "search", ", sync: { mode: manual }"),
        ("web/tardy", "house", "checkout", ", sync: { dependsOn: [cart] }"),
        ("web/shop", "house", "checkout", ", sync: { dependsOn: [] }"),
    ] {
        let (scope, name) = app.split_once('/').expect("a scope");
        let metadata = format!("name: {name}, scope: {scope}, labels: {{ team: {team} }}");
        let inputs = format!("[{{ name: main, store: bootstrap, path: apps/{scope}-{name} }}]");
        let spec = format!("{{ component: {name}, environment: {scope}, inputs: {inputs}, target: {target}{more} }}");
        documents.push(document("App", &metadata, &spec));
        light(&mut lab, app, &format!("{scope}-{name}-lamp"));
    }
    lab.write("setpoint/all.yaml", &documents.join("---\n"));
    light(&mut lab, "vault/jewels", "shared");
    lab
}

fn light(lab: &mut Lab, app: &str, name: &str) {
    let text =
        format!("apiVersion: house.example/v1\nkind: Light\nmetadata: {{ name: {name} }}\nspec: {{ brightness: 1 }}\n");
    lab.write(&format!("apps/{}/{name}.yaml", app.replace('/', "-")), &text);
}

fn is_denied(outcome: &Outcome) -> bool {
    matches!(outcome, Err(Problem { kind: ProblemKind::Missing | ProblemKind::Forbidden, .. }))
}

/// Starts an agent on the two scopes, and waits until `web/shop` withholds a change because of
/// `vault/jewels`, and `web/tardy` one because of `web/cart`.
async fn start(lab: &mut Lab) -> lab::Agent {
    lab.commit();
    let mut agent = lab.start().await;
    let local = caller(Rights::All);
    let state = async |agent: &lab::Agent, app: &str| agent.api().app(&local, id(app)).await.ok();
    let owned = async |agent: &lab::Agent| {
        let detail = state(agent, "vault/jewels").await?;
        (detail.summary.state == AppState::Converged).then_some(())
    };
    agent.until("vault/jewels has converged", owned).await;
    light(lab, "web/shop", "shared");
    // A version that both scopes accept.
    light(lab, "vault/jewels", "second-lamp");
    lab.commit();
    agent.hint().await;
    let withheld = async |agent: &lab::Agent| {
        let (shop, tardy) = (state(agent, "web/shop").await?, state(agent, "web/tardy").await?);
        let names = |detail: &AppDetail, other: &str| {
            detail.report.iter().any(|withheld| withheld.why.to_string().contains(other))
        };
        (names(&shop, "vault/jewels") && names(&tardy, "web/cart")).then_some(())
    };
    agent.until("apps withhold changes because of others", withheld).await;
    agent
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_method_shows_and_does_only_what_its_caller_may() {
    let mut lab = two_scopes();
    let agent = start(&mut lab).await;
    let recorder = Recorder { agent: agent.api(), called: Mutex::default() };
    let version = VersionQuestion { version: lab.head().to_owned() };
    let newest = HistoryQuestion { app: None, limit: 1, before: None };
    let newest = recorder.history(&caller(Rights::All), newest).await.expect("it answers");
    let records = newest[0].seq + 3;
    for case in Case::all() {
        let caller = case.caller();
        for (method, outcome) in about_all(&recorder, &caller).await {
            let outcome = outcome.unwrap_or_else(|problem| panic!("{case:?}: {method}: {problem}"));
            for word in case.hidden() {
                assert!(!outcome.contains(word), "{case:?}: {method} names {word}: {outcome}");
            }
        }
        // The version is one of apps of both scopes.
        match recorder.version(&caller, version.clone()).await {
            Ok(detail) => {
                let detail = text(Ok(detail)).expect("it is one");
                case.hidden().iter().for_each(|word| assert!(!detail.contains(word), "{case:?}: {word}: {detail}"));
                assert!(case.allows(Verb::See, "web/shop") || case.allows(Verb::See, "vault/jewels"), "{case:?}");
            }
            Err(problem) => {
                assert_eq!(problem.kind, ProblemKind::Missing, "{case:?}");
                assert!(!case.verbs.contains(&Verb::See), "{case:?}: {problem}");
            }
        }
        // Each record is one of the apps that the caller sees, or there is none of its number.
        let seen = HistoryQuestion { app: None, limit: 10_000, before: None };
        let seen = recorder.history(&caller, seen).await.expect("it answers");
        for seq in 0..records {
            match recorder.proof(&caller, seq).await {
                Ok(proof) => {
                    assert!(seen.iter().any(|record| record.seq == seq), "{case:?}: {}", proof.record);
                    let hidden = case.hidden().into_iter().find(|word| proof.record.contains(word));
                    assert_eq!(hidden, None, "{case:?}: {}", proof.record);
                }
                Err(problem) if problem.kind == ProblemKind::Forbidden => {
                    assert!(seen.iter().any(|record| record.seq == seq), "{case:?}: {problem}");
                }
                Err(problem) => assert_eq!(problem.message, format!("there is no record {seq}"), "{case:?}"),
            }
        }
        let measured = recorder.metrics(&caller).await.expect_err("they are sums over all scopes");
        assert_eq!(measured.kind, ProblemKind::Forbidden, "{case:?}");
        let tested = recorder.test_notifiers(&caller).await.expect_err("no rule of a scope allows it");
        assert_eq!(tested.kind, ProblemKind::Forbidden, "{case:?}");
        for app in ["web/shop", "web/tardy", "web/cart", "vault/jewels"] {
            let sees = case.allows(Verb::See, app);
            let absent = format!("{}/nothing-of-this-name", app.split('/').next().unwrap_or_default());
            let missing = about(&recorder, &caller, &absent).await;
            let found = about(&recorder, &caller, app).await;
            for ((method, verb, outcome), (_, _, missing)) in found.into_iter().zip(missing) {
                let what = format!("{case:?}: {method} ({verb}) of {app}");
                if !sees {
                    // Word for word the response for an app that does not exist.
                    let hidden = outcome.expect_err(&what);
                    let missing = missing.expect_err(&what);
                    assert_eq!(hidden.kind, ProblemKind::Missing, "{what}: {hidden}");
                    assert_eq!(hidden.message.replace(app, &absent), missing.message, "{what}");
                } else if case.allows(verb, app) {
                    assert!(!is_denied(&outcome), "{what}: {outcome:?}");
                    let text = outcome.unwrap_or_else(|problem| problem.message);
                    for word in case.hidden() {
                        assert!(!text.contains(word), "{what} names {word}: {text}");
                    }
                } else {
                    assert_eq!(outcome.expect_err(&what).kind, ProblemKind::Forbidden, "{what}");
                }
            }
        }
    }
    let called = recorder.called.lock().expect("no test panics here").clone();
    assert_eq!(called, METHODS.iter().copied().collect(), "the matrix calls every method");
    drop(recorder);
    agent.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn reasons_name_no_app_that_the_caller_may_not_see_and_counts_leave_it_out() {
    let mut lab = two_scopes();
    let agent = start(&mut lab).await;
    let api = agent.api();
    let case = Case { verbs: [Verb::See, Verb::Plan].into(), scope: "web", labelled: true };
    let (restricted, local) = (case.caller(), caller(Rights::All));

    let report = async |caller: &Caller, app: &str| {
        let detail = api.app(caller, id(app)).await.expect("it is visible");
        detail.report.iter().map(|withheld| withheld.why.to_string()).collect::<Vec<_>>().join("; ")
    };
    for (app, other) in [("web/shop", "app vault/jewels owns it"), ("web/tardy", "it waits for app web/cart")] {
        let (full, redacted) = (report(&local, app).await, report(&restricted, app).await);
        assert!(full.contains(other), "{full}");
        assert!(redacted.contains("app another/app"), "{redacted}");
    }

    let (all, some) = (api.overview(&local).await.expect("it"), api.overview(&restricted).await.expect("it"));
    let house = |overview: &Overview| overview.targets.iter().find(|it| it.target.as_str() == "house").cloned();
    let (all, some) = (house(&all).expect("it is connected"), house(&some).expect("an app uses it"));
    assert_eq!((all.apps, some.apps), (4, 2));
    assert!(some.requests.is_empty(), "they are those of all apps: {:?}", some.requests);
    drop(api);
    agent.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_feed_is_silent_about_what_its_reader_may_not_see() {
    let mut lab = two_scopes();
    let agent = start(&mut lab).await;
    let api = agent.api();
    let case = Case { verbs: [Verb::See].into(), scope: "web", labelled: true };
    let (restricted, local) = (case.caller(), caller(Rights::All));
    let mut events = api.events(&restricted, None).await.expect("it begins");
    let mut apps = BTreeSet::new();
    let mut minutes = 5;
    // The feed begins to observe after its reader came, so the first orders may be too early.
    while !apps.contains("web/shop") {
        minutes += 1;
        for app in ["vault/jewels", "web/cart", "web/shop"] {
            let order = OrderKind::Suspend { length: Span::minutes(minutes) };
            let request = OrderRequest { app: id(app), reason: "the test wants it".to_owned(), order };
            api.order(&local, request).await.expect("it is recorded");
        }
        while let Ok(event) = timeout(Duration::from_secs(2), events.next()).await {
            let event = event.expect("the feed does not end");
            let text = serde_json::to_string(&event).expect("JSON");
            assert!(case.hidden().iter().all(|word| !text.contains(word)), "{text}");
            if let Change::App { app } = event.change {
                apps.insert(app.to_string());
            }
        }
    }
    drop((events, api));
    agent.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn rights_follow_the_accepted_access_documents() {
    let mut lab = two_scopes();
    let access = "apiVersion: setpoint.dev/v1\nkind: Access\nmetadata: { name: team, scope: web }\nspec: { subjects: [{ group: web }], rules: [{ verbs: [see] }] }\n";
    lab.write("setpoint/access.yaml", access);
    let mut agent = start(&mut lab).await;
    let principal = Principal {
        account: Some("carol".to_owned()),
        groups: ["web".to_owned()].into(),
        provider: Some("corporate".to_owned()),
        token: None,
    };
    let visible = async |agent: &lab::Agent| -> Vec<String> {
        let caller = caller(agent.rights_of(&principal));
        let overview = agent.api().overview(&caller).await.expect("it answers");
        overview.apps.iter().map(|app| app.app.to_string()).collect()
    };
    assert_eq!(visible(&agent).await, ["web/cart", "web/shop", "web/tardy"]);

    lab.remove("setpoint/access.yaml");
    lab.commit();
    agent.hint().await;
    let gone = async |agent: &lab::Agent| visible(agent).await.is_empty().then_some(());
    agent.until("the right is taken away", gone).await;
    agent.stop().await;
}
