//! The acts of strangers on a cluster, and those of its own controllers.

use serde_json::{Value as Json, json};
use setpoint_core::key::Key;
use setpoint_core::live::Health;
use setpoint_core::name::Uid;
use setpoint_kube::request::INSTALLATION_LABEL;
use setpoint_kube_world::schema::KINDS;
use setpoint_kube_world::{Method, Place, Reply, Request, Rule, Server, Stored};

use super::objects::place as place_of;
use super::{INSTALLATION, MANAGER, Sent, TOOL, objects};
use crate::fault::Fault;
use crate::world::{Happening, World};

const APPLY: &str = "application/apply-patch+yaml";
const MERGE: &str = "application/merge-patch+json";
const JSON: &str = "application/json";
/// The finalizer of a stranger, who keeps an object from being deleted until a person helps.
const HOLD: &str = "sim.setpoint.dev/hold";
/// An object of no app that may control others.
const OWNER: &str = "owner";

/// Returns the status code and the body of a response.
fn ask(server: &mut Server, method: Method, path: &str, content: Option<(&str, &Json)>) -> (u16, Json) {
    let content = content.map(|(how, body)| (how.to_owned(), body.to_string().into_bytes()));
    match server.answer(&Request::new(method, path, JSON, content)) {
        Reply::Answer { code, bytes } => (code, serde_json::from_slice(&bytes).unwrap_or_default()),
        Reply::Stream(_) => (0, Json::Null),
    }
}

fn patch(server: &mut Server, place: &Place, who: &str, change: &Json) -> u16 {
    let path = format!("{}?fieldManager={who}", objects::path(place));
    ask(server, Method::Patch, &path, Some((MERGE, change))).0
}

/// Creates the namespace of all objects, and an owner for others.
pub(super) fn furnish(server: &mut Server) {
    let namespace = json!({"metadata": {"name": objects::NAMESPACE}});
    ask(server, Method::Post, "/api/v1/namespaces?fieldManager=kubectl", Some((JSON, &namespace)));
    let owner = json!({"metadata": {"name": OWNER}, "data": {}});
    let path = format!("/api/v1/namespaces/{}/configmaps?fieldManager=kubectl", objects::NAMESPACE);
    ask(server, Method::Post, &path, Some((JSON, &owner)));
}

/// Returns a change by hand that makes an object differ from its declaration.
fn edited(key: &Key, content: u32) -> Json {
    let whole = objects::json(key, content);
    match KINDS[place_of(key).kind].kind {
        "ConfigMap" | "Secret" => json!({"data": {"content": whole["data"]["content"]}}),
        "Namespace" => json!({"metadata": {"labels": {"content": content.to_string()}}}),
        "Deployment" => {
            json!({"spec": {"template": {"spec": {"containers": whole["spec"]["template"]["spec"]["containers"]}}}})
        }
        _ => json!({"spec": {"content": content}}),
    }
}

/// Returns an addition next to the declared fields.
fn added(key: &Key, stored: &Json) -> Json {
    match KINDS[place_of(key).kind].kind {
        "ConfigMap" | "Secret" => json!({"data": {"stranger": "0000here"}}),
        "Deployment" => {
            let mut containers =
                stored["spec"]["template"]["spec"]["containers"].as_array().cloned().unwrap_or_default();
            if !containers.iter().any(|container| container["name"] == "intruder") {
                containers.insert(0, json!({"name": "intruder", "image": "miner:1"}));
            }
            json!({"spec": {"template": {"spec": {"containers": containers}}}})
        }
        _ => json!({"metadata": {"annotations": {"stranger": "was here"}}}),
    }
}

/// The maximum number of backups.
const MOST_BACKUPS: usize = 6;

/// The way of interference that is an apply under our name.
const POSE: u32 = 5;

impl World {
    /// Does something to a cluster's server, and schedules the events of it.
    fn handle<T>(&mut self, target: usize, act: impl FnOnce(&mut Server) -> T) -> T {
        let server = &mut self.clusters[target].server;
        server.set_now(self.now / 1_000);
        let result = act(server);
        let committed = server.take_committed();
        self.reflect(target, &committed);
        if !committed.is_empty() {
            self.stir(target);
        }
        result
    }

    /// Edits the object under a key as a stranger.
    pub(crate) fn edit_on_cluster(&mut self, target: usize, key: &Key, content: u32, who: &str) -> bool {
        let (place, change) = (place_of(key), edited(key, content));
        self.handle(target, |server| patch(server, &place, who, &change)) == 200
    }

    /// Does the same in one of the many ways that people have.
    pub(crate) fn meddle_on_cluster(&mut self, target: usize, key: &Key, content: u32) {
        let place = place_of(key);
        let Some(stored) = self.clusters[target].server.object(&place).map(|stored| stored.render(&place)) else {
            return;
        };
        let way = self.tape.pick("way to meddle", 9);
        if way == POSE {
            self.poses(target, &place);
        }
        let unlabelled = json!({"metadata": {"labels": {INSTALLATION_LABEL: null}}});
        let apply = |manager: &str| format!("{}?fieldManager={manager}&force=true", objects::path(&place));
        let mut whole = objects::json(key, content);
        self.handle(target, |server| match way {
            0 | 1 => patch(server, &place, "kubectl-edit", &edited(key, content)),
            2 => patch(server, &place, "stranger", &added(key, &stored)),
            3 => ask(server, Method::Patch, &apply("flux"), Some((APPLY, &whole))).0,
            4 => patch(server, &place, "kubectl-edit", &json!({"metadata": {"managedFields": [{}]}})),
            POSE => {
                whole["metadata"]["labels"][INSTALLATION_LABEL] = json!(INSTALLATION);
                ask(server, Method::Patch, &apply(MANAGER), Some((APPLY, &whole))).0
            }
            6 => patch(server, &place, "kubectl-label", &unlabelled),
            7 => patch(server, &place, "holder", &json!({"metadata": {"finalizers": [HOLD]}})),
            _ if KINDS[place.kind].kind == "Deployment" => {
                patch(server, &place, "hpa", &json!({"spec": {"replicas": content % 7 + 3}}))
            }
            _ => patch(
                server,
                &place,
                "kubectl-annotate",
                &json!({"metadata": {"annotations": {"note": content.to_string()}}}),
            ),
        });
    }

    /// Records that another client wrote the object under our name, if that was before we did.
    fn poses(&mut self, target: usize, place: &Place) {
        let cluster = &mut self.clusters[target];
        let Some(uid) = cluster.server.object(place).map(|stored| stored.uid().to_owned()) else { return };
        if !cluster.written.contains_key(&uid) {
            cluster.posed.insert(uid);
        }
    }

    pub(crate) fn remove_on_cluster(&mut self, target: usize, key: &Key) -> bool {
        let path = objects::path(&place_of(key));
        self.handle(target, |server| ask(server, Method::Delete, &path, None).0) == 200
    }

    /// Replaces the object under a key by a stranger's own.
    pub(crate) fn recreate_on_cluster(&mut self, target: usize, key: &Key, content: u32, who: &str) {
        let place = place_of(key);
        let mut whole = objects::json(key, content);
        if self.tape.happens("poses as us", 300) {
            whole["metadata"]["labels"][INSTALLATION_LABEL] = json!(INSTALLATION);
        }
        let poses = self.tape.happens("under our name", 300);
        self.handle(target, |server| {
            patch(server, &place, who, &json!({"metadata": {"finalizers": null}}));
            ask(server, Method::Delete, &objects::path(&place), None);
            while server.clean_up() {}
            if poses {
                let path = format!("{}?fieldManager={MANAGER}&force=true", objects::path(&place));
                return ask(server, Method::Patch, &path, Some((APPLY, &whole))).0;
            }
            // Some objects come from a tool that declares them.
            let custom = KINDS[place.kind].custom;
            let who = if custom { who } else { TOOL };
            let path = format!("{}?fieldManager={who}", objects::collection(&place));
            ask(server, Method::Post, &path, Some((JSON, &whole))).0
        });
        if poses {
            // If nothing could be deleted, the object is one that a tool has created.
            self.poses(target, &place);
        }
    }

    /// Puts a finalizer on an object, or removes all of them.
    pub(crate) fn finalize_on_cluster(&mut self, target: usize, key: &Key, holds: bool) {
        let place = place_of(key);
        let finalizers = if holds { json!([HOLD]) } else { Json::Null };
        self.handle(target, |server| patch(server, &place, "holder", &json!({"metadata": {"finalizers": finalizers}})));
    }

    pub(crate) fn control_on_cluster(&mut self, target: usize, key: &Key, controlled: bool) {
        let place = place_of(key);
        let owner = Place { name: OWNER.to_owned(), ..place_of(&objects::key(OWNER, 0)) };
        let Some(uid) = self.clusters[target].server.object(&owner).map(|owner| owner.uid().to_owned()) else { return };
        let reference = json!([{
            "apiVersion": "v1", "kind": "ConfigMap", "name": OWNER, "uid": uid, "controller": true,
        }]);
        let owners = if controlled { reference } else { Json::Null };
        self.handle(target, |server| patch(server, &place, "owner", &json!({"metadata": {"ownerReferences": owners}})));
    }

    pub(crate) fn sicken_on_cluster(&mut self, target: usize, key: &Key, health: Health) {
        self.clusters[target].sick.insert(key.clone(), health);
        self.tidy_later(target);
    }

    pub(crate) fn rule_on_cluster(&mut self, target: usize, key: &Key, rule: Option<Rule>) {
        let (place, server) = (place_of(key), &mut self.clusters[target].server);
        match rule {
            Some(rule) => server.rule(&place, rule),
            None => server.allow(&place),
        }
    }

    /// Lets another client write just before a request of ours lands.
    pub(super) fn touch(&mut self, target: usize, sent: &Sent) {
        let Some(place) = sent.place() else { return };
        let absent = self.clusters[target].server.object(&place).is_none();
        // Where no object exists, the stranger may be the first to create one. An object that is
        // about to be deleted may have been replaced.
        if (absent || sent.is_delete()) && self.tape.happens("puts their own", 400) {
            if let Some(key) = objects::key_at(&place) {
                self.recreate_on_cluster(target, &key, 85, "toucher");
            }
            return;
        }
        let change = json!({"metadata": {"annotations": {"touched": self.now.to_string()}}});
        self.handle(target, |server| patch(server, &place, "toucher", &change));
    }

    /// Changes something that concerns a whole cluster.
    pub(crate) fn shake_cluster(&mut self, target: usize) {
        let minutes = 1 + u64::from(self.tape.pick("away minutes", 4));
        let until = self.now + minutes * 60_000;
        match self.tape.pick("shaken", 4) {
            0 => {
                self.handle(target, |server| {
                    ask(server, Method::Delete, &format!("/api/v1/namespaces/{}", objects::NAMESPACE), None)
                });
                self.clusters[target].namespace_away_until = Some(until);
            }
            1 => {
                self.handle(target, Server::undefine);
                self.clusters[target].definition_away_until = Some(until);
            }
            2 => {
                // The objects that it controlled go with it.
                let owner = Place { name: OWNER.to_owned(), ..place_of(&objects::key(OWNER, 0)) };
                self.handle(target, |server| ask(server, Method::Delete, &objects::path(&owner), None));
            }
            _ if self.strikes(Fault::Elsewhere, "led elsewhere") => self.clusters[target].elsewhere_until = until,
            _ => {}
        }
        self.tidy_later(target);
        self.after(minutes * 60_000 + 1, Happening::Tidy { target });
    }

    /// Backs up the storage of a cluster.
    pub(crate) fn back_up_cluster(&mut self, target: usize) {
        let cluster = &mut self.clusters[target];
        cluster.backups.push_back(cluster.server.back_up());
        if cluster.backups.len() > MOST_BACKUPS {
            cluster.backups.pop_front();
        }
    }

    /// Restores the storage of a cluster from one of the last backups.
    pub(crate) fn restore_from_backup(&mut self, target: usize) {
        let backups = self.clusters[target].backups.len() as u32;
        let number = self.tape.pick("which backup", backups.max(1)) as usize;
        let Some(backup) = self.clusters[target].backups.get(number).cloned() else { return };
        // The restored server does not know the revisions after the backup.
        let cluster = &mut self.clusters[target];
        cluster.backups.truncate(number + 1);
        cluster.past.clear();
        cluster.restored_at = self.now;
        cluster.server.restore(&backup);
        let committed = cluster.server.take_committed();
        cluster.put_back.extend(committed.iter().filter_map(|change| Some(change.after.as_ref()?.uid().to_owned())));
        for change in &committed {
            let (uid, key) = (change.after.as_ref().map(|stored| stored.uid()), objects::key_at(&change.place));
            let is_same = change.before.as_ref().map(|stored| stored.uid()) == uid;
            if let (false, Some(key), Some(uid)) = (is_same, key, uid.and_then(|uid| Uid::new(uid).ok())) {
                // It was deleted after the backup was made, so no claim of it has to exist.
                self.monitor.let_go.insert((key, uid));
            }
        }
        self.reflect(target, &committed);
        self.cut_all(target);
        self.tidy_later(target);
    }

    pub(super) fn tidy_later(&mut self, target: usize) {
        if !std::mem::replace(&mut self.clusters[target].tidying, true) {
            self.after(2_000, Happening::Tidy { target });
        }
    }

    /// Runs the controllers of a cluster, and restores a removed namespace or definition after its
    /// time.
    pub(crate) fn tidy(&mut self, target: usize) {
        self.clusters[target].tidying = false;
        self.lead(target);
        let now = self.now;
        let cluster = &mut self.clusters[target];
        let over = |until: &mut Option<u64>| until.take_if(|until| *until <= now).is_some();
        let (namespace, definition) =
            (over(&mut cluster.namespace_away_until), over(&mut cluster.definition_away_until));
        let statuses = cluster.statuses();
        self.handle(target, |server| {
            server.clean_up();
            if namespace {
                furnish(server);
            }
            if definition {
                server.define();
            }
            for (place, status) in statuses {
                let path = format!("{}/status?fieldManager=kube-controller-manager", objects::path(&place));
                ask(server, Method::Patch, &path, Some((MERGE, &json!({"status": status}))));
            }
        });
        if namespace
            && self.clusters[target]
                .server
                .object(&Place {
                    name: objects::NAMESPACE.to_owned(),
                    ..place_of(&objects::key(objects::NAMESPACE, 7))
                })
                .is_none_or(Stored::is_leaving)
        {
            // It is not empty yet: it will be recreated later.
            self.clusters[target].namespace_away_until = Some(now + 10_000);
            self.after(10_001, Happening::Tidy { target });
        }
    }

    /// Directs the address of a cluster to the right server, or to the other one. It changes only
    /// while no change is in progress.
    fn lead(&mut self, target: usize) {
        let strays = self.clusters[target].elsewhere_until > self.now;
        let mut busy = false;
        for link in self.clusters[target].links.values_mut().filter(|link| link.strayed != strays) {
            if link.is_idle() {
                link.strayed = strays;
                link.wire.reconnect();
            } else {
                busy = true;
            }
        }
        if busy {
            self.tidy_later(target);
        }
    }

    /// Restores everything that was removed, and removes all finalizers of strangers.
    pub(crate) fn restore_clusters(&mut self) {
        for target in 0..self.clusters.len() {
            let cluster = &mut self.clusters[target];
            cluster.elsewhere_until = 0;
            cluster.sick.clear();
            cluster.definition_away_until = Some(self.now);
            cluster.namespace_away_until = Some(self.now);
            let held: Vec<Place> = cluster
                .server
                .objects()
                .filter(|(_, stored)| stored.body["metadata"].get("finalizers").is_some())
                .map(|(place, _)| place.clone())
                .collect();
            self.handle(target, |server| {
                server.allow_everything();
                for place in &held {
                    patch(server, place, "holder", &json!({"metadata": {"finalizers": null}}));
                }
                while server.clean_up() {}
            });
            self.tidy(target);
        }
    }
}

impl super::Cluster {
    /// Returns the changed statuses that the controllers of deployments and widgets report.
    fn statuses(&self) -> Vec<(Place, Json)> {
        let held = self.server.objects().filter(|(place, _)| matches!(KINDS[place.kind].kind, "Deployment" | "Widget"));
        let told = held.filter_map(|(place, stored)| {
            let health = objects::key_at(place).and_then(|key| self.sick.get(&key).copied()).unwrap_or(Health::Healthy);
            let deploys = KINDS[place.kind].kind == "Deployment";
            let status = if deploys { status_of_deployment(&stored.body, health) } else { status_of_widget(health) };
            (stored.body["status"] != status).then(|| (place.clone(), status))
        });
        told.collect()
    }
}

fn status_of_widget(health: Health) -> Json {
    let (status, reason) = match health {
        Health::Healthy => ("True", "Ready"),
        Health::Degraded => ("False", "Failed"),
        _ => ("Unknown", "Working"),
    };
    json!({"conditions": [{"type": "Ready", "status": status, "reason": reason}]})
}

fn status_of_deployment(body: &Json, health: Health) -> Json {
    let wanted = &body["spec"]["replicas"];
    let running = if health == Health::Healthy { wanted.clone() } else { json!(0) };
    let reason = if health == Health::Degraded { "ProgressDeadlineExceeded" } else { "NewReplicaSetAvailable" };
    let progressing = if health == Health::Degraded { "False" } else { "True" };
    let available = if health == Health::Healthy { "True" } else { "False" };
    json!({
        "observedGeneration": body["metadata"]["generation"], "replicas": wanted,
        "updatedReplicas": wanted, "readyReplicas": running, "availableReplicas": running,
        "conditions": [
            {"type": "Progressing", "status": progressing, "reason": reason},
            {"type": "Available", "status": available, "reason": "MinimumReplicasAvailable"},
        ],
    })
}
