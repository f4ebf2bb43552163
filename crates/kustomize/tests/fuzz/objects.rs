//! Kubernetes objects, with the fields that kustomize processes.

use super::document::{Yaml, list, map, raw, text};
use super::words::{CONTAINERS, DATA_KEYS, IMAGES, KEYS, NAMES, NAMESPACES, lines, odd, value_text};
use super::world::{Thing, World};

/// The kinds of generated objects.
pub(super) const KINDS: &[(&str, &str)] = &[
    ("apps/v1", "Deployment"),
    ("apps/v1", "Deployment"),
    ("apps/v1", "StatefulSet"),
    ("apps/v1", "DaemonSet"),
    ("v1", "Service"),
    ("v1", "Service"),
    ("v1", "ConfigMap"),
    ("v1", "ConfigMap"),
    ("v1", "Secret"),
    ("v1", "ServiceAccount"),
    ("v1", "Pod"),
    ("v1", "PersistentVolumeClaim"),
    ("v1", "Namespace"),
    ("batch/v1", "Job"),
    ("batch/v1", "CronJob"),
    ("networking.k8s.io/v1", "Ingress"),
    ("networking.k8s.io/v1", "NetworkPolicy"),
    ("rbac.authorization.k8s.io/v1", "Role"),
    ("rbac.authorization.k8s.io/v1", "RoleBinding"),
    ("rbac.authorization.k8s.io/v1", "ClusterRole"),
    ("rbac.authorization.k8s.io/v1", "ClusterRoleBinding"),
    ("autoscaling/v2", "HorizontalPodAutoscaler"),
    ("policy/v1", "PodDisruptionBudget"),
    ("storage.k8s.io/v1", "StorageClass"),
    ("admissionregistration.k8s.io/v1", "ValidatingWebhookConfiguration"),
    ("apiextensions.k8s.io/v1", "CustomResourceDefinition"),
    ("example.com/v1", "Widget"),
    ("example.com/v1", "Widget"),
    ("extensions/v1beta1", "Deployment"),
];

impl World {
    /// Returns an object of some kind; its name is usually new for that kind.
    pub(super) fn new_object(&mut self) -> Yaml {
        let mut thing = self.new_thing();
        while self.is_there(&thing) && !self.dice.percent(5) {
            thing = self.new_thing();
        }
        thing.object = self.object(&thing);
        let object = thing.object.clone();
        self.things.push(thing);
        object
    }

    fn new_thing(&mut self) -> Thing {
        let (api_version, kind) = self.dice.pick(KINDS);
        let namespace = if self.dice.percent(25) { self.dice.pick(NAMESPACES) } else { "" };
        Thing {
            api_version: api_version.to_owned(),
            kind: kind.to_owned(),
            name: self.dice.pick(NAMES).to_owned(),
            namespace: namespace.to_owned(),
            object: map([]),
        }
    }

    pub(super) fn object(&mut self, thing: &Thing) -> Yaml {
        let mut object = map([("apiVersion", text(&thing.api_version)), ("kind", text(&thing.kind))]);
        let metadata = self.metadata(&thing.name, &thing.namespace);
        object.set("metadata", metadata);
        self.fill(&mut object, &thing.kind);
        if self.dice.percent(self.odd / 2) {
            let at = self.dice.below(6);
            let odd = odd(&mut self.dice);
            object.set(["status", "spec", "data", "metadata", "extra", "kind"][at], odd);
        }
        object
    }

    fn metadata(&mut self, name: &str, namespace: &str) -> Yaml {
        let mut metadata = map([("name", text(name))]);
        if !namespace.is_empty() {
            metadata.set("namespace", text(namespace));
        }
        if self.dice.percent(40) {
            let labels = self.pairs();
            metadata.set("labels", labels);
        }
        if self.dice.percent(30) {
            let annotations = self.pairs();
            metadata.set("annotations", annotations);
        }
        if self.dice.percent(3) {
            metadata.set("annotations", map([("config.kubernetes.io/local-config", raw("\"true\""))]));
        }
        if self.dice.percent(2) {
            metadata.set("generateName", text("web-"));
        }
        metadata
    }

    /// Returns labels or annotations.
    pub(super) fn pairs(&mut self) -> Yaml {
        let mut pairs = map([]);
        for _ in 0..self.dice.below(3) + usize::from(!self.dice.percent(5)) {
            let key = self.dice.pick(KEYS);
            let value = self.value();
            pairs.set(key, value);
        }
        if self.dice.percent(1) {
            pairs.set("one", raw("&one x"));
            pairs.set("two", raw("*one"));
        }
        pairs
    }

    /// Returns a value that should be a string.
    pub(super) fn value(&mut self) -> Yaml {
        if self.dice.percent(self.odd) { odd(&mut self.dice) } else { value_text(&mut self.dice) }
    }

    pub(super) fn number(&mut self) -> Yaml {
        if self.dice.percent(self.odd) { odd(&mut self.dice) } else { raw((self.dice.below(5) * 8080).to_string()) }
    }

    /// Returns a name, most often one that exists.
    pub(super) fn name(&mut self) -> Yaml {
        if self.dice.percent(self.odd / 3) { odd(&mut self.dice) } else { text(self.dice.pick(NAMES)) }
    }

    fn fill(&mut self, object: &mut Yaml, kind: &str) {
        match kind {
            "ConfigMap" | "Secret" => {
                let data = self.data();
                object.set(if kind == "Secret" && self.dice.percent(50) { "stringData" } else { "data" }, data);
            }
            "ServiceAccount" => {
                let name = self.name();
                object.set("secrets", list([map([("name", name)])]));
            }
            "Role" | "ClusterRole" => self.fill_role(object),
            "RoleBinding" | "ClusterRoleBinding" => self.fill_binding(object),
            "Namespace" => {}
            "StorageClass" => object.set("provisioner", text("example.com/disk")),
            "ValidatingWebhookConfiguration" => self.fill_webhooks(object),
            _ => {
                let spec = self.spec(kind);
                object.set("spec", spec);
            }
        }
    }

    fn data(&mut self) -> Yaml {
        let mut data = map([]);
        for _ in 0..=self.dice.below(3) {
            let key = self.dice.pick(DATA_KEYS);
            let value = match self.dice.below(6) {
                0 => Yaml::Lines(lines(&mut self.dice)),
                1 => Yaml::Lines("{\"config\": {\"host\": \"web\", \"ports\": [80, 443]}}\n".to_owned()),
                2 => Yaml::Lines("config:\n  host: web\n  ports:\n  - 80\n  - 443\n".to_owned()),
                _ => self.value(),
            };
            data.set(key, value);
        }
        data
    }

    fn fill_role(&mut self, object: &mut Yaml) {
        let name = self.name();
        let mut rule = map([("apiGroups", list([raw("\"\"")])), ("verbs", list([text("get")]))]);
        rule.set("resources", list([text("configmaps")]));
        if self.dice.percent(60) {
            rule.set("resourceNames", list([name]));
        }
        object.set("rules", list([rule]));
        if self.dice.percent(10) {
            object.set("aggregationRule", map([("clusterRoleSelectors", list([map([("matchLabels", map([]))])]))]));
        }
    }

    fn fill_binding(&mut self, object: &mut Yaml) {
        let (name, role) = (self.name(), self.name());
        let mut subject = map([("kind", text("ServiceAccount")), ("name", name)]);
        if self.dice.percent(70) {
            subject.set("namespace", text(self.dice.pick(NAMESPACES)));
        }
        let kind = text(self.dice.pick(&["Role", "ClusterRole"]));
        object.set("roleRef", map([("apiGroup", text("rbac.authorization.k8s.io")), ("kind", kind), ("name", role)]));
        object.set("subjects", list([subject]));
    }

    fn fill_webhooks(&mut self, object: &mut Yaml) {
        let mut service = map([("name", self.name()), ("path", raw("/validate"))]);
        if self.dice.percent(60) {
            service.set("namespace", text(self.dice.pick(NAMESPACES)));
        }
        let hook = map([("name", text("a.example.com")), ("clientConfig", map([("service", service)]))]);
        object.set("webhooks", list([hook]));
    }

    fn spec(&mut self, kind: &str) -> Yaml {
        match kind {
            "Pod" => self.pod_spec(),
            "Deployment" | "StatefulSet" | "DaemonSet" | "Job" => self.workload(kind),
            "CronJob" => {
                let template = map([("spec", self.workload("Job"))]);
                map([("schedule", raw("'*/1 * * * *'")), ("jobTemplate", template)])
            }
            "Service" => self.service(),
            "Ingress" => self.ingress(),
            "PersistentVolumeClaim" => self.claim(),
            "HorizontalPodAutoscaler" => {
                let of = map([("apiVersion", text("apps/v1")), ("kind", text("Deployment")), ("name", self.name())]);
                map([("scaleTargetRef", of), ("minReplicas", self.number()), ("maxReplicas", raw("5"))])
            }
            "PodDisruptionBudget" | "NetworkPolicy" => self.selecting(kind),
            "CustomResourceDefinition" => map([
                ("group", text("example.com")),
                ("names", map([("kind", text("Widget")), ("plural", text("widgets"))])),
                ("scope", text("Namespaced")),
            ]),
            _ => self.widget(),
        }
    }

    fn workload(&mut self, kind: &str) -> Yaml {
        let mut metadata = map([]);
        if self.dice.percent(80) {
            metadata.set("labels", self.pairs());
        }
        if self.dice.percent(20) {
            metadata.set("annotations", self.pairs());
        }
        let mut template = map([]);
        if self.dice.percent(90) {
            template.set("metadata", metadata);
        }
        template.set("spec", self.pod_spec());
        let mut spec = map([("template", template)]);
        if kind != "DaemonSet" && kind != "Job" && self.dice.percent(60) {
            spec.set("replicas", self.number());
        }
        if kind != "Job" && self.dice.percent(70) {
            spec.set("selector", map([("matchLabels", self.pairs())]));
        }
        if kind == "StatefulSet" {
            spec.set("serviceName", self.name());
            if self.dice.percent(60) {
                let claim = map([("metadata", map([("name", text("data"))])), ("spec", self.claim())]);
                spec.set("volumeClaimTemplates", list([claim]));
            }
        }
        spec
    }

    pub(super) fn pod_spec(&mut self) -> Yaml {
        let mut spec = map([]);
        let containers: Vec<Yaml> = (0..=self.dice.below(2)).map(|_| self.container()).collect();
        spec.set("containers", list(containers));
        if self.dice.percent(20) {
            spec.set("initContainers", list([self.container()]));
        }
        if self.dice.percent(40) {
            let volumes: Vec<Yaml> = (0..=self.dice.below(2)).map(|_| self.volume()).collect();
            spec.set("volumes", list(volumes));
        }
        if self.dice.percent(30) {
            spec.set("serviceAccountName", self.name());
        }
        if self.dice.percent(20) {
            spec.set("imagePullSecrets", list([map([("name", self.name())])]));
        }
        if self.dice.percent(15) {
            let toleration = map([("key", text("a")), ("operator", text("Exists")), ("effect", text("NoSchedule"))]);
            spec.set("tolerations", list([toleration]));
        }
        if self.dice.percent(10) {
            let selector = map([("matchLabels", self.pairs())]);
            let spread = map([("maxSkew", raw("1")), ("topologyKey", text("zone")), ("labelSelector", selector)]);
            spec.set("topologySpreadConstraints", list([spread]));
        }
        spec
    }

    pub(super) fn container(&mut self) -> Yaml {
        let mut container = map([("name", text(self.dice.pick(CONTAINERS)))]);
        if self.dice.percent(90) {
            let image = text(self.dice.pick(IMAGES));
            container.set("image", if self.dice.percent(self.odd) { odd(&mut self.dice) } else { image });
        }
        if self.dice.percent(40) {
            let ports: Vec<Yaml> = (0..=self.dice.below(2)).map(|_| self.port("containerPort")).collect();
            container.set("ports", list(ports));
        }
        if self.dice.percent(50) {
            let variables: Vec<Yaml> = (0..=self.dice.below(3)).map(|_| self.variable()).collect();
            container.set("env", list(variables));
        }
        if self.dice.percent(20) {
            let of = self.dice.pick(&["configMapRef", "secretRef"]);
            container.set("envFrom", list([map([(of, map([("name", self.name())]))])]));
        }
        if self.dice.percent(25) {
            let words: Vec<Yaml> = (0..self.dice.below(4)).map(|_| self.value()).collect();
            container.set(self.dice.pick(&["command", "args"]), list(words));
        }
        if self.dice.percent(20) {
            let path = raw(self.dice.pick(&["/a", "/b", "/etc/conf"]));
            container.set("volumeMounts", list([map([("name", text("conf")), ("mountPath", path)])]));
        }
        if self.dice.percent(20) {
            container.set("resources", map([("limits", map([("cpu", self.value()), ("memory", text("64Mi"))]))]));
        }
        container
    }

    pub(super) fn port(&mut self, field: &str) -> Yaml {
        let mut port = map([(field, self.number())]);
        if self.dice.percent(40) {
            port.set("protocol", text(self.dice.pick(&["TCP", "UDP"])));
        }
        if self.dice.percent(40) {
            port.set("name", text(self.dice.pick(&["http", "https"])));
        }
        port
    }

    fn variable(&mut self) -> Yaml {
        let mut variable = map([("name", text(self.dice.pick(&["HOST", "PORT", "VAR", "MODE"])))]);
        let name = self.name();
        match self.dice.below(5) {
            0 => variable.set(
                "valueFrom",
                map([("configMapKeyRef", map([("name", name), ("key", text(self.dice.pick(DATA_KEYS)))]))]),
            ),
            1 => variable.set("valueFrom", map([("secretKeyRef", map([("name", name), ("key", text("key"))]))])),
            2 => variable.set("valueFrom", map([("fieldRef", map([("fieldPath", text("metadata.name"))]))])),
            _ => variable.set("value", self.value()),
        }
        variable
    }

    fn volume(&mut self) -> Yaml {
        let mut volume = map([("name", text(self.dice.pick(&["conf", "data", "tmp"])))]);
        let name = self.name();
        match self.dice.below(5) {
            0 => volume.set("configMap", map([("name", name)])),
            1 => volume.set("secret", map([("secretName", name)])),
            2 => volume.set("persistentVolumeClaim", map([("claimName", name)])),
            3 => {
                let source = map([("configMap", map([("name", name)]))]);
                volume.set("projected", map([("sources", list([source]))]));
            }
            _ => volume.set("emptyDir", map([])),
        }
        volume
    }

    fn service(&mut self) -> Yaml {
        let ports: Vec<Yaml> = (0..=self.dice.below(2)).map(|_| self.port("port")).collect();
        let mut spec = map([("ports", list(ports))]);
        if self.dice.percent(80) {
            spec.set("selector", self.pairs());
        }
        spec
    }

    fn ingress(&mut self) -> Yaml {
        let service = map([("name", self.name()), ("port", map([("number", raw("80"))]))]);
        let path = map([("path", raw("/")), ("backend", map([("service", service)]))]);
        let rule = map([("host", text("web.example.com")), ("http", map([("paths", list([path]))]))]);
        let mut spec = map([("rules", list([rule]))]);
        if self.dice.percent(30) {
            spec.set("tls", list([map([("secretName", self.name()), ("hosts", list([text("web.example.com")]))])]));
        }
        spec
    }

    fn claim(&mut self) -> Yaml {
        let mut claim = map([("accessModes", list([text("ReadWriteOnce")]))]);
        if self.dice.percent(50) {
            claim.set("storageClassName", self.name());
        }
        if self.dice.percent(30) {
            claim.set("selector", map([("matchLabels", self.pairs())]));
        }
        claim
    }

    fn selecting(&mut self, kind: &str) -> Yaml {
        let pairs = self.pairs();
        if kind == "PodDisruptionBudget" {
            return map([("selector", map([("matchLabels", pairs)])), ("minAvailable", raw("50%"))]);
        }
        let from = map([("podSelector", map([("matchLabels", self.pairs())]))]);
        map([("podSelector", map([("matchLabels", pairs)])), ("ingress", list([map([("from", list([from]))])]))])
    }

    fn widget(&mut self) -> Yaml {
        let mut spec = map([("size", self.number()), ("ref", map([("name", self.name())]))]);
        if self.dice.percent(50) {
            spec.set("list", list([self.value(), self.value()]));
        }
        if self.dice.percent(50) {
            let item = |name: &str, value| map([("name", text(name)), ("value", value)]);
            spec.set("items", list([item("a", self.value()), item("b", self.value())]));
        }
        spec
    }
}
