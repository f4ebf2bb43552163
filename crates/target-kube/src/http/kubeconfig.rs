//! Reads a kubeconfig strictly: settings that would run a program, lead elsewhere or skip
//! verification are refused (case 70).

use std::path::{Path, PathBuf};

use data_encoding::BASE64;
use setpoint_core::secret::Secret;
use setpoint_yaml::{Dialect, Document, Kind, Node, Scalar, Source, parse};

use super::connection::{ClientCertificate, Connection, ConnectionError, Token, read as read_file};

/// The refused settings of a cluster, each with the remedy.
const REFUSED_OF_CLUSTERS: &[(&str, &str)] = &[
    ("insecure-skip-tls-verify", "name the CA that signed the server's certificate in `certificate-authority`"),
    ("proxy-url", "give the agent a route to the API server"),
];

/// The refused settings of a user, each with the remedy.
const REFUSED_OF_USERS: &[(&str, &str)] = &[
    ("exec", "a kubeconfig may not start programs: use the `token` of a service account or a client certificate"),
    ("auth-provider", "use the `token` of a service account or a client certificate"),
    ("tokenFile", "use `token`, or run the agent in the cluster, where its token is renewed"),
    ("username", "use the `token` of a service account or a client certificate"),
    ("password", "use the `token` of a service account or a client certificate"),
    ("as", "name the user in `actAs` of the Scope document"),
    ("as-uid", "name the user in `actAs` of the Scope document"),
    ("as-groups", "name the user in `actAs` of the Scope document"),
    ("as-user-extra", "name the user in `actAs` of the Scope document"),
];

const KNOWN_OF_CLUSTERS: &[&str] = &[
    "server",
    "certificate-authority",
    "certificate-authority-data",
    "tls-server-name",
    "disable-compression",
    "extensions",
];
const KNOWN_OF_USERS: &[&str] =
    &["token", "client-certificate", "client-certificate-data", "client-key", "client-key-data", "extensions"];

pub(super) fn read(file: &Path, context: Option<&str>) -> Result<Connection, ConnectionError> {
    let bytes = read_file(file)?;
    let name = file.display().to_string();
    let wrong = |problem: String| ConnectionError::Kubeconfig { file: file.to_owned(), problem };
    // Diagnostics would show the line, and the line may contain a token.
    let unreadable =
        |_| wrong("it is not a single YAML document: write it again with `kubectl config view --raw`".to_owned());
    let source = Source::decode(&name, &bytes).map_err(unreadable)?;
    let documents = parse(source).map_err(unreadable)?;
    let [document] = documents.as_slice() else {
        return Err(wrong(
            "it is not a single YAML document: write it again with `kubectl config view --raw`".to_owned(),
        ));
    };
    Config { document, folder: file.parent().unwrap_or(Path::new(".")) }.connection(context).map_err(|problem| {
        match problem {
            Problem::Content(problem) => wrong(problem),
            Problem::File(error) => error,
        }
    })
}

enum Problem {
    Content(String),
    File(ConnectionError),
}

impl From<String> for Problem {
    fn from(problem: String) -> Self {
        Self::Content(problem)
    }
}

impl From<ConnectionError> for Problem {
    fn from(error: ConnectionError) -> Self {
        Self::File(error)
    }
}

struct Config<'d> {
    document: &'d Document<'d>,
    /// The directory to which paths in the file are relative.
    folder: &'d Path,
}

impl<'d> Config<'d> {
    fn connection(&self, context: Option<&str>) -> Result<Connection, Problem> {
        let root = self.document.root();
        let context = match context {
            Some(name) => name,
            None => text(root, "current-context")?
                .ok_or_else(|| "it has no `current-context`: name a context".to_owned())?,
        };
        let context = self.named("contexts", "context", context)?;
        let of = |field: &str| -> Result<&'d str, Problem> {
            Ok(text(context, field)?.ok_or_else(|| format!("the context has no `{field}`: add it"))?)
        };
        let cluster = self.named("clusters", "cluster", of("cluster")?)?;
        let user = self.named("users", "user", of("user")?)?;
        refuse(cluster, "cluster", REFUSED_OF_CLUSTERS, KNOWN_OF_CLUSTERS)?;
        refuse(user, "user", REFUSED_OF_USERS, KNOWN_OF_USERS)?;
        let server =
            text(cluster, "server")?.ok_or_else(|| "the cluster has no `server`: add its address".to_owned())?;
        Ok(Connection {
            server: server.to_owned(),
            authorities: self.bytes(cluster, "certificate-authority")?,
            server_name: text(cluster, "tls-server-name")?.map(str::to_owned),
            token: text(user, "token")?.map(|token| Token::Fixed(Secret::new(token.to_owned()))),
            certificate: self.certificate(user)?,
            namespace: text(context, "namespace")?.map(str::to_owned),
        })
    }

    /// Returns the entry of this name in one of the lists: `{name: …, cluster: {…}}`.
    fn named(&self, list: &str, field: &str, name: &str) -> Result<Node<'d>, Problem> {
        let missing = || format!("it has no {field} `{name}`: name one that it has");
        let Some(Kind::Sequence(items)) = self.document.root().get(list).map(Node::kind) else {
            return Err(missing().into());
        };
        for item in items.iter() {
            if text(item, "name")? == Some(name) {
                return Ok(item.get(field).ok_or_else(missing)?);
            }
        }
        Err(missing().into())
    }

    fn certificate(&self, user: Node<'d>) -> Result<Option<ClientCertificate>, Problem> {
        match (self.bytes(user, "client-certificate")?, self.bytes(user, "client-key")?) {
            (Some(chain), Some(key)) => Ok(Some(ClientCertificate { chain, key: Secret::new(key) })),
            (None, None) => Ok(None),
            _ => Err("the user has a client certificate or its key, but not both: add the other".to_owned().into()),
        }
    }

    /// Returns bytes that are in the kubeconfig itself (`…-data`) or in a file it names.
    fn bytes(&self, node: Node<'d>, field: &str) -> Result<Option<Vec<u8>>, Problem> {
        if let Some(data) = text(node, &format!("{field}-data"))? {
            let decoded = BASE64.decode(data.trim().as_bytes());
            return Ok(Some(decoded.map_err(|_| format!("`{field}-data` is not base64: write it again"))?));
        }
        let Some(file) = text(node, field)? else { return Ok(None) };
        let file: PathBuf = self.folder.join(file);
        Ok(Some(read_file(&file)?))
    }
}

fn text<'d>(node: Node<'d>, field: &str) -> Result<Option<&'d str>, String> {
    match node.get(field).map(|value| value.resolve(Dialect::GoYamlV2)) {
        None | Some(Some(Ok(Scalar::Null | Scalar::Str("")))) => Ok(None),
        Some(Some(Ok(Scalar::Str(text)))) => Ok(Some(text)),
        Some(_) => Err(format!("`{field}` is not a string: write it in quotes")),
    }
}

fn refuse(node: Node<'_>, what: &str, refused: &[(&str, &str)], known: &[&str]) -> Result<(), String> {
    let Kind::Mapping(entries) = node.kind() else { return Err(format!("the {what} has no fields: expected a map")) };
    for (key, value) in entries.iter() {
        let Kind::Scalar(field) = key.kind() else {
            return Err(format!("the {what} has a field whose name is not a string: remove it"));
        };
        // Tools write the field even if it is off.
        let off = matches!(value.resolve(Dialect::GoYamlV2), Some(Ok(Scalar::Bool(false) | Scalar::Null)));
        if let Some((_, instead)) = refused.iter().find(|(name, _)| *name == field && !off) {
            return Err(format!("`{field}` of a {what} is refused: {instead}"));
        }
        if !off && !known.contains(&field) {
            return Err(format!("`{}` of a {what} is not supported: remove it", setpoint_yaml::visible_text(field)));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn written(cluster: &str, user: &str) -> Result<Connection, ConnectionError> {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("ca.pem"), "authority").unwrap();
        let file = folder.path().join("config");
        let text = format!(
            "apiVersion: v1\nkind: Config\ncurrent-context: lab\ncontexts:\n- name: lab\n  context: {{cluster: c, user: u, namespace: web}}\n\
             clusters:\n- name: c\n  cluster: {cluster}\nusers:\n- name: u\n  user: {user}\n"
        );
        std::fs::write(&file, text).unwrap();
        Connection::from_kubeconfig(&file, None)
    }

    const CLUSTER: &str = "{server: 'https://10.0.0.1:6443', certificate-authority: ca.pem}";

    #[test]
    fn a_context_names_its_server_and_credentials() {
        let connection = written(CLUSTER, "{token: abc}").unwrap();
        assert_eq!(connection.server, "https://10.0.0.1:6443");
        assert_eq!(connection.authorities.as_deref(), Some(b"authority".as_slice()));
        assert_eq!(connection.namespace.as_deref(), Some("web"));
        assert_eq!(connection.token.as_ref().unwrap().current().open(), "abc");
        let connection = written(CLUSTER, "{client-certificate-data: YQ==, client-key-data: Yg==}").unwrap();
        assert_eq!(connection.certificate.unwrap().chain, b"a");
    }

    #[test]
    fn case_70_what_would_run_programs_or_look_away_is_refused_with_what_to_do() {
        for user in [
            "{exec: {command: id}}",
            "{auth-provider: {name: gcp}}",
            "{tokenFile: /etc/shadow}",
            "{token: abc, as: admin}",
            "{username: root, password: root}",
            "{token: abc, client-certificate-data: YQ==}",
            "{token: 12}",
            "{token: abc, surprise: yes please}",
        ] {
            let error = written(CLUSTER, user).expect_err(user).to_string();
            assert!(error.contains(": ") && !error.contains("abc"), "{error}");
        }
        for cluster in [
            "{server: 'https://10.0.0.1', insecure-skip-tls-verify: true}",
            "{server: 'https://10.0.0.1', proxy-url: 'http://10.0.0.2'}",
            "{certificate-authority-data: '%%', server: 'https://10.0.0.1'}",
            "{certificate-authority: ca.pem}",
        ] {
            assert!(written(cluster, "{token: abc}").is_err(), "{cluster}");
        }
        assert!(written("{server: 'https://10.0.0.1', insecure-skip-tls-verify: false}", "{token: abc}").is_ok());
    }

    #[test]
    fn a_context_that_is_not_there_is_named() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("config");
        std::fs::write(&file, "contexts: []\n").unwrap();
        let error = Connection::from_kubeconfig(&file, Some("prod")).expect_err("no such context").to_string();
        assert!(error.contains("`prod`"), "{error}");
        assert!(Connection::from_kubeconfig(&file, None).is_err());
    }
}
