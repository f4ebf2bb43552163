//! The faults of the proxy, and their conditions.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use hyper::Response;
use hyper::body::Bytes;

use super::seen::Seen;

/// A fault that the proxy injects. "Before" means before the request reaches the server, "after"
/// means after the server has responded: its changes are made.
#[derive(Clone, Debug)]
pub enum Fault {
    /// Responds in the server's place, with a `Status` object as the server writes it.
    Status { code: u16, retry_after: Option<u32> },
    /// Passes the request on, and responds with this status instead of the server's.
    StatusAfter(u16),
    /// Responds in the server's place with any JSON.
    Answer { code: u16, body: String },
    /// Resets the connection before.
    ResetBefore,
    /// Resets the connection after.
    ResetAfter,
    /// Sends the first half of the response and closes the connection.
    Half,
    /// Waits before.
    DelayBefore(Duration),
    /// Waits after.
    DelayAfter(Duration),
    /// Accepts the request, does not pass it on and never responds.
    HangBefore,
    /// Passes the request on and never responds.
    HangAfter,
    /// Repeats the first response to each path since the rule was added: stale from then on.
    Stale,
    /// Responds with a list that never ends.
    Endless,
    /// Passes a list on, but with this limit of objects per page.
    ShortPages(usize),
    /// Redirects to the same path below another base URL.
    Redirect(String),
    /// Responds to a watch with the event that its resourceVersion is too old.
    Expire,
    /// Drops a line of a watch, also of a running one; each line counts as one strike.
    SwallowEvent,
    /// Resets the connection instead of passing on the next line of a watch, also of a running one.
    ResetInsteadOfEvent,
}

impl Fault {
    fn strikes_lines(&self) -> bool {
        matches!(self, Self::SwallowEvent | Self::ResetInsteadOfEvent)
    }
}

/// The condition of a fault.
#[derive(Clone, Debug)]
pub struct Rule {
    method: String,
    part: String,
    fault: Fault,
    /// Text that a line of a watch must contain.
    line: String,
    left: Option<usize>,
}

impl Rule {
    /// Creates a rule for all requests with this method (`*` is any) and with this text in their
    /// path or query, without a limit.
    pub fn new(method: &str, part: &str, fault: Fault) -> Self {
        Self { method: method.to_owned(), part: part.to_owned(), fault, line: String::new(), left: None }
    }

    /// Restricts the rule to lines of a watch with this text, which excludes bookmarks and other
    /// objects.
    #[must_use]
    pub fn in_lines_with(self, text: &str) -> Self {
        Self { line: text.to_owned(), ..self }
    }

    /// Limits how often the rule strikes.
    #[must_use]
    pub fn times(self, times: usize) -> Self {
        Self { left: Some(times), ..self }
    }

    /// Reports whether the rule matches a request, or a `line` of a watch.
    fn is_about(&self, seen: &Seen, line: Option<&[u8]>) -> bool {
        self.left != Some(0)
            && self.fault.strikes_lines() == line.is_some()
            && (self.method == "*" || self.method == seen.method)
            && seen.target().contains(&self.part)
            && line.is_none_or(|line| String::from_utf8_lossy(line).contains(&self.line))
    }
}

/// The id of a rule of one proxy.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct RuleId(usize);

/// Responses that a rule repeats, by path and query.
pub(super) type StoredResponses = Arc<Mutex<BTreeMap<String, Response<Bytes>>>>;

/// A fault that strikes now.
#[derive(Debug)]
pub(super) struct Struck {
    pub(super) fault: Fault,
    pub(super) kept: StoredResponses,
}

/// The rules in the order in which they were added.
#[derive(Debug, Default)]
pub(super) struct Rules {
    active: BTreeMap<RuleId, (Rule, StoredResponses)>,
    struck: BTreeMap<RuleId, usize>,
    added: usize,
}

impl Rules {
    pub(super) fn add(&mut self, rule: Rule) -> RuleId {
        let id = RuleId(self.added);
        self.added += 1;
        self.active.insert(id, (rule, StoredResponses::default()));
        id
    }

    pub(super) fn remove(&mut self, id: RuleId) {
        self.active.remove(&id);
    }

    pub(super) fn clear(&mut self) {
        self.active.clear();
    }

    pub(super) fn struck(&self, id: RuleId) -> usize {
        self.struck.get(&id).copied().unwrap_or(0)
    }

    pub(super) fn strike_request(&mut self, seen: &Seen) -> Option<Struck> {
        self.strike(seen, None)
    }

    pub(super) fn strike_line(&mut self, stream: &Seen, line: &[u8]) -> Option<Struck> {
        self.strike(stream, Some(line))
    }

    fn strike(&mut self, seen: &Seen, line: Option<&[u8]>) -> Option<Struck> {
        let mut rules = self.active.iter_mut();
        let (id, (rule, kept)) = rules.find(|(_, (rule, _))| rule.is_about(seen, line))?;
        rule.left = rule.left.map(|left| left - 1);
        *self.struck.entry(*id).or_default() += 1;
        Some(Struck { fault: rule.fault.clone(), kept: kept.clone() })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn seen(method: &str, target: &str) -> Seen {
        Seen::new(method, target, "", Bytes::new())
    }

    #[test]
    fn a_rule_strikes_as_often_as_it_says_and_then_the_next_one_does() {
        let mut rules = Rules::default();
        let first = rules.add(Rule::new("GET", "/configmaps", Fault::ResetBefore).times(2));
        let second = rules.add(Rule::new("*", "/configmaps", Fault::HangBefore));
        for _ in 0..3 {
            assert!(rules.strike_request(&seen("GET", "/api/v1/configmaps")).is_some());
        }
        assert_eq!((rules.struck(first), rules.struck(second)), (2, 1));
        assert!(rules.strike_request(&seen("GET", "/api/v1/secrets")).is_none());
    }

    #[test]
    fn faults_of_lines_leave_requests_alone_and_the_other_way_round() {
        let mut rules = Rules::default();
        rules.add(Rule::new("GET", "watch=true", Fault::SwallowEvent).in_lines_with("shop"));
        let watch = seen("GET", "/api/v1/configmaps?watch=true");
        assert!(rules.strike_request(&watch).is_none());
        assert!(rules.strike_line(&watch, b"a bookmark").is_none());
        assert!(rules.strike_line(&watch, b"the shop").is_some());
    }

    #[test]
    fn a_removed_rule_no_longer_strikes_and_its_count_stays() {
        let mut rules = Rules::default();
        let rule = rules.add(Rule::new("*", "", Fault::Half));
        rules.strike_request(&seen("GET", "/"));
        rules.remove(rule);
        assert!(rules.strike_request(&seen("GET", "/")).is_none());
        assert_eq!(rules.struck(rule), 1);
    }
}
