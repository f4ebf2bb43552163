//! Help, version and wrong usage.

use crate::setpoint::{run, run_on_a_full_disk};

#[test]
fn without_arguments_it_says_what_works_today() {
    let run = run(&[]);
    assert_eq!((run.code, run.complaints.as_str()), (Some(0), ""));
    assert!(run.output.contains("What works today:"), "{}", run.output);
    assert!(run.output.contains("Examples:"), "{}", run.output);
}

#[test]
fn help_teaches_examples_and_exit_codes() {
    let run = run(&["--help"]);
    assert_eq!((run.code, run.complaints.as_str()), (Some(0), ""));
    for part in ["Usage: setpoint", "Examples:", "Exit codes:"] {
        assert!(run.output.contains(part), "no `{part}` in:\n{}", run.output);
    }
}

#[test]
fn the_version_is_that_of_the_package() {
    let run = run(&["--version"]);
    assert_eq!(run.code, Some(0));
    assert_eq!(run.output, concat!("setpoint ", env!("CARGO_PKG_VERSION"), "\n"));
}

#[test]
fn wrong_usage_is_exit_1_and_leaves_the_output_empty() {
    let run = run(&["--no-such-option"]);
    assert_eq!((run.code, run.output.as_str()), (Some(1), ""));
    assert!(run.complaints.contains("--no-such-option"), "{}", run.complaints);
    assert!(run.complaints.contains("--help"), "{}", run.complaints);
}

#[test]
fn nothing_in_a_pipe_is_coloured() {
    for arguments in [&["--help"][..], &[], &["--no-such-option"]] {
        let run = run(arguments);
        assert!(!run.output.contains('\u{1b}') && !run.complaints.contains('\u{1b}'), "{run:?}");
    }
}

#[test]
fn an_answer_that_cannot_be_written_is_exit_1_and_not_a_success() {
    let run = run_on_a_full_disk(&["--help"]);
    assert_eq!(run.code, Some(1));
    assert!(run.complaints.contains("cannot write the output"), "{}", run.complaints);
}
