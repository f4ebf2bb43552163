//! The expressions in docs/health.md: they compile, and give the same results as Argo CD's own
//! checks on the same objects.

use setpoint_core::live::Health;
use setpoint_core::value::Value;
use setpoint_kube::health::{Expressions, Rules, assess};

use super::argo_cd::{LUA, cases_of, is_equal};
use super::corpus::{folder, read, tell, text};
use crate::tally::Tally;

const SILENT: &str = "a field that is not there yet is an error in an expression, and so unknown";

#[test]
fn the_expressions_in_the_documentation_say_what_they_promise() {
    let examples = examples();
    let mut rules = Rules::default();
    for (class, fields) in &examples {
        let expression = |name: &str| fields.get(name).and_then(Value::as_str);
        let healthy = expression("healthy").unwrap_or_else(|| panic!("{class} has no `healthy`"));
        let expressions =
            Expressions { healthy, progressing: expression("progressing"), degraded: expression("degraded") };
        rules.set(class, expressions).unwrap_or_else(|bad| panic!("{bad}: {bad:?}"));
    }
    let holds = "the expressions of docs/health.md on the objects of Argo CD (argoproj/argo-cd)";
    let Some(folder) = folder("SETPOINT_ARGOCD", holds) else { return };
    let mut tally = Tally::default();
    for (class, _) in &examples {
        for case in cases_of(&folder.join(LUA).join(class).join("health_test.yaml")) {
            let object = read(&case.name, &text(&case.input));
            let ours = assess(&object, &rules);
            let design = (case.theirs == "Progressing" && ours.health == Health::Unknown).then_some(SILENT);
            tally.add(&case.name, &case.theirs, &ours, is_equal(&case.theirs, &ours), design);
        }
    }
    tell(&tally.told("docs/health.md"));
    assert!(tally.different.is_empty() && tally.not_covered.is_empty() && tally.equal > 0, "see above");
}

/// Returns the rules of the Target document, which is the only block of YAML in the page, by kind.
fn examples() -> Vec<(String, Value)> {
    let page = text(&std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/health.md"));
    let block = page.split("```yaml\n").nth(1).and_then(|rest| rest.split("```").next());
    let document = read("docs/health.md", block.expect("the page has a block of YAML"));
    let Some(Value::Seq(rules)) = document.get("spec").and_then(|spec| spec.get("health")) else {
        panic!("the block of YAML in the page has no rules: {document:?}");
    };
    let kind = |rule: &Value| rule.get("kind").and_then(Value::as_str).expect("every rule has one").to_owned();
    rules.iter().map(|rule| (kind(rule), rule.clone())).collect()
}
