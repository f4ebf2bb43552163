//! Help, completions and manual pages of every command.

use crate::setpoint::run;

const COMMANDS: [&[&str]; 16] = [
    &["status"],
    &["get"],
    &["why"],
    &["tree"],
    &["logs"],
    &["plan"],
    &["history"],
    &["drift"],
    &["sync"],
    &["suspend"],
    &["resume"],
    &["hold"],
    &["release"],
    &["settle"],
    &["notify", "test"],
    &["man"],
];

#[test]
fn the_help_of_every_command_has_an_example() {
    for command in COMMANDS {
        let run = run(&[command, &["--help"]].concat());
        assert_eq!((run.code, run.complaints.as_str()), (Some(0), ""), "{command:?}");
        let example = format!("Examples:\n  setpoint {}", command.join(" "));
        assert!(run.output.contains(&example), "no example in:\n{}", run.output);
    }
}

#[test]
fn shells_complete_every_command() {
    for shell in ["bash", "zsh", "fish"] {
        let run = run(&["completions", shell]);
        assert_eq!((run.code, run.complaints.as_str()), (Some(0), ""), "{shell}");
        for command in COMMANDS {
            assert!(run.output.contains(command[0]), "{shell} does not know {command:?}");
        }
    }
}

#[test]
fn there_is_a_manual_page_for_every_command() {
    let folder = tempfile::tempdir().expect("a folder");
    let out = folder.path().join("man1");
    let run_to = run(&["man", "--out", out.to_str().expect("a plain path")]);
    assert_eq!((run_to.code, run_to.output.as_str(), run_to.complaints.as_str()), (Some(0), "", ""));
    for command in COMMANDS {
        let page = out.join(format!("setpoint-{}.1", command.join("-")));
        let text = std::fs::read_to_string(&page).unwrap_or_else(|error| panic!("{}: {error}", page.display()));
        assert!(text.contains("Examples:"), "{text}");
    }
    let first = run(&["man"]);
    assert_eq!(first.code, Some(0));
    assert!(first.output.contains(".TH setpoint 1"), "{}", first.output);
}

#[test]
fn a_folder_that_cannot_be_made_is_told() {
    let run = run(&["man", "--out", "/dev/null/man1"]);
    assert_eq!((run.code, run.output.as_str()), (Some(1), ""));
    assert!(run.complaints.contains("cannot write the manual pages to /dev/null/man1"), "{}", run.complaints);
}
