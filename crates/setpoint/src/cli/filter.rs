//! The filters of `setpoint status`. The agent sends all apps, so that every filter sees the same
//! state.

use clap::Args;
use serde::de::DeserializeOwned;
use setpoint_api::answer::{AppState, AppSummary, Overview};
use setpoint_core::live::Health;
use setpoint_core::name::{AppId, Scope, TargetIdentity};

/// The apps to show. Values of one option are alternatives; an app must fulfil all options.
#[derive(Debug, Default, Args)]
pub(super) struct Filter {
    /// Show only apps with this name: `shop`, `web/shop`, or a pattern such as `web/*`
    ///
    /// `*` matches any text and `?` one character. A pattern without `/` applies to names in
    /// all scopes. Several patterns are alternatives.
    #[arg(value_name = "PATTERN")]
    patterns: Vec<String>,
    /// Show only apps of this scope
    #[arg(long, value_name = "SCOPE")]
    scope: Vec<Scope>,
    /// Show only apps on this target, named as in its document or by its identity
    #[arg(long, value_name = "TARGET")]
    target: Vec<String>,
    /// Show only apps of this component
    #[arg(long, value_name = "COMPONENT")]
    component: Vec<String>,
    /// Show only apps of this environment
    #[arg(long, value_name = "ENVIRONMENT")]
    environment: Vec<String>,
    /// Show only apps with this label: `team`, or `team=checkout`
    ///
    /// Several values for one label are alternatives; an app must have all labels that are named.
    #[arg(long, value_name = "NAME[=VALUE]")]
    label: Vec<String>,
    /// Show only apps in this state, as in the JSON output: converged, out-of-sync, …
    #[arg(long, value_name = "STATE", value_parser = word::<AppState>)]
    state: Vec<AppState>,
    /// Show only apps of this health: healthy, progressing, degraded or unknown
    #[arg(long, value_name = "HEALTH", value_parser = word::<Health>)]
    health: Vec<Health>,
}

/// Reads a word as the JSON output has it.
fn word<T: DeserializeOwned>(text: &str) -> Result<T, String> {
    serde_json::from_value(text.into()).map_err(|error| error.to_string())
}

impl Filter {
    /// Reports whether all apps are shown.
    pub(super) fn is_empty(&self) -> bool {
        let Self { patterns, scope, target, state, health, .. } = self;
        let by_document = self.is_by_document();
        !by_document
            && patterns.is_empty()
            && scope.is_empty()
            && target.is_empty()
            && state.is_empty()
            && health.is_empty()
    }

    /// Reports whether the filter needs the document of an app.
    fn is_by_document(&self) -> bool {
        !self.component.is_empty() || !self.environment.is_empty() || !self.label.is_empty()
    }

    /// Removes all apps that the filter excludes. Of those that wait for a target, only the name is
    /// known, so every other filter excludes them.
    pub(super) fn apply(&self, overview: &mut Overview) {
        let targets = overview.targets.iter().filter(|standing| self.has_target(standing.target.as_str()));
        let targets: Vec<TargetIdentity> = targets.map(|standing| standing.identity.clone()).collect();
        overview.apps.retain(|app| self.shows(app, &targets));
        for unreached in &mut overview.unreached {
            let shown = self.target.is_empty() || self.has_target(unreached.target.as_str());
            let by_more = !self.state.is_empty() || !self.health.is_empty() || self.is_by_document();
            unreached.waiting.retain(|app| shown && !by_more && self.has_name(app));
        }
    }

    fn shows(&self, app: &AppSummary, targets: &[TargetIdentity]) -> bool {
        let on_target =
            || self.target.is_empty() || targets.contains(&app.target) || self.has_target(app.target.as_str());
        self.has_name(&app.app)
            && (self.state.is_empty() || self.state.contains(&app.state))
            && (self.health.is_empty() || self.health.contains(&app.health))
            && (self.component.is_empty() || self.component.contains(&app.component))
            && (self.environment.is_empty() || self.environment.contains(&app.environment))
            && self.has_labels(app)
            && on_target()
    }

    /// Reports whether an app has each label that is named, with one of the values named for it.
    fn has_labels(&self, app: &AppSummary) -> bool {
        let name_of = |label: &str| label.split_once('=').map_or(label, |(name, _)| name).to_owned();
        let has = |label: &String| match label.split_once('=') {
            Some((name, value)) => app.labels.get(name).is_some_and(|it| it == value),
            None => app.labels.contains_key(label),
        };
        self.label.iter().all(|named| {
            let alternatives = self.label.iter().filter(|label| name_of(label) == name_of(named));
            alternatives.into_iter().any(has)
        })
    }

    fn has_target(&self, name: &str) -> bool {
        self.target.iter().any(|target| target == name)
    }

    fn has_name(&self, app: &AppId) -> bool {
        let matches_one = |pattern: &String| match pattern.contains('/') {
            true => matches(pattern, &app.to_string()),
            false => matches(pattern, app.name.as_str()),
        };
        (self.scope.is_empty() || self.scope.contains(&app.scope))
            && (self.patterns.is_empty() || self.patterns.iter().any(matches_one))
    }
}

/// Reports whether a text matches a pattern with `*` and `?`.
fn matches(pattern: &str, text: &str) -> bool {
    let (pattern, text): (Vec<char>, Vec<char>) = (pattern.chars().collect(), text.chars().collect());
    let (mut at, mut read) = (0, 0);
    // The last `*`, and the earliest end of the text that it matches.
    let mut star: Option<(usize, usize)> = None;
    while read < text.len() {
        match pattern.get(at) {
            Some('*') => {
                star = Some((at, read));
                at += 1;
            }
            Some(c) if *c == '?' || *c == text[read] => (at, read) = (at + 1, read + 1),
            _ => {
                let Some((place, end)) = star else { return false };
                star = Some((place, end + 1));
                (at, read) = (place + 1, end + 1);
            }
        }
    }
    pattern[at..].iter().all(|c| *c == '*')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pattern_matches_the_whole_name() {
        for (pattern, text, expected) in [
            ("shop", "shop", true),
            ("shop", "shop-2", false),
            ("shop*", "shop-2", true),
            ("*", "", true),
            ("web/*", "web/shop", true),
            ("*/shop", "web/shop", true),
            ("w?b/s*p", "web/stop-and-shop", true),
            ("a*b*c", "a-b-b-d", false),
            ("a*b*c", "abbbc", true),
            ("?", "", false),
        ] {
            assert_eq!(matches(pattern, text), expected, "{pattern} {text}");
        }
    }

    #[test]
    fn labels_of_one_name_are_alternatives_and_those_of_several_names_are_not() {
        let mut app = setpoint_api::canned::CannedAgent::example().overview.apps[0].clone();
        app.labels = [("team".to_owned(), "checkout".to_owned()), ("tier".to_owned(), "gold".to_owned())].into();
        let shows = |labels: &[&str]| {
            let label = labels.iter().map(|label| (*label).to_owned()).collect();
            let filter = Filter { label, ..Filter::default() };
            filter.shows(&app, &[])
        };
        assert!(shows(&["team"]) && shows(&["team=checkout"]) && shows(&["team=search", "team=checkout"]));
        assert!(shows(&["team=checkout", "tier"]));
        assert!(!shows(&["team=search"]) && !shows(&["team", "tier=silver"]) && !shows(&["other"]));
    }

    #[test]
    fn an_unknown_state_is_refused_with_the_known_ones() {
        assert_eq!(word::<AppState>("out-of-sync"), Ok(AppState::OutOfSync));
        let refused = word::<AppState>("broken").unwrap_err();
        assert!(refused.contains("`converged`") && refused.contains("`out-of-sync`"), "{refused}");
    }
}
