//! A generated fleet with realistic names and every kind of problem. Equal runs give equal pages.

use std::collections::BTreeMap;

use setpoint_api::answer::{
    AppDetail, AppProblem, AppState, AppSummary, AppTree, DriftRecord, HistoryChange, Overview, StoreStanding, Tally,
    TreeObject,
};
use setpoint_api::canned::{CannedAgent, NOON};
use setpoint_core::digest::Digest;
use setpoint_core::facts::Accepted;
use setpoint_core::key::Key;
use setpoint_core::live::{Health, Writer};
use setpoint_core::time::Span;
use setpoint_core::version::Revision;

const SCOPES: [(&str, [&str; 6]); 8] = [
    ("payments", ["ledger-api", "card-gateway", "invoice-worker", "refunds", "fraud-scoring", "settlement"]),
    ("checkout", ["cart", "checkout-api", "promotions", "tax", "address-book", "shipping-rates"]),
    ("catalog", ["search-api", "indexer", "pim-sync", "images", "recommendations", "reviews"]),
    ("identity", ["auth", "sessions", "directory-sync", "scim", "consent", "audit-export"]),
    ("data", ["kafka-connect", "airflow", "trino", "dbt-docs", "schema-registry", "lineage"]),
    ("edge", ["ingress-nginx", "waf", "cdn-purger", "rate-limiter", "geo-dns", "bot-filter"]),
    ("observability", ["grafana", "tempo", "loki", "alertmanager", "otel-collector", "blackbox"]),
    ("platform", ["cert-manager", "external-dns", "kyverno", "velero", "keda", "node-tuning"]),
];
const ENVIRONMENTS: [(&str, [&str; 2]); 4] = [
    ("dev", ["dev-eu", "dev-eu"]),
    ("staging", ["stage-eu", "stage-us"]),
    ("canary", ["prod-eu-1", "prod-eu-1"]),
    ("production", ["prod-eu-1", "prod-us-1"]),
];
const REASONS: [&str; 8] = [
    "Deployment/api: 2 of 3 pods are not ready: container api: CrashLoopBackOff",
    "the server refuses its pods: exceeded quota: requests.cpu=40",
    "container web: ImagePullBackOff: Back-off pulling image \"registry.example/web:4.18.0\"",
    "Job/migrate: 3 of 3 attempts failed: exit code 1",
    "PersistentVolumeClaim/data: waiting for a volume to be created",
    "Ingress/public: conflicts with checkout/cart: host shop.example is already taken",
    "Certificate/wildcard: order failed: DNS record not found",
    "HorizontalPodAutoscaler/api: unable to read the metric `queue_depth`",
];

/// A generator of numbers that only have to appear random.
struct Dice(u64);

impl Dice {
    fn roll(&mut self, sides: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        usize::try_from((self.0 >> 33) % sides as u64).unwrap_or_default()
    }
}

pub(super) fn overview(agent: &CannedAgent, count: usize) -> Overview {
    let mut dice = Dice(25);
    let mut apps = agent.overview.apps.clone();
    let mut number = 0;
    while apps.len() < count {
        apps.push(app(number, &mut dice));
        number += 1;
    }
    let store = |name: &str, seconds| StoreStanding {
        store: name.parse().expect("a valid name"),
        answered: Some(NOON - Span::seconds(seconds)),
        ..agent.overview.stores[0].clone()
    };
    let mut overview = Overview { apps, ..agent.overview.clone() };
    overview.stores.extend([store("team-payments", 11), store("team-data", 2)]);
    overview.targets[0].apps = 14;
    overview.targets[1].apps = count - 14;
    let mut calm = overview.targets[1].clone();
    calm.target = "prod-us-1".parse().expect("a valid name");
    calm.identity = "kube-77e0d1f2".parse().expect("a valid identity");
    calm.degraded = None;
    overview.targets.push(calm);
    overview
}

fn app(number: usize, dice: &mut Dice) -> AppSummary {
    let (scope, components) = SCOPES[number % SCOPES.len()];
    let place = number / SCOPES.len();
    let component = components[place % 6];
    let (environment, targets) = ENVIRONMENTS[place / 6 % 4];
    let copy = place / 24;
    let name = match copy {
        0 => format!("{component}-{environment}"),
        copy => format!("{component}-{environment}-{}", ["eu", "us", "ap", "de", "fr", "uk"][copy % 6]),
    };
    let component = if copy < 2 {
        component.to_owned()
    } else {
        format!("{component}-{}", ["eu", "us", "ap", "de", "fr", "uk"][copy % 6])
    };
    // Environments before production have newer versions.
    let version = 40 + number % 8 * 3 + place % 6 - [0, dice.roll(2), 1, 1 + dice.roll(3)][place / 6 % 4];
    let text = Digest::of(format!("{component}{version}").as_bytes()).to_string();
    let store = ["platform", "team-payments", "team-data"][number % 3].parse().expect("a valid name");
    let revision = Revision::of(&store, &text[text.len() - 40..].parse().expect("a valid version"));
    let minutes = 3 + (60 - version as u64 % 60) * 97 + dice.roll(60) as u64;
    let accepted =
        Accepted { bundle: Digest::of(b"b"), sequence: version as u64, revision, at: NOON - Span::minutes(minutes) };
    let mut app = AppSummary {
        app: format!("{scope}/{name}").parse().expect("a valid name"),
        component,
        environment: environment.to_owned(),
        labels: BTreeMap::from([("tier".to_owned(), ["critical", "standard"][dice.roll(2)].to_owned())]),
        state: AppState::Converged,
        problems: Vec::new(),
        target: "kube-0f6a1c52".parse().expect("a valid identity"),
        target_name: targets[copy % 2].parse().ok(),
        moved_to: None,
        accepted: Some(accepted),
        health: Health::Healthy,
        resources: 4 + dice.roll(60),
        drifts: 0,
        remarks: 0,
        withheld: 0,
        note: None,
        set_back: None,
        requests: Tally::new(),
    };
    trouble(&mut app, dice);
    app
}

/// Gives about a tenth of the apps a problem.
fn trouble(app: &mut AppSummary, dice: &mut Dice) {
    let reason = REASONS[dice.roll(REASONS.len())];
    match dice.roll(150) {
        0..=2 => {
            (app.state, app.health) = (AppState::Degraded, Health::Degraded);
            app.note = Some(reason.to_owned());
        }
        3 => {
            (app.state, app.drifts, app.withheld) = (AppState::OutOfSync, 1 + dice.roll(3), 2);
            app.note = Some("app checkout/cart owns Service/web and still declares it".to_owned());
        }
        4 => {
            app.state = AppState::Held;
            app.note = Some("held: error rate doubled after #41".to_owned());
        }
        5 => app.state = AppState::Suspended,
        6..=8 => (app.state, app.health) = (AppState::Progressing, Health::Progressing),
        9 => {
            app.problems = vec![AppProblem::VersionRefused];
            app.note = Some("values.yaml:14:3: unknown field `replicsa`; did you mean `replicas`?".to_owned());
        }
        10 => {
            (app.state, app.health) = (AppState::Unknown, Health::Unknown);
            app.note = Some("the API server did not respond within 10 s".to_owned());
        }
        11 => app.problems = vec![AppProblem::DeletesWithheld, AppProblem::StoreStale],
        12 => {
            (app.state, app.accepted) = (AppState::Waiting, None);
            app.note = Some("waits for app platform/cert-manager-dev to converge".to_owned());
        }
        13 => app.state = AppState::Frozen,
        14 => app.drifts = 1,
        _ => {}
    }
}

pub(super) fn calm_detail(agent: &CannedAgent) -> AppDetail {
    let mut summary = agent.overview.apps[0].clone();
    summary.app = "web/shop".parse().expect("a valid name");
    summary.accepted = agent.detail.summary.accepted.clone();
    AppDetail {
        summary,
        last_good: None,
        hold: None,
        suspension: None,
        refused: None,
        report: Vec::new(),
        drifts: Vec::new(),
        remarks: Vec::new(),
        target_degraded: None,
        left_alone_until: None,
        window_opens: None,
        unhealthy: Vec::new(),
        unsettled: Vec::new(),
        shadow: None,
        ..agent.detail.clone()
    }
}

/// Returns a tree of several hundred objects.
pub(super) fn large_tree(agent: &CannedAgent) -> AppTree {
    let mut objects = Vec::new();
    let mut add = |class: &str, name: String, depth: usize| {
        objects.push(TreeObject {
            key: Key::new(class, "web", &name).expect("a plain name"),
            depth,
            owner: None,
            declared: depth == 0,
            owned: depth == 0,
            present: true,
            health: Health::Healthy,
            reason: None,
            created: Some(NOON - Span::hours(50)),
        });
    };
    for (service, pods) in [("frontend", 14), ("checkout-api", 8), ("search", 5), ("worker", 24), ("mailer", 2)] {
        add("apps/Deployment", service.to_owned(), 0);
        add("apps/ReplicaSet", format!("{service}-5f9c7d8b6"), 1);
        (0..pods).for_each(|pod| add("Pod", format!("{service}-5f9c7d8b6-{pod:05x}"), 2));
        add("Service", service.to_owned(), 0);
        add("discovery.k8s.io/EndpointSlice", format!("{service}-x2k1p"), 1);
        add("ServiceAccount", service.to_owned(), 0);
    }
    (0..18).for_each(|n| add("ConfigMap", format!("settings-{n:02}"), 0));
    (0..9).for_each(|n| add("Secret", format!("credentials-{n}"), 0));
    add("networking.k8s.io/Ingress", "public".to_owned(), 0);
    add("apps/StatefulSet", "postgres".to_owned(), 0);
    (0..3).for_each(|n| add("Pod", format!("postgres-{n}"), 1));
    (0..3).for_each(|n| add("PersistentVolumeClaim", format!("data-postgres-{n}"), 1));
    AppTree { objects, unseen: Vec::new(), remarks: Vec::new(), drifts: Vec::new(), ..agent.tree.clone() }
}

/// Returns the example changes spread over several apps.
pub(super) fn changes(agent: &CannedAgent, overview: &Overview) -> Vec<HistoryChange> {
    let of = |n: usize| {
        let change = agent.changes[n % agent.changes.len()].clone();
        let app = change.app.is_some().then(|| overview.apps[(n * 37) % overview.apps.len()].app.clone());
        let (n, ago) = (n as u64, Span::minutes(n as u64 * n as u64 * 2 + 1));
        HistoryChange { seq: 4_120 - n, at: NOON - ago, app, ..change }
    };
    (0..40).map(of).collect()
}

/// Returns the example drift, by several writers over two weeks.
pub(super) fn drift(agent: &CannedAgent, overview: &Overview) -> Vec<DriftRecord> {
    const WRITERS: [&str; 5] =
        ["kubectl-edit (jane.doe)", "kubectl-edit (jane.doe)", "helm (release-bot)", "rancher", "kube-vpa-recommender"];
    let of = |n: usize| {
        let record = agent.drift[n % agent.drift.len()].clone();
        let app = overview.apps[(n * n * 31) % 90].app.clone();
        let seen = NOON - Span::hours((n * n / 9) as u64);
        let healed = record.healed.map(|healed| seen + healed.since(record.seen));
        let writer = Writer::Likely { who: WRITERS[n * 7 % 5].to_owned() };
        DriftRecord { seq: 4_000 - n as u64, app, seen, healed, writer, ..record }
    };
    (0..60).map(of).collect()
}
