//! An agent with fixed responses, for tests of the socket and of the output of commands, where a
//! real agent would get in the way.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use futures_util::StreamExt;
use futures_util::stream;
use setpoint_core::decide::Drift;
use setpoint_core::diff::{Difference, diff};
use setpoint_core::digest::Digest;
use setpoint_core::facts::Accepted;
use setpoint_core::hold::{Hold, HoldReason, Suspension};
use setpoint_core::intent::{IntentId, Verb};
use setpoint_core::key::Key;
use setpoint_core::live::{Health, Writer};
use setpoint_core::modes::{Cause, State};
use setpoint_core::name::{Actor, AppId, StoreName, TargetIdentity, VersionId};
use setpoint_core::report::{RetentionReason, Setback, Why, Withheld};
use setpoint_core::time::{Span, Timestamp};
use setpoint_core::value::Value;
use setpoint_core::version::Revision;

use crate::agent::{Agent, Parts, Problem, ProblemKind, Reply};
use crate::answer::{
    AppDetail, AppPlan, AppProblem, AppState, AppSummary, AppTree, AppsPage, Change, DriftRecord, Explained,
    ExplainedField, FeedEvent, Fleet, HistoryChange, HistoryRecord, LedgerStanding, LogPart, NotifyTested, Ordered,
    Overview, PlanAnswer, PlanStep, Readiness, RecordProof, RefusedVersion, ResourceLine, ShadowStanding,
    ShadowedVersion, StoreStanding, Tally, TargetStanding, TreeObject, Unhealthy, UnreachedTarget, VersionDetail,
    VersionInApp, VersionNote, VersionOutcome,
};
use crate::caller::Caller;
use crate::question::{
    AppsQuestion, DriftQuestion, ExplainQuestion, HistoryQuestion, LogQuestion, OrderRequest, PlanRequest,
    VersionQuestion,
};
use crate::selection;

/// The agent's own time: 2026-11-15 12:00:00 UTC.
pub const NOON: Timestamp = Timestamp::from_millis(1_794_744_000_000);

/// An agent that always returns the same responses, and records its orders.
#[derive(Debug)]
pub struct CannedAgent {
    pub overview: Overview,
    pub detail: AppDetail,
    pub tree: AppTree,
    pub logs: Vec<LogPart>,
    pub history: Vec<HistoryRecord>,
    pub changes: Vec<HistoryChange>,
    pub version: VersionDetail,
    pub drift: Vec<DriftRecord>,
    pub plan: PlanAnswer,
    pub explained: Explained,
    pub notifiers: Vec<NotifyTested>,
    orders: Mutex<Vec<(Actor, OrderRequest)>>,
}

impl CannedAgent {
    /// Returns two apps: `web/shop`, which has every kind of problem, and `default/motd`, which has
    /// none.
    pub fn example() -> Self {
        let detail = troubled();
        let overview = Overview {
            now: NOON,
            position: 0,
            version: "0.1.0".to_owned(),
            ledger: LedgerStanding { holding: true, trouble: None, anchor: None },
            stores: stores(),
            targets: targets(),
            unreached: unreached(),
            apps: vec![calm(), detail.summary.clone()],
        };
        Self {
            overview,
            detail,
            tree: tree(),
            logs: logs(),
            history: history(),
            changes: changes(),
            version: version_detail(),
            drift: drift(),
            plan: plan(),
            explained: explained(),
            notifiers: notifiers(),
            orders: Mutex::default(),
        }
    }

    /// Returns the recorded orders and their authors.
    pub fn orders(&self) -> Vec<(Actor, OrderRequest)> {
        self.kept().clone()
    }

    fn kept(&self) -> MutexGuard<'_, Vec<(Actor, OrderRequest)>> {
        self.orders.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn known(&self, app: &AppId) -> Result<(), Problem> {
        if *app == self.detail.summary.app {
            return Ok(());
        }
        let message = format!("there is no app {app}: `setpoint status` lists them");
        Err(Problem::new(ProblemKind::Missing, message))
    }
}

impl Agent for CannedAgent {
    fn overview<'a>(&'a self, _: &'a Caller) -> Reply<'a, Overview> {
        Box::pin(async { Ok(self.overview.clone()) })
    }

    fn fleet<'a>(&'a self, _: &'a Caller) -> Reply<'a, Fleet> {
        let apps = self.overview.apps.iter().cloned().map(Arc::new).collect();
        let overview = Overview { apps: Vec::new(), ..self.overview.clone() };
        Box::pin(async move { Ok(Fleet { overview, apps }) })
    }

    fn readiness<'a>(&'a self, _: &'a Caller) -> Reply<'a, Readiness> {
        Box::pin(async { Ok(Readiness { ledger: self.overview.ledger.clone(), stores_tried: true }) })
    }

    fn metrics<'a>(&'a self, _: &'a Caller) -> Reply<'a, String> {
        Box::pin(async { Ok(String::new()) })
    }

    fn apps<'a>(&'a self, _: &'a Caller, question: AppsQuestion) -> Reply<'a, AppsPage> {
        Box::pin(async move { selection::page(&self.overview.apps, &question, 0) })
    }

    fn app<'a>(&'a self, _: &'a Caller, app: AppId) -> Reply<'a, AppDetail> {
        Box::pin(async move { self.known(&app).map(|()| self.detail.clone()) })
    }

    fn tree<'a>(&'a self, _: &'a Caller, app: AppId) -> Reply<'a, AppTree> {
        Box::pin(async move { self.known(&app).map(|()| self.tree.clone()) })
    }

    fn logs<'a>(&'a self, _: &'a Caller, question: LogQuestion) -> Reply<'a, Parts<LogPart>> {
        Box::pin(async move {
            self.known(&question.app)?;
            let parts = stream::iter(self.logs.clone());
            // Followed logs never end.
            Ok(if question.follow { parts.chain(stream::pending()).boxed() } else { parts.boxed() })
        })
    }

    fn history<'a>(&'a self, _: &'a Caller, question: HistoryQuestion) -> Reply<'a, Vec<HistoryRecord>> {
        let older = move |record: &&HistoryRecord| question.before.is_none_or(|before| record.seq < before);
        Box::pin(async move { Ok(self.history.iter().filter(older).take(question.limit).cloned().collect()) })
    }

    fn proof<'a>(&'a self, _: &'a Caller, seq: u64) -> Reply<'a, RecordProof> {
        Box::pin(async move {
            let known = self.history.iter().find(|record| record.seq == seq);
            let record =
                known.ok_or_else(|| Problem::new(ProblemKind::Missing, format!("there is no record {seq}")))?;
            Ok(proof_of(record))
        })
    }

    fn changes<'a>(&'a self, _: &'a Caller, question: HistoryQuestion) -> Reply<'a, Vec<HistoryChange>> {
        let older = move |change: &&HistoryChange| question.before.is_none_or(|before| change.seq < before);
        Box::pin(async move { Ok(self.changes.iter().filter(older).take(question.limit).cloned().collect()) })
    }

    fn version<'a>(&'a self, _: &'a Caller, question: VersionQuestion) -> Reply<'a, VersionDetail> {
        Box::pin(async move {
            if self.version.version.starts_with(&question.version) {
                return Ok(self.version.clone());
            }
            let message = format!("no app has used a version {}", question.version);
            Err(Problem::new(ProblemKind::Missing, message))
        })
    }

    fn drift<'a>(&'a self, _: &'a Caller, question: DriftQuestion) -> Reply<'a, Vec<DriftRecord>> {
        Box::pin(async move { Ok(self.drift.iter().take(question.limit).cloned().collect()) })
    }

    fn plan<'a>(&'a self, _: &'a Caller, request: PlanRequest) -> Reply<'a, PlanAnswer> {
        let of_app = move |plan: &&AppPlan| request.app.as_ref().is_none_or(|app| plan.app == *app);
        Box::pin(async move { Ok(PlanAnswer { apps: self.plan.apps.iter().filter(of_app).cloned().collect() }) })
    }

    fn explain<'a>(&'a self, _: &'a Caller, question: ExplainQuestion) -> Reply<'a, Explained> {
        Box::pin(async move { self.known(&question.app).map(|()| self.explained.clone()) })
    }

    fn events<'a>(&'a self, _: &'a Caller, after: Option<u64>) -> Reply<'a, Parts<FeedEvent>> {
        // The position before the only event is known.
        let change = match after {
            Some(0) => Change::App { app: self.detail.summary.app.clone() },
            _ => Change::Reload,
        };
        let event = stream::iter([FeedEvent { seq: 1, change }]);
        Box::pin(async move { Ok(event.chain(stream::pending()).boxed()) })
    }

    fn order<'a>(&'a self, caller: &'a Caller, request: OrderRequest) -> Reply<'a, Ordered> {
        Box::pin(async move {
            self.known(&request.app)?;
            let app = request.app.clone();
            self.kept().push((caller.actor.clone(), request));
            Ok(Ordered { app, notes: vec!["file /etc/shop.conf was left as it was".to_owned()] })
        })
    }

    fn test_notifiers<'a>(&'a self, _: &'a Caller) -> Reply<'a, Vec<NotifyTested>> {
        Box::pin(async { Ok(self.notifiers.clone()) })
    }
}

fn key(path: &str) -> Key {
    Key::new("file", "", path).expect("a plain path")
}

fn app(text: &str) -> AppId {
    text.parse().expect("a valid app")
}

fn actor(text: &str) -> Actor {
    text.parse().expect("a valid actor")
}

fn store() -> StoreName {
    "platform".parse().expect("a valid store")
}

fn version(text: &str) -> VersionId {
    text.repeat(5).parse().expect("a valid version")
}

fn revision(text: &str) -> Revision {
    Revision::of(&store(), &version(text))
}

fn host() -> TargetIdentity {
    "machine-4c1f0b9a".parse().expect("a valid identity")
}

fn accepted(sequence: u64, text: &str, at: Timestamp) -> Accepted {
    Accepted { bundle: Digest::of(text.as_bytes()), sequence, revision: revision(text), at }
}

fn stores() -> Vec<StoreStanding> {
    let answered = Some(NOON - Span::seconds(4));
    let fresh = StoreStanding {
        store: store(),
        head: Some(version("9c1e04d2")),
        answered,
        stale: false,
        failures: 0,
        problem: None,
    };
    let stale = StoreStanding {
        store: "legacy".parse().expect("a valid store"),
        head: None,
        answered: Some(NOON - Span::hours(3)),
        stale: true,
        failures: 7,
        problem: Some("git.example did not answer within 10 s".to_owned()),
    };
    vec![fresh, stale]
}

fn tally(counts: &[(&str, u64)]) -> Tally {
    counts.iter().map(|(call, count)| ((*call).to_owned(), *count)).collect()
}

/// The degradation reported by a cluster that has too many namespaces to watch.
const POLLED: &str = "12 kinds or namespaces are polled every 5 min 0 s, as 500 streams are open already: \
                      let the agent list and watch Secret in the whole cluster, one stream for all";

fn targets() -> Vec<TargetStanding> {
    let machine = TargetStanding {
        target: "machine".parse().expect("a valid target"),
        kind: "host".to_owned(),
        identity: host(),
        apps: 1,
        requests: Tally::new(),
        degraded: None,
        left_alone_until: Some(NOON + Span::seconds(20)),
    };
    let cluster = TargetStanding {
        target: "prod".parse().expect("a valid target"),
        kind: "kubernetes".to_owned(),
        identity: cluster(),
        apps: 1,
        requests: tally(&[("apply", 1_204), ("discovery", 4), ("get", 31), ("list", 2), ("watch", 18)]),
        degraded: Some(POLLED.to_owned()),
        left_alone_until: None,
    };
    vec![machine, cluster]
}

fn unreached() -> Vec<UnreachedTarget> {
    let problem = "the API server could not be reached: connection refused".to_owned();
    let waiting = vec!["web/checkout".parse().expect("a valid name")];
    let (target, kind) = ("edge".parse().expect("a valid target"), "kubernetes".to_owned());
    vec![UnreachedTarget { target, kind, problem, waiting }]
}

fn cluster() -> TargetIdentity {
    "kube-0f6a1c52".parse().expect("a valid identity")
}

fn object(class: &str, name: &str) -> Key {
    Key::new(class, "web", name).expect("a plain name")
}

/// Returns a Deployment whose new pods do not start, in an app that declares an object that does
/// not exist.
fn tree() -> AppTree {
    let healthy = |class: &str, name: &str, depth, owner: Option<&Key>, age| TreeObject {
        key: object(class, name),
        depth,
        owner: owner.cloned(),
        declared: depth == 0,
        owned: depth == 0,
        present: true,
        health: Health::Healthy,
        reason: None,
        created: Some(NOON - age),
    };
    let (long_ago, lately) = (Span::hours(24 * 9), Span::minutes(4));
    let front = object("apps/Deployment", "front");
    let (old, new) = (object("apps/ReplicaSet", "front-5f9c"), object("apps/ReplicaSet", "front-77b0"));
    let not_well =
        |tree: TreeObject, health, reason: &str| TreeObject { health, reason: Some(reason.to_owned()), ..tree };
    let mut objects = vec![
        healthy("ConfigMap", "settings", 0, None, long_ago),
        healthy("Service", "front", 0, None, long_ago),
        healthy("discovery.k8s.io/EndpointSlice", "front-x2k1", 1, Some(&object("Service", "front")), long_ago),
        not_well(
            healthy("apps/Deployment", "front", 0, None, long_ago),
            Health::Progressing,
            "1 of 3 pods are of the new template",
        ),
    ];
    objects.push(healthy("apps/ReplicaSet", "front-5f9c", 1, Some(&front), long_ago));
    objects.extend((1..=8).map(|n| healthy("Pod", &format!("front-5f9c-{n}"), 2, Some(&old), long_ago)));
    objects.push(not_well(
        healthy("apps/ReplicaSet", "front-77b0", 1, Some(&front), lately),
        Health::Progressing,
        "0 of 1 pods are ready",
    ));
    objects.push(not_well(
        healthy("Pod", "front-77b0-q8", 2, Some(&new), lately),
        Health::Degraded,
        "container web: ImagePullBackOff: Back-off pulling image \"shop:1.2\"",
    ));
    objects.push(TreeObject {
        present: false,
        created: None,
        owned: false,
        ..not_well(healthy("batch/Job", "migrate", 0, None, lately), Health::Unknown, "it is not there")
    });
    let unseen = vec![
        "PersistentVolumeClaim in web: they may not be listed, so what there is of them is not known: forbidden (403)"
            .to_owned(),
    ];
    AppTree {
        app: app("web/shop"),
        target: cluster(),
        target_name: "prod".parse().ok(),
        now: NOON,
        objects,
        observed: false,
        drifts: Vec::new(),
        remarks: vec![labelled()],
        unseen,
    }
}

fn logs() -> Vec<LogPart> {
    let line = |source: &str, text: &str| LogPart::Line { source: source.to_owned(), text: text.to_owned() };
    let names = ["front-5f9c-1/web", "front-5f9c-2/web", "front-77b0-q8/web"].map(str::to_owned).to_vec();
    vec![
        LogPart::Sources { names },
        line("front-5f9c-1/web", "GET / 200"),
        LogPart::Note {
            text: "front-77b0-q8/web: its log cannot be read: the container is waiting to start".to_owned(),
        },
        line("front-5f9c-2/web", "\u{1b}[31mGET /favicon 404\u{1b}[0m"),
    ]
}

fn calm() -> AppSummary {
    AppSummary {
        app: app("default/motd"),
        component: "motd".to_owned(),
        environment: "production".to_owned(),
        labels: BTreeMap::new(),
        state: AppState::Converged,
        problems: Vec::new(),
        target: host(),
        target_name: "machine".parse().ok(),
        moved_to: None,
        accepted: Some(accepted(3, "9c1e04d2", NOON - Span::minutes(2))),
        health: Health::Healthy,
        resources: 4,
        drifts: 0,
        remarks: 0,
        withheld: 0,
        note: None,
        set_back: None,
        requests: Tally::new(),
    }
}

fn troubled() -> AppDetail {
    let current = accepted(12, "3f2a91c0", NOON - Span::minutes(3));
    let resource =
        |path: &str, declared, owned| ResourceLine { key: key(path), kind: "File".to_owned(), declared, owned };
    let because = HoldReason::Rewritten { accepted: revision("3f2a91c0"), offered: revision("9c1e04d2") };
    AppDetail {
        position: 0,
        summary: AppSummary {
            app: app("web/shop"),
            component: "shop".to_owned(),
            environment: "production".to_owned(),
            labels: BTreeMap::from([("team".to_owned(), "checkout".to_owned())]),
            state: AppState::Held,
            problems: vec![AppProblem::VersionRefused, AppProblem::HistoryRewritten, AppProblem::DeletesWithheld],
            target: cluster(),
            target_name: "prod".parse().ok(),
            moved_to: None,
            accepted: Some(current.clone()),
            health: Health::Degraded,
            resources: 2,
            drifts: 1,
            remarks: 1,
            withheld: 3,
            note: Some("history was rewritten".to_owned()),
            set_back: None,
            requests: tally(&[("apply", 12), ("delete", 1)]),
        },
        last_good: Some(accepted(11, "77b0aa31", NOON - Span::hours(26))),
        hold: Some(Hold {
            bundle: Some(current.bundle),
            why: because,
            by: actor("setpoint"),
            at: NOON - Span::minutes(1),
        }),
        suspension: Some(Suspension {
            reason: "restoring the database".to_owned(),
            by: actor("user:erika"),
            at: NOON - Span::minutes(10),
            until: NOON + Span::minutes(110),
        }),
        refused: Some(RefusedVersion {
            revision: revision("b00b1e55"),
            problem: "apps/shop/motd.yaml:3:7: unknown field `contnet`; did you mean `content`?".to_owned(),
            at: NOON - Span::seconds(40),
        }),
        versions: vec![VersionNote {
            store: store(),
            version: version("3f2a91c0"),
            author: "Erika Mustermann".to_owned(),
            subject: "Open the shop at nine".to_owned(),
            body: "The bakery opens earlier, and so do we.".to_owned(),
            at: NOON - Span::minutes(5),
        }],
        resources: vec![
            resource("/etc/shop.conf", true, true),
            resource("/etc/shop.d/new.conf", true, false),
            resource("/etc/shop.d/old.conf", false, true),
        ],
        report: report(),
        drifts: vec![edited()],
        remarks: vec![labelled()],
        target_degraded: Some(POLLED.to_owned()),
        left_alone_until: Some(NOON - Span::seconds(1)),
        window_opens: None,
        unhealthy: vec![Unhealthy {
            key: object("apps/Deployment", "front"),
            health: Health::Degraded,
            reason: "the server refuses its pods: exceeded quota: pods=10".to_owned(),
        }],
        unsettled: vec![IntentId { epoch: 7, number: 31 }],
        shadow: Some(ShadowStanding {
            renderer: "sha256:b8b3a1c4".to_owned(),
            versions: 10,
            compared: 4,
            passed_over: 1,
            refused_by_both: 2,
            different: vec![ShadowedVersion {
                revision: revision("77b0aa31"),
                at: NOON - Span::hours(26),
                differences: vec!["v1 Service shop/front: spec.ports[0].name".to_owned()],
            }],
            trouble: None,
        }),
    }
}

fn report() -> Vec<Withheld> {
    let withheld = |path: &str, cause, why| Withheld { key: key(path), cause, why };
    vec![
        withheld("/etc/shop.conf", Cause::Drift, Why::State { state: State::Suspended }),
        withheld("/etc/shop.d/new.conf", Cause::Declared, Why::State { state: State::Held }),
        withheld(
            "/etc/shop.d/old.conf",
            Cause::Prune,
            Why::RetentionReason(RetentionReason::OverBudget { budget: 1, spent: 1 }),
        ),
    ]
}

fn edited() -> Drift {
    let text = |text: &str| Value::map([("content", Value::str(text)), ("mode", Value::str("0644"))]);
    let differences = diff(&text("open: 9\n"), &text("open: 24h\n"));
    let writer = Writer::Likely { who: "vim (user:max)".to_owned() };
    Drift { key: key("/etc/shop.conf"), cause: Cause::Drift, differences, writer, beside: Vec::new() }
}

fn labelled() -> Drift {
    let writer = Writer::Likely { who: "kubectl-label (update, 2026-11-16T11:00:00Z)".to_owned() };
    let beside = vec!["metadata.labels.team".into(), "spec.template.spec.nodeSelector".into()];
    Drift { key: object("apps/Deployment", "front"), cause: Cause::Addition, differences: Vec::new(), writer, beside }
}

fn history() -> Vec<HistoryRecord> {
    let record = |seq, ago, kind: &str, subject: &str, actor: &str, text: &str| HistoryRecord {
        seq,
        at: NOON - ago,
        kind: kind.to_owned(),
        subject: subject.to_owned(),
        actor: actor.to_owned(),
        text: text.to_owned(),
    };
    vec![
        record(
            412,
            Span::minutes(1),
            "hold",
            "web/shop",
            "setpoint",
            "history was rewritten; the app stays at #12 until a person says which version is right",
        ),
        record(411, Span::minutes(3), "acceptance", "web/shop", "setpoint", "accepted #12 from platform@3f2a91c03f2a"),
        record(410, Span::hours(26), "override", "web/shop", "user:erika", "resume: the database is restored"),
    ]
}

/// Returns one change of each kind that people see often.
fn changes() -> Vec<HistoryChange> {
    let change = |seq, ago, (kind, what): (&str, &str), object: &str, result: &str| HistoryChange {
        seq,
        at: NOON - ago,
        kind: kind.to_owned(),
        subject: "web/shop".to_owned(),
        actor: "setpoint".to_owned(),
        text: format!("bundle: {}", Digest::of(b"a bundle")),
        app: Some(app("web/shop")),
        what: what.to_owned(),
        object: object.to_owned(),
        result: result.to_owned(),
        cause: None,
        records: vec![seq],
    };
    let caused = |cause: &str, change: HistoryChange| HistoryChange { cause: Some(cause.to_owned()), ..change };
    let refusal = "the directory /srv/shop/releases does not exist: declare it as a Directory";
    let bundle = format!("4 resources, bundle {}", Digest::of(b"a bundle"));
    let minutes = Span::minutes;
    vec![
        change(412, minutes(1), ("gate.decision", "hold"), "", "history rewritten"),
        caused(
            "drift",
            change(411, minutes(9), ("effect.result", "update"), &key("/etc/shop.conf").to_string(), "done"),
        ),
        caused(
            "likely by vim (user:max)",
            change(409, minutes(9), ("drift.observed", "drift"), &key("/etc/shop.conf").to_string(), "observed"),
        ),
        caused(
            "declared",
            change(
                408,
                minutes(30),
                ("effect.result", "create"),
                &key("/srv/shop/releases/current/motd").to_string(),
                &format!("refused: {refusal}"),
            ),
        ),
        change(405, minutes(31), ("version.accepted", "accept"), &revision("3f2a91c0").to_string(), &bundle),
        HistoryChange {
            actor: "user:erika".to_owned(),
            ..caused("the database is restored", change(404, Span::hours(26), ("override", "resume"), "", ""))
        },
        HistoryChange {
            app: None,
            subject: "kube-0f6a1c52".to_owned(),
            ..change(403, Span::hours(26), ("notify.sent", "notify"), "kube-0f6a1c52", "breaker-open")
        },
    ]
}

/// Returns a proof of the right form, with made-up hashes.
fn proof_of(record: &HistoryRecord) -> RecordProof {
    let path = (0..9u8).map(|n| Digest::of(&[n])).collect();
    RecordProof {
        seq: record.seq,
        origin: "setpoint.example/hub".to_owned(),
        record: serde_json::to_string(record).expect("records are JSON"),
        size: 415,
        leaf: Digest::of(record.text.as_bytes()),
        path,
        checkpoint: "setpoint.example/hub\n415\n\u{2026}\nepoch 7\n".to_owned(),
    }
}

fn version_detail() -> VersionDetail {
    let at = NOON - Span::minutes(31);
    let of = |name: &str, outcome: VersionOutcome| VersionInApp {
        app: app(name),
        revision: revision("3f2a91c0").to_string(),
        at,
        outcome,
        created: Vec::new(),
        changed: Vec::new(),
        removed: Vec::new(),
        more: 0,
    };
    let converged = Some(at + Span::seconds(4));
    let shop = VersionInApp {
        created: vec![key("/etc/shop.d/new.conf")],
        changed: vec![key("/etc/shop.conf")],
        ..of("web/shop", VersionOutcome::Accepted { converged: None, superseded: None })
    };
    let problem = "apps/stage/shop.yaml:7:9: expected a number\n  7 | replicas: many\n    |           ^^^^".to_owned();
    VersionDetail {
        now: NOON,
        position: 0,
        version: version("3f2a91c0").to_string(),
        note: troubled().versions.into_iter().next(),
        apps: vec![
            of("default/motd", VersionOutcome::Accepted { converged, superseded: None }),
            shop,
            of("web/stage", VersionOutcome::Refused { problem }),
        ],
    }
}

fn drift() -> Vec<DriftRecord> {
    let Drift { key: edited, cause, differences, writer, beside } = edited();
    let seen = NOON - Span::minutes(10);
    let healed = DriftRecord {
        seq: 409,
        app: app("default/motd"),
        key: key("/etc/motd"),
        cause,
        seen,
        healed: Some(seen + Span::millis(38)),
        writer: Writer::Unknown,
        differences: Vec::new(),
        beside: Vec::new(),
    };
    let shop = app("web/shop");
    let standing = DriftRecord {
        seq: 413,
        app: shop.clone(),
        key: edited,
        cause,
        seen,
        healed: None,
        writer,
        differences,
        beside,
    };
    let Drift { key, cause, differences, writer, beside } = labelled();
    let left = DriftRecord { seq: 414, app: shop, key, cause, seen, healed: None, writer, differences, beside };
    let over = DriftRecord { seq: 408, cause: Cause::Leftover, healed: Some(seen + Span::hours(1)), ..left.clone() };
    vec![left, standing, healed, over]
}

fn explained() -> Explained {
    let set = |field: &str, value: Option<&str>, file: &str, line, by: Option<&str>| ExplainedField {
        field: field.to_owned(),
        value: value.map(ToOwned::to_owned),
        file: Some(file.to_owned()),
        line: Some(line),
        by: by.map(ToOwned::to_owned),
    };
    Explained {
        resource: "Secret/shop".to_owned(),
        namespace: "web".to_owned(),
        revision: None,
        fields: vec![
            set("metadata.name", Some("shop"), "base/secret.yaml", 4, None),
            set("metadata.namespace", Some("web"), "prod/kustomization.yaml", 2, Some("namespace")),
            set("data.password", None, "prod/password.yaml", 6, Some("patches[0]")),
        ],
    }
}

fn plan() -> PlanAnswer {
    let step = |path: &str, verb, cause| PlanStep {
        key: key(path),
        verb,
        cause,
        differences: Vec::new(),
        waits: Vec::new(),
        refused: None,
    };
    let differences = edited().differences.into_iter().map(Difference::turned).collect();
    let changed = PlanStep { differences, ..step("/etc/shop.conf", Verb::Update, Cause::Drift) };
    let setback =
        Setback::Failure { problem: "the directory /etc/shop.d does not exist: declare it as a Directory".into() };
    let failed = Why::BackingOff { until: NOON + Span::seconds(4), setback };
    let waits = vec![failed, Why::State { state: State::Held }];
    let created = PlanStep { waits, ..step("/etc/shop.d/new.conf", Verb::Create, Cause::Declared) };
    let deleted = step("/etc/shop.d/older.conf", Verb::Delete, Cause::Prune);
    let quiet = AppPlan {
        app: app("default/motd"),
        revision: Some(revision("9c1e04d2")),
        set_back: None,
        newest_refused: None,
        refused: Vec::new(),
        observed: false,
        hold: None,
        suspension: None,
        window_opens: None,
        steps: Vec::new(),
        report: Vec::new(),
    };
    let troubled = troubled();
    let busy = AppPlan {
        app: app("web/shop"),
        revision: Some(revision("3f2a91c0")),
        set_back: None,
        newest_refused: None,
        refused: Vec::new(),
        observed: false,
        hold: troubled.hold,
        suspension: troubled.suspension,
        window_opens: Some(NOON + Span::hours(6)),
        steps: vec![created, changed, deleted],
        report: report()[2..].to_vec(),
    };
    PlanAnswer { apps: vec![quiet, busy] }
}

fn notifiers() -> Vec<NotifyTested> {
    let refused = "hooks.example returned 403: check its URL and credentials".to_owned();
    vec![
        NotifyTested { notifier: "default/ops".to_owned(), problem: None },
        NotifyTested { notifier: "web/shop-team".to_owned(), problem: Some(refused) },
    ]
}
