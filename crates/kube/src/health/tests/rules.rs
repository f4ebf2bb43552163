//! The user's expressions.

use setpoint_core::live::Health::{Degraded, Healthy, Progressing, Unknown};
use setpoint_core::value::Value;

use super::{assess, object};
use crate::health::{BadExpression, BadRule, Expressions, MAX_EXPRESSION_BYTES, Rules};

const CLASS: &str = "example.com/Widget";

fn rules(healthy: &str, progressing: Option<&str>, degraded: Option<&str>) -> Rules {
    let mut rules = Rules::default();
    rules.set(CLASS, Expressions { healthy, progressing, degraded }).unwrap();
    rules
}

fn refusal(healthy: &str) -> BadExpression {
    let expressions = Expressions { healthy, progressing: None, degraded: None };
    match Rules::default().set(CLASS, expressions).unwrap_err() {
        BadRule::Expression { field: "healthy", source, .. } => source,
        other => panic!("{other:?}"),
    }
}

fn widget(status: &str) -> Value {
    object(&format!("{{apiVersion: example.com/v1, kind: Widget, metadata: {{name: a}}, status: {status}}}"))
}

#[test]
fn the_worst_expression_that_holds_decides() {
    let rules = rules(
        "self.status.phase == 'Running'",
        Some("self.status.phase in ['Pending', 'Starting']"),
        Some("has(self.status.error)"),
    );
    for (status, health) in [
        ("{phase: Running}", Healthy),
        ("{phase: Starting}", Progressing),
        ("{phase: Running, error: x}", Degraded),
        ("{phase: Odd}", Unknown),
    ] {
        assert_eq!(assess(&widget(status), &rules).health, health, "{status}");
    }
}

#[test]
fn without_a_rule_for_progress_what_is_not_healthy_is_progressing() {
    let assessment = assess(&widget("{phase: Odd}"), &rules("self.status.phase == 'Running'", None, None));
    assert_eq!(assessment.health, Progressing);
    assert!(assessment.reason.contains("self.status.phase == 'Running'"), "{}", assessment.reason);
}

#[test]
fn lists_numbers_and_conditions_can_be_asked() {
    let status = "{replicas: 3, ratio: 0.5, conditions: [{type: A, status: 'True'}, {type: B, status: 'False'}]}";
    for (expression, health) in [
        ("self.status.replicas >= 3", Healthy),
        ("self.status.ratio < 0.6", Healthy),
        ("size(self.status.conditions) == 2", Healthy),
        ("self.status.conditions.exists(c, c.type == 'A' && c.status == 'True')", Healthy),
        ("self.status.conditions.all(c, c.status == 'True')", Progressing),
        ("self.status.conditions.filter(c, c.status == 'True').size() == 1", Healthy),
        ("self.metadata.name.startsWith('a')", Healthy),
        ("has(self.status.missing)", Progressing),
    ] {
        let assessment = assess(&widget(status), &rules(expression, None, None));
        assert_eq!(assessment.health, health, "{expression}: {}", assessment.reason);
    }
}

#[test]
fn what_cannot_be_evaluated_is_unknown_and_says_why() {
    for (expression, words) in [
        ("self.status.missing == 1", "no `missing`"),
        ("self.status.phase", "not in true or false"),
        ("self.status.phase + 1 == 2", "cannot be evaluated"),
        ("self.status.items[5] == 1", "cannot be evaluated"),
        ("nothing(self)", "`nothing`"),
        ("1 / 0 == 1", "divides by zero"),
    ] {
        let assessment = assess(&widget("{phase: Running, items: []}"), &rules(expression, None, None));
        assert_eq!(assessment.health, Unknown, "{expression}: {assessment:?}");
        assert!(assessment.reason.contains(words), "{expression}: {}", assessment.reason);
    }
}

#[test]
fn a_rule_that_fails_hides_what_the_later_ones_would_say() {
    let rules = rules("true", None, Some("self.status.error.code > 0"));
    let assessment = assess(&widget("{phase: Running}"), &rules);
    assert_eq!(assessment.health, Unknown);
    assert!(assessment.reason.contains("`degraded`"), "{}", assessment.reason);
}

#[test]
fn no_value_of_an_object_is_told_with_an_error() {
    for expression in
        ["self.data.password + 1 == 2", "self.data < 3", "self.data.password.nothing()", "self.data[1] == 2"]
    {
        let mut rules = Rules::default();
        rules.set("Secret", Expressions { healthy: expression, progressing: None, degraded: None }).unwrap();
        let secret = object("{apiVersion: v1, kind: Secret, metadata: {name: a}, data: {password: aHVudGVyMg==}}");
        let assessment = assess(&secret, &rules);
        assert_eq!(assessment.health, Unknown, "{expression}");
        assert!(!assessment.reason.contains("aHVudGVyMg"), "{}", assessment.reason);
    }
}

#[test]
fn an_object_too_large_for_the_loops_of_a_rule_is_unknown() {
    let items = vec!["1"; 3_000].join(", ");
    let twice = "self.status.items.all(a, self.status.items.all(b, a == b))";
    let assessment = assess(&widget(&format!("{{items: [{items}]}}")), &rules(twice, None, None));
    assert_eq!(assessment.health, Unknown);
    assert!(assessment.reason.contains("too large"), "{}", assessment.reason);
    assert_eq!(assess(&widget("{items: [1, 1]}"), &rules(twice, None, None)).health, Healthy);
}

#[test]
fn bad_expressions_are_refused_before_they_are_used() {
    assert!(matches!(refusal("self.status ==").to_string(), text if text.starts_with("it is not CEL")));
    assert!(matches!(refusal(""), BadExpression::NotCel { .. }));
    assert_eq!(refusal("object.status.ready"), BadExpression::UnknownName { name: "object".to_owned() });
    assert_eq!(
        refusal(&format!("true {}", " ".repeat(MAX_EXPRESSION_BYTES))),
        BadExpression::TooLong { bytes: MAX_EXPRESSION_BYTES + 5 }
    );
    let nested = "self.a.all(a, self.a.all(b, self.a.all(c, self.a.all(d, a == d))))";
    assert_eq!(refusal(nested), BadExpression::TooManyLoops { loops: 4 });
}

/// Builds an expression in which one form is nested or chained `times` times.
fn repeated(form: usize, times: usize) -> String {
    let forms = [
        ("(", "true", ")"),
        ("[", "true", "]"),
        ("{1: ", "true", "}"),
        ("size(", "self", ")"),
        ("self[", "1", "]"),
        ("!(", "true", ")"),
        ("-", "1", ""),
        ("self.all(x, ", "true", ")"),
        ("true ? true : ", "true", ""),
        ("", "1", " + 1"),
        ("", "1", " == 1"),
        ("", "true", " || true"),
        ("", "self", ".a"),
        ("", "self", "[0]"),
    ];
    let (before, middle, after) = forms[form];
    format!("{}{middle}{}", before.repeat(times), after.repeat(times))
}

#[test]
fn no_expression_exhausts_the_stack_however_it_is_nested() {
    for form in 0..14 {
        for times in [8, 20, 30, 31, 32, 33, 100, 300] {
            let text = repeated(form, times);
            let expressions = Expressions { healthy: &text, progressing: None, degraded: None };
            let mut rules = Rules::default();
            match rules.set(CLASS, expressions) {
                Ok(()) => drop(assess(&widget("{}"), &rules)),
                Err(refused) => assert!(times > 8 || text.contains("all("), "{refused:?}: {text}"),
            }
        }
    }
}

#[test]
fn a_rule_is_for_a_kind_without_a_version() {
    let expressions = Expressions { healthy: "true", progressing: None, degraded: None };
    for class in ["", "example.com/", "apps/v1/Deployment", "apps/3", "/"] {
        assert!(matches!(Rules::default().set(class, expressions), Err(BadRule::NotAKind { .. })), "{class}");
    }
    for class in ["Pod", "apps/Deployment", "acid.zalan.do/postgresql"] {
        Rules::default().set(class, expressions).unwrap();
    }
}

#[test]
fn rules_are_shared_between_threads() {
    fn shared<T: Send + Sync>(_: &T) {}
    shared(&Rules::default());
}
