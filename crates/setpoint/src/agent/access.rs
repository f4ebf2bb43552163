//! The rights of people and tokens, from the Access documents in force. Worked out at each request,
//! so that a right that is taken away no longer holds at the next one.

use std::sync::Arc;

use setpoint_api::rights::Names;
use setpoint_api::{Grant, Principal, Rights, Verb};
use setpoint_core::name::{Scope, TargetName};
use setpoint_documents::{AccessRule, AccessSpec, AccessVerb, AccessWho, Label};
use setpoint_engine::accept::ControlDocuments;

use super::sources::Provider;

/// The Access documents in force, for the server that identifies callers.
#[derive(Clone, Debug)]
pub struct AccessRules(Arc<Provider>);

impl AccessRules {
    pub(super) fn new(provider: Arc<Provider>) -> Self {
        Self(provider)
    }

    /// Returns the rights that the documents in force grant. Call it for each request, and every
    /// few seconds for a stream, which ends when its rights differ from those it began with.
    pub fn rights_of(&self, principal: &Principal) -> Rights {
        rights_of(&self.0.documents(), principal)
    }
}

/// Returns the rights that these documents grant: one grant for each rule of each Access document
/// that names the principal.
pub fn rights_of(documents: &ControlDocuments, principal: &Principal) -> Rights {
    let accesses = documents.accesses().iter().filter(|(_, access)| names(&access.spec, principal));
    let grants = accesses.flat_map(|((scope, name), access)| {
        let numbered = access.spec.rules.iter().enumerate();
        numbered.map(move |(n, rule)| grant_of(rule, scope, format!("Access {scope}/{name}, rule {}", n + 1)))
    });
    Rights::granted(grants)
}

fn names(access: &AccessSpec, principal: &Principal) -> bool {
    let is = |value: &Option<String>, wanted: &str| value.as_deref() == Some(wanted);
    // A token has only its own rights, whatever else is known about it.
    let is_person = principal.token.is_none() && (principal.account.is_some() || principal.provider.is_some());
    access.subjects.iter().any(|subject| match subject.who() {
        // A provider may give any name to its users, also that of a local account.
        AccessWho::Account(name) => is_person && principal.provider.is_none() && is(&principal.account, name),
        AccessWho::Group { name, provider } => {
            is_person
                && principal.groups.contains(name)
                && provider.is_none_or(|provider| is(&principal.provider, provider))
        }
        AccessWho::Token(name) => is(&principal.token, name),
        AccessWho::Everyone => is_person,
    })
}

fn grant_of(rule: &AccessRule, owner: &Scope, from: String) -> Grant {
    let is_root = *owner == Scope::default_scope();
    let scopes = match &rule.scopes {
        // Documents of other scopes were refused if they name another one; grant nothing there,
        // whatever was accepted.
        Some(scopes) => only(scopes.iter().filter(|scope| is_root || *scope == owner).map(Scope::as_str)),
        None if is_root => Names::Any,
        None => only([owner.as_str()]),
    };
    Grant {
        verbs: rule.verbs.iter().flat_map(|verb| verbs_of(*verb)).copied().collect(),
        scopes,
        environments: rule.environments.as_ref().map_or(Names::Any, |names| only(names.iter().map(Label::as_str))),
        targets: rule.targets.as_ref().map_or(Names::Any, |names| only(names.iter().map(TargetName::as_str))),
        labels: rule.labels.as_map().clone(),
        from,
    }
}

fn only<'a>(names: impl IntoIterator<Item = &'a str>) -> Names {
    Names::Only(names.into_iter().map(str::to_owned).collect())
}

/// Returns the verbs that a word of a document grants.
fn verbs_of(word: AccessVerb) -> &'static [Verb] {
    match word {
        AccessVerb::All => {
            &[Verb::See, Verb::Plan, Verb::Logs, Verb::Sync, Verb::Suspend, Verb::Hold, Verb::Release, Verb::Settle]
        }
        AccessVerb::See => &[Verb::See],
        AccessVerb::Plan => &[Verb::Plan],
        AccessVerb::Logs => &[Verb::Logs],
        AccessVerb::Sync => &[Verb::Sync],
        AccessVerb::Suspend => &[Verb::Suspend],
        AccessVerb::Hold => &[Verb::Hold],
        AccessVerb::Release => &[Verb::Release],
        AccessVerb::Settle => &[Verb::Settle],
        AccessVerb::Erase => &[Verb::Erase],
        AccessVerb::Administer => &[Verb::Administer],
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use setpoint_api::rights::Subject;
    use setpoint_documents::declaration::Field as _;
    use setpoint_engine::accept::documents_of;
    use setpoint_store::{MemoryTree, StorePath};

    use super::*;
    use crate::families::families;

    /// Returns these Access documents, each with its scope, subjects and rules, next to a target of
    /// the scope `web`.
    fn documents(accesses: &[(&str, &str, &str)]) -> ControlDocuments {
        let target = "apiVersion: setpoint.dev/v1\nkind: Target\nmetadata: { name: here, scope: web }\nspec: { kind: memory, system: a }\n";
        let access = |(n, (scope, subjects, rules)): (usize, &(&str, &str, &str))| {
            format!(
                "---\napiVersion: setpoint.dev/v1\nkind: Access\nmetadata: {{ name: a{n}, scope: {scope} }}\nspec: {{ subjects: {subjects}, rules: {rules} }}\n"
            )
        };
        let text = target.to_owned() + &accesses.iter().enumerate().map(access).collect::<String>();
        let tree = MemoryTree::of([("setpoint/a.yaml", text.as_str())]);
        match documents_of(&tree, &StorePath::new("setpoint/").expect("a path"), &families(None)) {
            Ok((documents, _)) => documents,
            Err(error) => panic!("{error:#?}"),
        }
    }

    fn account(name: &str) -> Principal {
        Principal { account: Some(name.to_owned()), ..Principal::default() }
    }

    fn member(group: &str, provider: Option<&str>) -> Principal {
        let groups = [group.to_owned()].into();
        Principal { account: Some("x".into()), groups, provider: provider.map(str::to_owned), token: None }
    }

    fn token(name: &str) -> Principal {
        Principal { token: Some(name.to_owned()), ..Principal::default() }
    }

    fn sees(rights: &Rights, scope: &str) -> bool {
        let (scope, labels) = (Scope::new(scope).expect("a scope"), BTreeMap::new());
        let subject = Subject { scope: &scope, environment: None, target: None, labels: &labels };
        rights.allow(Verb::See, &subject)
    }

    fn matches(subject: &str, principal: &Principal) -> bool {
        let documents = documents(&[("default", &format!("[{subject}]"), "[{ verbs: [see] }]")]);
        sees(&rights_of(&documents, principal), "web")
    }

    #[test]
    fn without_a_document_no_one_has_a_right() {
        assert_eq!(rights_of(&documents(&[]), &account("alice")), Rights::none());
    }

    #[test]
    fn an_account_is_a_local_one() {
        assert!(matches("{ account: alice }", &account("alice")));
        assert!(!matches("{ account: alice }", &account("bob")));
        assert!(!matches("{ account: alice }", &token("alice")));
        let impostor = Principal { provider: Some("corporate".into()), ..account("alice") };
        assert!(!matches("{ account: alice }", &impostor), "a provider may name its users like local accounts");
    }

    #[test]
    fn a_group_is_of_its_provider_if_one_is_named() {
        for provider in [None, Some("corporate"), Some("partner")] {
            assert!(matches("{ group: web }", &member("web", provider)));
            assert!(!matches("{ group: web }", &member("data", provider)));
            let of_one = matches("{ group: web, provider: corporate }", &member("web", provider));
            assert_eq!(of_one, provider == Some("corporate"));
        }
    }

    #[test]
    fn everyone_is_every_person_who_is_signed_in() {
        assert!(matches("{ everyone: true }", &account("alice")));
        assert!(matches("{ everyone: true }", &member("web", Some("corporate"))));
        assert!(!matches("{ everyone: true }", &Principal::default()));
    }

    #[test]
    fn a_token_has_only_the_rights_that_are_granted_to_it() {
        assert!(matches("{ token: ci }", &token("ci")));
        assert!(!matches("{ token: ci }", &account("ci")));
        let rich = Principal { token: Some("ci".into()), ..member("web", None) };
        for subject in ["{ everyone: true }", "{ group: web }", "{ account: x }", "{ token: other }"] {
            assert!(!matches(subject, &rich), "{subject}");
        }
    }

    #[test]
    fn the_scope_of_a_rule_is_that_of_its_document() {
        let granted = |scope: &str, rule: &str| {
            let documents = documents(&[(scope, "[{ account: alice }]", &format!("[{rule}]"))]);
            let rights = rights_of(&documents, &account("alice"));
            (sees(&rights, "web"), sees(&rights, "default"), rights.allow_everywhere(Verb::See))
        };
        assert_eq!(granted("web", "{ verbs: [see] }"), (true, false, false));
        assert_eq!(granted("web", "{ verbs: [see], scopes: [web] }"), (true, false, false));
        assert_eq!(granted("default", "{ verbs: [see] }"), (true, true, true));
        assert_eq!(granted("default", "{ verbs: [see], scopes: [default] }"), (false, true, false));
    }

    #[test]
    fn a_grant_has_the_restrictions_of_its_rule_and_names_it() {
        let rules = "[{ verbs: [sync] }, { verbs: [see, plan], environments: [staging], targets: [here], labels: { team: a } }]";
        let documents = documents(&[("web", "[{ account: alice }]", rules), ("web", "[{ account: bob }]", rules)]);
        let Rights::Granted(grants) = rights_of(&documents, &account("alice")) else { panic!("not all rights") };
        let grant = Grant {
            verbs: [Verb::See, Verb::Plan].into(),
            scopes: only(["web"]),
            environments: only(["staging"]),
            targets: only(["here"]),
            labels: [("team".to_owned(), "a".to_owned())].into(),
            from: "Access web/a0, rule 2".to_owned(),
        };
        assert_eq!((grants.len(), &grants[1]), (2, &grant));
    }

    #[test]
    fn every_verb_has_the_same_word_in_documents() {
        for verb in Verb::ALL {
            let rule = format!("[{{ verbs: [{verb}] }}]");
            let documents = documents(&[("default", "[{ account: alice }]", &rule)]);
            let rights = rights_of(&documents, &account("alice"));
            let granted: Vec<Verb> = Verb::ALL.into_iter().filter(|verb| rights.allow_everywhere(*verb)).collect();
            assert_eq!(granted, [verb]);
        }
    }

    #[test]
    fn all_is_every_verb_but_those_of_the_installation() {
        let expected = Verb::ALL.into_iter().filter(|verb| !matches!(verb, Verb::Erase | Verb::Administer));
        assert_eq!(verbs_of(AccessVerb::All), expected.collect::<Vec<_>>());
        assert_eq!(AccessVerb::All.show(), "all");
    }
}
