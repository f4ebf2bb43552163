//! Arranges the state of a server for tests, and inspects it from outside: `kubectl`, single
//! requests, namespaces, users and permissions.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Output, Stdio};
use std::sync::atomic::{AtomicUsize, Ordering};

use hyper::body::Bytes;
use serde_json::{Value, json};

use super::client::Answer;
use super::cluster::LOOKS;
use super::kubeconfig::{self, Identity};
use super::server::ApiServer;
use super::tools::tool;
use crate::program;

const RBAC: &str = "/apis/rbac.authorization.k8s.io/v1";

/// Makes names unique among all tests of a run.
static COUNTER: AtomicUsize = AtomicUsize::new(0);

pub(super) fn unique(name: &str) -> String {
    format!("{name}-{}-{}", std::process::id(), COUNTER.fetch_add(1, Ordering::Relaxed))
}

impl ApiServer {
    /// Creates a namespace that no other test uses, and returns its name, which begins with `name`.
    pub fn fresh_namespace(&self, name: &str) -> String {
        let name = unique(name);
        let namespace = json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}});
        self.create("/api/v1/namespaces", &namespace);
        name
    }

    /// Sends one request as the administrator; the content is its type and its bytes.
    pub fn request(&self, method: &str, path: &str, content: Option<(&str, &[u8])>) -> Answer {
        let content = content.map(|(kind, body)| (kind.to_owned(), Bytes::copy_from_slice(body)));
        let sending = self.client().clone().send(method.to_owned(), path.to_owned(), content);
        self.cluster().keeper().run(sending).unwrap_or_else(|error| panic!("{method} {path}: {error}"))
    }

    /// Applies an object on the server side as the administrator, under a manager's name and with
    /// force.
    pub fn apply(&self, path: &str, manager: &str, object: &Value) -> Value {
        let path = format!("{path}?fieldManager={manager}&force=true");
        let body = object.to_string();
        self.request("PATCH", &path, Some(("application/apply-patch+yaml", body.as_bytes()))).succeeded().json()
    }

    /// Posts a new object to a collection as the administrator.
    pub fn create(&self, collection: &str, object: &Value) -> Value {
        let body = object.to_string();
        self.request("POST", collection, Some(("application/json", body.as_bytes()))).succeeded().json()
    }

    /// Binds a cluster role to a user, in one namespace or everywhere, and waits until the server
    /// knows it.
    ///
    /// A controller aggregates `admin`, `edit` and `view`: without
    /// [`Options::controllers`](super::Options::controllers) they are empty, and
    /// `system:aggregate-to-edit` and `system:aggregate-to-view` have their rules.
    pub fn grant(&self, user: &str, role: &str, namespace: Option<&str>) {
        self.bind(role, namespace, "User", user);
        self.await_right(role, namespace, &json!({"user": user}));
    }

    /// Binds a cluster role to a group, in the same way.
    pub fn grant_to_group(&self, group: &str, role: &str, namespace: Option<&str>) {
        self.bind(role, namespace, "Group", group);
        self.await_right(role, namespace, &json!({"groups": [group]}));
    }

    fn bind(&self, role: &str, namespace: Option<&str>, kind_of_subject: &str, name: &str) {
        let (kind, collection) = match namespace {
            Some(namespace) => ("RoleBinding", format!("{RBAC}/namespaces/{namespace}/rolebindings")),
            None => ("ClusterRoleBinding", format!("{RBAC}/clusterrolebindings")),
        };
        let binding = json!({
            "apiVersion": "rbac.authorization.k8s.io/v1",
            "kind": kind,
            "metadata": {"name": unique("testbed")},
            "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": role},
            "subjects": [{"apiGroup": "rbac.authorization.k8s.io", "kind": kind_of_subject, "name": name}],
        });
        self.create(&collection, &binding);
    }

    /// Waits for a binding: the server watches bindings itself and learns of them a moment after
    /// their creation.
    fn await_right(&self, role: &str, namespace: Option<&str>, who: &Value) {
        let role_object = self.request("GET", &format!("{RBAC}/clusterroles/{role}"), None).succeeded().json();
        let rules = role_object["rules"].as_array().into_iter().flatten();
        let rule = rules.into_iter().find(|rule| rule["resources"].is_array());
        let rule = rule.unwrap_or_else(|| panic!("the role `{role}` allows nothing; see `ApiServer::grant`"));
        let right = json!({
            "namespace": namespace.unwrap_or_default(),
            "group": rule["apiGroups"][0],
            "resource": rule["resources"][0],
            "verb": rule["verbs"][0],
        });
        let mut review = json!({"apiVersion": "authorization.k8s.io/v1", "kind": "SubjectAccessReview", "spec": who});
        review["spec"]["resourceAttributes"] = right;
        for _ in 0..LOOKS {
            let answer = self.create("/apis/authorization.k8s.io/v1/subjectaccessreviews", &review);
            if answer["status"]["allowed"] == true {
                return;
            }
            self.cluster().keeper().pause();
        }
        panic!("the server does not take note that {who} has `{role}`");
    }

    /// Forbids all users to delete ConfigMaps of a namespace, and waits until that is in force.
    pub fn forbid_deletes(&self, namespace: &str) -> Forbidden<'_> {
        self.forbid("DELETE", namespace, "nothing is deleted here")
    }

    /// Forbids all users to create ConfigMaps in a namespace, and waits until that is in force.
    pub fn forbid_creates(&self, namespace: &str) -> Forbidden<'_> {
        self.forbid("CREATE", namespace, "nothing is created here")
    }

    fn forbid(&self, operation: &str, namespace: &str, message: &str) -> Forbidden<'_> {
        let name = unique("keep");
        let maps = format!("/api/v1/namespaces/{namespace}/configmaps");
        let mut probe = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}});
        self.create(&maps, &probe);
        let rule =
            json!({"apiGroups": [""], "apiVersions": ["v1"], "operations": [operation], "resources": ["configmaps"]});
        let matches = json!({
            "namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": namespace}}, "resourceRules": [rule],
        });
        let spec = json!({
            "matchConstraints": matches, "validations": [{"expression": "false", "message": message}],
        });
        let bound = json!({"policyName": name, "validationActions": ["Deny"]});
        for (kind, spec) in [("ValidatingAdmissionPolicy", spec), ("ValidatingAdmissionPolicyBinding", bound)] {
            let object = json!({
                "apiVersion": "admissionregistration.k8s.io/v1", "kind": kind, "metadata": {"name": name}, "spec": spec,
            });
            self.create(Forbidden::collection(kind), &object);
        }
        probe["metadata"]["name"] = json!(format!("{name}-another"));
        let another = probe.to_string();
        for _ in 0..LOOKS {
            let tried = match operation {
                "DELETE" => self.request("DELETE", &format!("{maps}/{name}?dryRun=All"), None),
                _ => {
                    self.request("POST", &format!("{maps}?dryRun=All"), Some(("application/json", another.as_bytes())))
                }
            };
            if tried.status == 422 {
                return Forbidden { server: self, name };
            }
            self.cluster().keeper().pause();
        }
        panic!("the server does not take note that {operation} is forbidden in `{namespace}`");
    }

    /// Creates a service account and returns a token for it; the server knows it as
    /// `system:serviceaccount:<namespace>:<name>`.
    pub fn service_account(&self, namespace: &str, name: &str) -> String {
        let accounts = format!("/api/v1/namespaces/{namespace}/serviceaccounts");
        self.create(&accounts, &json!({"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": name}}));
        let request = json!({"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": {}});
        let answer = self.create(&format!("{accounts}/{name}/token"), &request);
        answer["status"]["token"].as_str().expect("a token request is answered with a token").to_owned()
    }

    /// Writes a kubeconfig with a token and an embedded CA certificate.
    pub fn kubeconfig_with_token(&self, token: &str) -> PathBuf {
        let text = kubeconfig::self_contained(&self.url(), self.authority(), &Identity::Token(token));
        self.write_kubeconfig(&text)
    }

    /// Writes a kubeconfig with a client certificate, for any user and group: the server trusts the
    /// CA of the tests.
    pub fn kubeconfig_with_certificate(&self, user: &str, group: Option<&str>) -> PathBuf {
        let pair = self.cluster().authority().for_client(user, group);
        let text = kubeconfig::self_contained(&self.url(), self.authority(), &Identity::Certificate(&pair));
        self.write_kubeconfig(&text)
    }

    pub(super) fn write_kubeconfig(&self, text: &str) -> PathBuf {
        let file = self.folder().join(format!("{}.kubeconfig", unique("user")));
        std::fs::write(&file, text).expect("the folder is ours");
        file
    }

    /// Runs `kubectl` as the administrator and returns its output; on failure it panics with the
    /// error output.
    pub fn kubectl(&self, arguments: &[&str]) -> String {
        let output = self.kubectl_as(&self.kubeconfig(), arguments, b"");
        let complaint = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "kubectl {arguments:?}: {complaint}");
        String::from_utf8_lossy(&output.stdout).into_owned()
    }

    /// Runs `kubectl` as the user of a kubeconfig, with standard input (`-f -`), and returns its
    /// output whether it succeeds or not.
    pub fn kubectl_as(&self, kubeconfig: &Path, arguments: &[&str], input: &[u8]) -> Output {
        let mut command = program(&tool("kubectl").to_string_lossy());
        command.args(arguments).env("KUBECONFIG", kubeconfig).env("HOME", self.folder());
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().expect("it was found to be there");
        // It need not read its input, and reports its own errors.
        let _ = child.stdin.take().expect("it was piped").write_all(input);
        child.wait_with_output().expect("kubectl ends")
    }
}

/// A prohibition that lasts until this is dropped, and for a moment after.
#[derive(Debug)]
pub struct Forbidden<'s> {
    server: &'s ApiServer,
    name: String,
}

impl Forbidden<'_> {
    fn collection(kind: &str) -> &'static str {
        match kind {
            "ValidatingAdmissionPolicy" => "/apis/admissionregistration.k8s.io/v1/validatingadmissionpolicies",
            _ => "/apis/admissionregistration.k8s.io/v1/validatingadmissionpolicybindings",
        }
    }
}

impl Drop for Forbidden<'_> {
    fn drop(&mut self) {
        for kind in ["ValidatingAdmissionPolicyBinding", "ValidatingAdmissionPolicy"] {
            // A test that fails may have stopped the server.
            let _ = self.server.request("DELETE", &format!("{}/{}", Self::collection(kind), self.name), None);
        }
    }
}
