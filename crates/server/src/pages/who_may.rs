//! The page that answers "why may X do Y?": the rules that give a person or a token its rights, in all
//! or on one app.

use askama::Template;
use setpoint_api::Rights;
use setpoint_api::answer::AppSummary;
use setpoint_api::rights::{Grant, Names, Subject, Verb};

use super::chrome::Chrome;
use super::marks::{Mark, Tone};
use super::rendered;

/// A question about rights, as the form has it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RightsQuery {
    /// `account:NAME` or `token:NAME`; empty for anyone of `group`.
    pub who: String,
    pub group: String,
    pub provider: String,
    /// The app as `scope/name`; empty for all.
    pub app: String,
}

impl RightsQuery {
    pub fn is_empty(&self) -> bool {
        self.who.is_empty() && self.group.is_empty()
    }
}

/// The question, and the rights of the person or token that it is about.
#[derive(Clone, Debug)]
pub struct RightsView {
    pub query: RightsQuery,
    /// The accounts and tokens to choose from, as `account:NAME` and `token:NAME`.
    pub known: Vec<String>,
    /// `None` before a question, and for someone who does not exist.
    pub rights: Option<Rights>,
    /// The app of the question, if it exists.
    pub app: Option<AppSummary>,
    pub problem: Option<String>,
}

/// One kind of access to the app of the question.
struct VerbRow {
    verb: &'static str,
    mark: Mark,
    because: Vec<String>,
}

/// One rule that applies.
struct RuleRow {
    from: String,
    verbs: String,
    places: String,
}

#[derive(Template)]
#[template(path = "access_rights.html")]
struct Page<'a> {
    chrome: &'a Chrome,
    tab: &'static str,
    view: &'a RightsView,
    /// Administrators have all rights, whatever the documents contain.
    has_all: bool,
    verbs: Vec<VerbRow>,
    rules: Vec<RuleRow>,
}

/// Renders the page.
pub fn page(chrome: &Chrome, view: &RightsView) -> String {
    let has_all = matches!(view.rights, Some(Rights::All));
    let rules = match &view.rights {
        Some(Rights::Granted(grants)) => grants.iter().map(rule).collect(),
        Some(Rights::All) | None => Vec::new(),
    };
    let verbs = match (&view.rights, &view.app) {
        (Some(rights), Some(app)) => Verb::ALL.into_iter().map(|verb| verb_row(rights, verb, app)).collect(),
        _ => Vec::new(),
    };
    rendered(&Page { chrome, tab: "rights", view, has_all, verbs, rules })
}

fn verb_row(rights: &Rights, verb: Verb, app: &AppSummary) -> VerbRow {
    let subject = Subject::from(app);
    let because = rights.because(verb, &subject).into_iter().map(|grant| grant.from.clone()).collect();
    let mark = match rights.allow(verb, &subject) {
        true => Mark::new(Tone::Good, "check", "may"),
        false => Mark::new(Tone::Mute, "minus", "may not"),
    };
    VerbRow { verb: verb.as_str(), mark, because }
}

fn rule(grant: &Grant) -> RuleRow {
    let names = |what: &str, names: &Names| match names {
        Names::Any => None,
        Names::Only(names) => Some(format!("{what} {}", names.iter().cloned().collect::<Vec<_>>().join(", "))),
    };
    let labels: Vec<String> = grant.labels.iter().map(|(name, value)| format!("{name}={value}")).collect();
    let labels = (!labels.is_empty()).then(|| format!("labels {}", labels.join(", ")));
    let places = [
        names("scopes", &grant.scopes),
        names("environments", &grant.environments),
        names("targets", &grant.targets),
        labels,
    ];
    let places: Vec<String> = places.into_iter().flatten().collect();
    RuleRow {
        from: grant.from.clone(),
        verbs: grant.verbs.iter().map(|verb| verb.as_str()).collect::<Vec<_>>().join(", "),
        places: if places.is_empty() { "everywhere".to_owned() } else { places.join("; ") },
    }
}

#[cfg(test)]
mod tests {
    use setpoint_api::canned::{CannedAgent, NOON};

    use super::super::Section;
    use super::*;

    #[test]
    fn each_kind_of_access_has_the_rules_that_allow_it() {
        let app = CannedAgent::example().detail.summary;
        let grant = Grant {
            verbs: [Verb::See, Verb::Sync].into(),
            scopes: Names::Only(["web".to_owned()].into()),
            environments: Names::Any,
            targets: Names::Any,
            labels: [].into(),
            from: "Access web/team, rule 2".to_owned(),
        };
        let query = RightsQuery { who: "account:ada".to_owned(), app: app.app.to_string(), ..RightsQuery::default() };
        let rights = Some(Rights::granted([grant]));
        let view = RightsView { query, known: vec!["account:ada".to_owned()], rights, app: Some(app), problem: None };
        let html = page(&Chrome::new("Rights", Section::Access, NOON), &view);
        assert_eq!(html.matches(">may</span>").count(), 2, "{html}");
        assert_eq!(html.matches(">may not</span>").count(), Verb::ALL.len() - 2);
        assert!(html.contains("Access web/team, rule 2") && html.contains("scopes web"), "{html}");
    }
}
