//! Selects one page of apps: filters, counts, sorts and cuts. Pure, so that the agent and tests
//! share it.

use std::collections::BTreeMap;

use setpoint_core::name::AppId;

use crate::agent::{Problem, ProblemKind};
use crate::answer::{AppState, AppSummary, AppsPage};
use crate::question::{AppsOrder, AppsQuestion};

/// The largest number of apps on a page.
pub const LONGEST_PAGE: usize = 1000;

/// Returns the page of these apps that a caller requests. The apps must be those that it may see,
/// as they were after this position of the change feed.
pub fn page<'a>(
    apps: impl IntoIterator<Item = &'a AppSummary>,
    question: &AppsQuestion,
    position: u64,
) -> Result<AppsPage, Problem> {
    let after = question.after.as_deref().map(cursor).transpose()?;
    let words = question.q.iter().flat_map(|q| q.split_whitespace()).map(str::to_lowercase).collect::<Vec<_>>();
    let mut states = BTreeMap::<AppState, usize>::new();
    let (mut problems, mut total) = (0, 0);
    let mut found = Vec::new();
    let mut text = String::new();
    for app in apps.into_iter().filter(|app| is_in_place(app, question) && has_words(app, &words, &mut text)) {
        *states.entry(app.state).or_default() += 1;
        problems += usize::from(app.needs_attention());
        if !is_in_condition(app, question) {
            continue;
        }
        total += 1;
        let key = (rank(app, question.sort), &app.app);
        if after.as_ref().is_none_or(|(rank, after)| key > (*rank, after)) {
            found.push((key, app));
        }
    }
    let limit = question.limit.clamp(1, LONGEST_PAGE);
    if found.len() > limit {
        // Only the page is sorted, not all apps behind it.
        found.select_nth_unstable_by_key(limit, |(key, _)| *key);
        found.truncate(limit);
        found.sort_unstable_by_key(|(key, _)| *key);
        let next = found.last().map(|((rank, app), _)| format!("{rank}.{app}"));
        let apps = found.into_iter().map(|(_, app)| app.clone()).collect();
        return Ok(AppsPage { position, apps, next, total, states, problems });
    }
    found.sort_unstable_by_key(|(key, _)| *key);
    let apps = found.into_iter().map(|(_, app)| app.clone()).collect();
    Ok(AppsPage { position, apps, next: None, total, states, problems })
}

fn cursor(text: &str) -> Result<(u64, AppId), Problem> {
    let parsed = text.split_once('.').and_then(|(rank, app)| Some((rank.parse().ok()?, app.parse().ok()?)));
    parsed.ok_or_else(|| {
        let message = "`after` is not a position: use the `next` of the previous page";
        Problem::new(ProblemKind::Question, message)
    })
}

/// Reports whether an app matches the filters that do not change with its condition.
fn is_in_place(app: &AppSummary, question: &AppsQuestion) -> bool {
    let is = |wanted: &Option<String>, value: &str| wanted.as_ref().is_none_or(|wanted| wanted == value);
    let target = app.target_name.as_ref().map_or_else(|| app.target.as_str(), |name| name.as_str());
    let has_label = question.label.as_ref().is_none_or(|label| match label.split_once('=') {
        Some((name, value)) => app.labels.get(name).is_some_and(|it| it == value),
        None => app.labels.contains_key(label),
    });
    is(&question.scope, app.app.scope.as_str())
        && is(&question.component, &app.component)
        && is(&question.environment, &app.environment)
        && is(&question.target, target)
        && has_label
}

fn is_in_condition(app: &AppSummary, question: &AppsQuestion) -> bool {
    question.state.is_none_or(|state| app.state == state)
        && question.health.is_none_or(|health| app.health == health)
        && (!question.problems || app.needs_attention())
}

/// Reports whether all words occur in the texts of an app. The words have lower case. `text` is
/// reused for all apps: a fleet is searched with every letter that a person types.
fn has_words(app: &AppSummary, words: &[String], text: &mut String) -> bool {
    if words.is_empty() {
        return true;
    }
    let target = app.target_name.as_ref().map_or_else(|| app.target.as_str(), |name| name.as_str());
    let note = app.note.as_deref().unwrap_or_default();
    let AppId { scope, name } = &app.app;
    text.clear();
    for part in [scope.as_str(), "/", name.as_str(), " ", &app.component, " ", &app.environment, " ", target, " ", note]
    {
        text.push_str(part);
    }
    if text.is_ascii() {
        text.make_ascii_lowercase();
    } else {
        *text = text.to_lowercase();
    }
    words.iter().all(|word| text.contains(word.as_str()))
}

fn rank(app: &AppSummary, order: AppsOrder) -> u64 {
    match order {
        AppsOrder::Name => 0,
        AppsOrder::Worst => app.severity(),
        AppsOrder::Newest => {
            let at = app.accepted.as_ref().map_or(0, |accepted| accepted.at.as_millis());
            u64::MAX - at
        }
    }
}

impl AppSummary {
    /// Reports whether the app is not converged, or has a problem besides.
    pub fn needs_attention(&self) -> bool {
        self.state != AppState::Converged || !self.problems.is_empty()
    }

    /// Returns the urgency of the app: the lower, the more urgent.
    pub fn severity(&self) -> u64 {
        match self.state {
            AppState::Degraded => 0,
            AppState::Unknown => 1,
            AppState::OutOfSync => 2,
            AppState::Frozen => 3,
            AppState::Converged if self.problems.is_empty() => 9,
            AppState::Converged => 4,
            AppState::Progressing => 5,
            AppState::Held => 6,
            AppState::Suspended | AppState::Retiring => 7,
            AppState::Waiting => 8,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::canned::CannedAgent;

    fn fleet() -> Vec<AppSummary> {
        let calm = CannedAgent::example().overview.apps[0].clone();
        let app = |number: usize| AppSummary {
            app: format!("all/app-{number:03}").parse().expect("a valid app"),
            environment: if number.is_multiple_of(2) { "staging" } else { "production" }.to_owned(),
            state: if number.is_multiple_of(10) { AppState::Degraded } else { AppState::Converged },
            note: number.is_multiple_of(10).then(|| "Deployment/shop is not Available".to_owned()),
            ..calm.clone()
        };
        (0..100).map(app).collect()
    }

    fn names(page: &AppsPage) -> Vec<String> {
        page.apps.iter().map(|app| app.app.name.to_string()).collect()
    }

    #[test]
    fn the_pages_together_contain_each_app_once_in_every_order() {
        let fleet = fleet();
        for sort in [AppsOrder::Name, AppsOrder::Worst, AppsOrder::Newest] {
            let mut question = AppsQuestion { sort, limit: 7, ..AppsQuestion::default() };
            let mut all = Vec::new();
            loop {
                let page = page(&fleet, &question, 0).expect("a page");
                assert_eq!(page.total, 100);
                all.extend(names(&page));
                let Some(next) = page.next else { break };
                question.after = Some(next);
            }
            all.sort();
            assert_eq!(all, fleet.iter().map(|app| app.app.name.to_string()).collect::<Vec<_>>(), "{sort:?}");
        }
    }

    #[test]
    fn the_worst_come_first() {
        let question = AppsQuestion { sort: AppsOrder::Worst, limit: 3, ..AppsQuestion::default() };
        assert_eq!(names(&page(&fleet(), &question, 0).expect("a page")), ["app-000", "app-010", "app-020"]);
    }

    #[test]
    fn counts_of_states_ignore_the_filters_of_state_and_no_others() {
        let question = AppsQuestion {
            environment: Some("staging".into()),
            state: Some(AppState::Converged),
            ..AppsQuestion::default()
        };
        let page = page(&fleet(), &question, 0).expect("a page");
        assert_eq!(page.total, 40);
        assert_eq!(page.states, BTreeMap::from([(AppState::Converged, 40), (AppState::Degraded, 10)]));
        assert_eq!(page.problems, 10);
    }

    #[test]
    fn all_words_of_a_search_must_occur_in_any_letter_case() {
        let search = |q: &str| AppsQuestion { q: Some(q.into()), ..AppsQuestion::default() };
        assert_eq!(page(&fleet(), &search("SHOP app-01"), 0).expect("a page").total, 1);
        assert_eq!(page(&fleet(), &search("shop nowhere"), 0).expect("a page").total, 0);
    }

    #[test]
    fn an_invalid_position_is_refused() {
        let question = AppsQuestion { after: Some("x".into()), ..AppsQuestion::default() };
        assert_eq!(page(&fleet(), &question, 0).expect_err("refused").kind, ProblemKind::Question);
    }
}
