//! `setpoint diff`: the live objects against their declarations.

use std::fs;

use setpoint_api::question::OrderKind;
use setpoint_core::time::Span;

use super::lab::Lab;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_diff_shows_what_differs_as_a_patch_and_nothing_otherwise() {
    let mut lab = Lab::new();
    let lines: String = (1..=300).map(|number| format!("line {number}\n")).collect();
    lab.app("hello").file("hello", "lines", &lines);
    let head = lab.commit();
    let mut agent = lab.start().await;
    agent.until_converged("hello", &head).await;
    let equal = lab.command(&["diff", "hello"]);
    assert_eq!((equal.code, equal.output.as_str(), equal.complaints.as_str()), (Some(0), "", ""));

    agent.order("hello", OrderKind::Suspend { length: Span::hours(1) }).await;
    fs::write(lab.at("lines"), lines.replace("line 250\n", "by hand\n")).expect("anyone may");
    let diff = lab.command(&["diff", "hello"]);
    assert_eq!((diff.code, diff.complaints.as_str()), (Some(2), ""), "{diff:?}");
    let declared = format!("+++ declared at bootstrap@{}", &head[..12]);
    for part in ["default/hello file /lines", "--- live\n", &declared, "\n line 249\n-by hand\n+line 250\n line 251\n"]
    {
        assert!(diff.output.contains(part), "no {part:?} in {}", diff.output);
    }
    assert!(!diff.output.contains("line 200\n"), "{}", diff.output);

    // A commit is compared before it is merged.
    let removed = lab.remove("apps/hello/lines.yaml").file("hello", "other", "x\n").commit();
    let diff = lab.command(&["diff", "hello", "--rev", &removed]);
    assert_eq!(diff.code, Some(2), "{diff:?}");
    assert!(diff.output.contains("--- (absent)") && diff.output.contains("file /other"), "{}", diff.output);
    let unknown = lab.command(&["diff", "nothing"]);
    assert!(unknown.code == Some(1) && unknown.complaints.contains("there is no app"), "{unknown:?}");
    agent.stop().await;
}
