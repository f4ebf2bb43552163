//! The in-memory server's own guarantees: finalizers, namespaces, owners, definitions, streams.

use serde_json::{Value as Json, json};
use setpoint_kube_world::{Method, Reply, Request, Server, Watch};

fn ask(server: &mut Server, method: Method, path: &str, content: Option<(&str, Json)>) -> Reply {
    let content = content.map(|(how, body)| (how.to_owned(), body.to_string().into_bytes()));
    server.answer(&Request::new(method, path, "application/json", content))
}

fn answered(reply: Reply) -> (u16, Json) {
    match reply {
        Reply::Answer { code, bytes } => (code, serde_json::from_slice(&bytes).unwrap_or(Json::Null)),
        Reply::Stream(_) => panic!("that is a stream"),
    }
}

fn streamed(reply: Reply) -> Watch {
    match reply {
        Reply::Stream(watch) => watch,
        Reply::Answer { code, .. } => panic!("it answered {code}"),
    }
}

fn apply(server: &mut Server, path: &str, body: Json) -> (u16, Json) {
    let path = format!("{path}?fieldManager=ours&force=false");
    answered(ask(server, Method::Patch, &path, Some(("application/apply-patch+yaml", body))))
}

const MAPS: &str = "/api/v1/namespaces/default/configmaps";

fn map(name: &str, content: &str) -> Json {
    json!({"metadata": {"name": name, "labels": {"ours": "yes"}}, "data": {"content": content}})
}

fn events(server: &Server, watch: &mut Watch) -> Option<Vec<Json>> {
    let lines = server.events(watch)?;
    Some(lines.iter().map(|line| serde_json::from_str(line).expect("a line is JSON")).collect())
}

fn told(server: &Server, watch: &mut Watch) -> Vec<String> {
    let events = events(server, watch).unwrap_or_default();
    let name = |event: &Json| event["object"]["metadata"]["name"].as_str().unwrap_or_default().to_owned();
    events.iter().map(|event| format!("{} {}", event["type"].as_str().unwrap_or_default(), name(event))).collect()
}

#[test]
fn what_a_finalizer_holds_goes_when_it_is_let_go() {
    let mut server = Server::new("c");
    let mut body = map("a", "1");
    body["metadata"]["finalizers"] = json!(["x/y"]);
    assert_eq!(apply(&mut server, &format!("{MAPS}/a"), body).0, 201);
    let (code, leaving) = answered(ask(&mut server, Method::Delete, &format!("{MAPS}/a"), None));
    assert_eq!(code, 200);
    assert!(leaving["metadata"]["deletionTimestamp"].is_string(), "{leaving}");
    let freed = ("application/merge-patch+json", json!({"metadata": {"finalizers": null}}));
    assert_eq!(answered(ask(&mut server, Method::Patch, &format!("{MAPS}/a?fieldManager=x"), Some(freed))).0, 200);
    assert_eq!(answered(ask(&mut server, Method::Get, &format!("{MAPS}/a"), None)).0, 404);
}

#[test]
fn a_namespace_takes_its_content_along_and_lets_nothing_new_in_meanwhile() {
    let mut server = Server::new("c");
    let path = "/api/v1/namespaces/room/configmaps/a";
    assert_eq!(apply(&mut server, path, map("a", "1")).0, 404, "the namespace is not there");
    apply(&mut server, "/api/v1/namespaces/room", json!({"metadata": {"name": "room"}}));
    assert_eq!(apply(&mut server, path, map("a", "1")).0, 201);
    ask(&mut server, Method::Delete, "/api/v1/namespaces/room", None);
    let (code, refused) = apply(&mut server, "/api/v1/namespaces/room/configmaps/b", map("b", "1"));
    assert_eq!((code, refused["details"]["causes"][0]["reason"].as_str()), (403, Some("NamespaceTerminating")));
    while server.clean_up() {}
    assert_eq!(answered(ask(&mut server, Method::Get, path, None)).0, 404);
    assert_eq!(answered(ask(&mut server, Method::Get, "/api/v1/namespaces/room", None)).0, 404);
}

#[test]
fn what_an_owner_leaves_behind_is_collected() {
    let mut server = Server::new("c");
    let (_, owner) = apply(&mut server, &format!("{MAPS}/owner"), map("owner", "1"));
    let mut body = map("owned", "1");
    body["metadata"]["ownerReferences"] =
        json!([{"apiVersion": "v1", "kind": "ConfigMap", "name": "owner", "uid": owner["metadata"]["uid"]}]);
    apply(&mut server, &format!("{MAPS}/owned"), body);
    assert!(!server.clean_up());
    ask(&mut server, Method::Delete, &format!("{MAPS}/owner"), None);
    assert!(server.clean_up());
    assert_eq!(answered(ask(&mut server, Method::Get, &format!("{MAPS}/owned"), None)).0, 404);
}

#[test]
fn a_kind_goes_with_its_definition() {
    let mut server = Server::new("c");
    let path = "/apis/sim.setpoint.dev/v1/namespaces/default/widgets/w";
    assert_eq!(apply(&mut server, path, json!({"metadata": {"name": "w"}, "spec": {"content": 1}})).0, 201);
    server.undefine();
    let Reply::Answer { code, bytes } = ask(&mut server, Method::Get, path, None) else { panic!("no stream") };
    assert_eq!((code, bytes.as_slice()), (404, &b"404 page not found\n"[..]));
    server.define();
    let (code, status) = answered(ask(&mut server, Method::Get, path, None));
    assert_eq!((code, status["reason"].as_str()), (404, Some("NotFound")));
}

#[test]
fn a_stream_tells_what_is_there_and_then_what_changes_for_it() {
    let mut server = Server::new("c");
    apply(&mut server, &format!("{MAPS}/a"), map("a", "1"));
    let path = "/api/v1/configmaps?watch=true&labelSelector=ours%3Dyes&sendInitialEvents=true";
    let mut watch = streamed(ask(&mut server, Method::Get, path, None));
    assert_eq!(told(&server, &mut watch), ["ADDED a", "BOOKMARK "]);
    apply(&mut server, &format!("{MAPS}/b"), map("b", "1"));
    let unlabelled = ("application/merge-patch+json", json!({"metadata": {"labels": null}}));
    ask(&mut server, Method::Patch, &format!("{MAPS}/a?fieldManager=x"), Some(unlabelled));
    ask(&mut server, Method::Delete, &format!("{MAPS}/b"), None);
    assert_eq!(told(&server, &mut watch), ["ADDED b", "DELETED a", "DELETED b"]);
    server.compact();
    let late = "/api/v1/configmaps?watch=true&labelSelector=ours%3Dyes&resourceVersion=5";
    let mut late = streamed(ask(&mut server, Method::Get, late, None));
    assert_eq!(events(&server, &mut late).unwrap()[0]["object"]["code"], 410);
    assert!(events(&server, &mut late).is_none());
}

#[test]
fn a_server_that_lags_answers_from_what_it_remembers_only_where_that_is_allowed() {
    let mut server = Server::new("c");
    let before = server.revision();
    apply(&mut server, &format!("{MAPS}/a"), map("a", "1"));
    let get = |path: &str| Request::new(Method::Get, path, "application/json", None);
    assert_eq!(answered(server.answer_as_of(&get(&format!("{MAPS}/a?resourceVersion=0")), before)).0, 404);
    assert_eq!(answered(server.answer_as_of(&get(&format!("{MAPS}/a")), before)).0, 200);
}
