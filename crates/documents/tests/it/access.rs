//! Access documents.

use setpoint_documents::{AccessSpec, AccessVerb, AccessWho, Spec, read_documents};

use crate::targets::targets;

fn read(spec: &str) -> Result<AccessSpec, String> {
    let text =
        format!("apiVersion: setpoint.dev/v1\nkind: Access\nmetadata: {{ name: team, scope: web }}\nspec:\n{spec}");
    let mut documents = read_documents("control.yaml", &text, &targets()).map_err(|found| found.to_string())?;
    match documents.remove(0).spec {
        Spec::Access(access) => Ok(*access),
        other => panic!("{other:?}"),
    }
}

fn refused(subjects: &str, rules: &str) -> String {
    read(&format!("  subjects: {subjects}\n  rules: {rules}\n")).expect_err("it is refused")
}

#[test]
fn an_access_names_subjects_verbs_and_restrictions() {
    let access = read(
        "  subjects:
    - account: alice
    - group: /Web Developers
      provider: corporate
    - group: web
    - token: ci-deploy
    - everyone: true
  rules:
    - verbs: [see, plan]
      scopes: [web]
      environments: [staging]
      targets: [prod]
      labels: { team: checkout }
    - verbs: [all]
",
    )
    .unwrap();
    let who: Vec<_> = access.subjects.iter().map(|subject| subject.who()).collect();
    assert_eq!(
        who,
        [
            AccessWho::Account("alice"),
            AccessWho::Group { name: "/Web Developers", provider: Some("corporate") },
            AccessWho::Group { name: "web", provider: None },
            AccessWho::Token("ci-deploy"),
            AccessWho::Everyone,
        ]
    );
    assert_eq!(access.rules[0].verbs, [AccessVerb::See, AccessVerb::Plan]);
    assert_eq!(access.rules[0].labels.as_map()["team"], "checkout");
    assert_eq!((&access.rules[1].scopes, access.rules[1].labels.is_empty()), (&None, true));
}

#[test]
fn a_subject_is_exactly_one() {
    for (subject, expected) in [
        ("{ account: a, token: b }", "exactly one of `account`, `group`, `token` and `everyone`"),
        ("{ }", "exactly one of `account`, `group`, `token` and `everyone`"),
        ("{ everyone: true, group: a }", "exactly one of `account`, `group`, `token` and `everyone`"),
        ("{ everyone: false }", "`everyone: false` matches no one"),
        ("{ account: a, provider: b }", "only a group has a `provider`"),
        ("{ user: a }", "unknown field `user`"),
        ("{ account: \"a\\u202eb\" }", "is not a line of text"),
    ] {
        let found = refused(&format!("[{subject}]"), "[{ verbs: [see] }]");
        assert!(found.contains(expected) && found.contains("control.yaml:5:"), "{subject}: {found}");
    }
}

#[test]
fn a_document_that_grants_nothing_is_refused() {
    assert!(refused("[]", "[{ verbs: [see] }]").contains("`subjects` is empty, so nothing is granted"));
    assert!(refused("[{ everyone: true }]", "[]").contains("`rules` is empty, so nothing is granted"));
    assert!(read("  subjects: [{ everyone: true }]\n").unwrap_err().contains("the field `rules` is missing"));
}

#[test]
fn an_empty_list_is_neither_all_nor_none() {
    for field in ["scopes", "environments", "targets"] {
        let found = refused("[{ everyone: true }]", &format!("[{{ verbs: [see], {field}: [] }}]"));
        assert!(found.contains(&format!("`{field}` is empty")), "{found}");
        assert!(found.contains("list at least one, or remove the field"), "{found}");
    }
    assert!(refused("[{ everyone: true }]", "[{ verbs: [] }]").contains("list at least one verb"));
}

#[test]
fn an_unknown_verb_is_refused_with_the_verbs() {
    let found = refused("[{ everyone: true }]", "[{ verbs: [frobnicate] }]");
    for word in ["`all`", "`see`", "`plan`", "`logs`", "`sync`", "`suspend`", "`hold`", "`release`", "`settle`"] {
        assert!(found.contains(word), "{found}");
    }
    assert!(refused("[{ everyone: true }]", "[{ verbs: [sea] }]").contains("did you mean `see`?"));
    let found = refused("[{ everyone: true }]", "[{ verbs: ['*'] }]");
    assert!(found.contains("unknown value `*`"), "{found}");
}

#[test]
fn a_wildcard_is_no_scope() {
    let found = refused("[{ everyone: true }]", "[{ verbs: [see], scopes: ['*'] }]");
    assert!(found.contains("`*` is not a valid scope"), "{found}");
}

#[test]
fn verbs_of_the_installation_cannot_be_restricted() {
    for restriction in ["scopes: [web]", "environments: [e]", "targets: [t]", "labels: { a: b }"] {
        let found = refused("[{ everyone: true }]", &format!("[{{ verbs: [see, erase], {restriction} }}]"));
        assert!(found.contains("`erase` concerns the whole installation"), "{found}");
    }
}
