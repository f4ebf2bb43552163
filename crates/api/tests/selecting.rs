//! The fields of apps in a list, as a client selects them.

use serde_json::json;

use crate::sending::send;

#[tokio::test]
async fn apps_have_only_the_fields_that_a_client_names() {
    let page = send("GET", "/api/v1/apps?fields=app,state&limit=1", &[], "").await.json();
    assert_eq!(page["apps"], json!([{ "app": "default/motd", "state": "converged" }]));
    assert_eq!((&page["total"], &page["states"]["held"]), (&json!(2), &json!(1)), "the counts stay");
}

#[tokio::test]
async fn an_unknown_field_is_refused_with_a_list_of_all() {
    let response = send("GET", "/api/v1/apps?fields=app,nmae", &[], "").await;
    assert_eq!(response.status, 400);
    assert!(response.body.contains("no field `nmae`; the fields are app, component,"), "{}", response.body);
}
