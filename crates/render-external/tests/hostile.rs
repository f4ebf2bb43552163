//! Tests a hostile program in the sandbox: its attempts are denied, or it is ended. This is case 80
//! of the project's list of bad input.

use std::fs::{self, Permissions};
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::path::{Path, PathBuf};
use std::sync::OnceLock;
use std::time::Duration;

use setpoint_render_external::{Job, Limits, NotRun, Pinned, Stop, Stream, Tree, run};

use crate::trial::{agent, digest, folder, job, pinned, rendered, tree};

/// Returns the program of hostile.c. It is linked statically, since it can open nothing but the
/// tree.
fn hostile() -> &'static Path {
    static BUILT: OnceLock<PathBuf> = OnceLock::new();
    BUILT.get_or_init(|| {
        let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/hostile.c");
        let built = folder().join(format!("hostile-{}", std::process::id()));
        let mut cc = setpoint_testbed::program("cc");
        cc.args(["-static", "-O1", "-pthread", "-Wall", "-Wno-unused-result", "-o"]).arg(&built).arg(&source);
        let output = cc.output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        // One binary remains, however often it is built, and a running one is not changed.
        let kept = folder().join("hostile");
        fs::rename(&built, &kept).unwrap();
        kept
    })
}

/// Builds a tree that names the acts and this process as their victim.
fn tree_of(acts: &str) -> Tree {
    tree(&[("act", &format!("{} {acts}", std::process::id()))])
}

/// Returns the program's report of these acts.
fn answers(acts: &str) -> String {
    let output = rendered(hostile(), &tree_of(acts), ".", &Limits::default()).unwrap();
    String::from_utf8(output.rendered).unwrap()
}

/// Returns the error of an act that does not end by itself.
fn ended(act: &str, limits: &Limits) -> NotRun {
    rendered(hostile(), &tree_of(act), ".", limits).unwrap_err()
}

/// Checks that every line reports a denial, and that there are `count` lines.
fn assert_all_denied(answers: &str, count: usize) {
    assert_eq!(answers.lines().count(), count, "{answers}");
    // The denial must not mean that the target was missing.
    let denied =
        |line: &str| ["EPERM", "EACCES", "ENOMEM"].iter().any(|word| line.ends_with(&format!(": denied ({word})")));
    assert!(answers.lines().all(denied), "{answers}");
}

#[test]
fn case_80_only_the_tree_can_be_read() {
    let tree = tree_of("passwd folder parent link proc device");
    fs::write(folder().join("secret"), "s").unwrap();
    symlink("/etc/passwd", tree.path().join("way-out")).unwrap();
    let output = rendered(hostile(), &tree, ".", &Limits::default()).unwrap();
    assert_all_denied(&String::from_utf8(output.rendered).unwrap(), 9);
    assert_eq!(answers("own"), "read the tree: done\n");
}

#[test]
fn case_80_nothing_can_be_written() {
    let outside = folder().join("written");
    // Removes the file that an earlier failed run may have left.
    let _ = fs::remove_file(&outside);
    assert_all_denied(&answers("write"), 10);
    assert!(!outside.exists());
}

#[test]
fn case_80_nobody_can_be_reached() {
    assert_all_denied(&answers("network"), 9);
}

#[test]
fn case_80_no_process_can_be_made_or_touched() {
    assert_all_denied(&answers("processes"), 13);
}

#[cfg(target_arch = "x86_64")]
#[test]
fn other_numbers_of_the_same_calls_lead_nowhere() {
    assert_all_denied(&answers("numbers"), 1);
    let end = ended("older-machine", &Limits::default());
    // A kernel without 32-bit calls ends the program by itself.
    assert!(matches!(end, NotRun::Forbidden | NotRun::Killed { signal: libc::SIGSEGV, .. }), "{end:?}");
}

#[test]
fn case_80_a_program_that_reaches_for_other_processes_or_the_kernel_is_ended() {
    for act in ["ptrace", "peek", "io-uring", "unshare", "bpf"] {
        let end = ended(act, &Limits::default());
        assert!(matches!(end, NotRun::Forbidden), "{act}: {end:?}");
    }
}

#[test]
fn root_has_no_more_rights_than_anybody() {
    let tree = tree_of("unreadable");
    fs::write(tree.path().join("unreadable"), "s").unwrap();
    fs::set_permissions(tree.path().join("unreadable"), Permissions::from_mode(0o000)).unwrap();
    let output = rendered(hostile(), &tree, ".", &Limits::default()).unwrap();
    assert_eq!(String::from_utf8(output.rendered).unwrap(), "read what nobody may: denied (EACCES)\n");
}

#[test]
fn nothing_is_inherited_but_an_empty_input_and_two_outputs() {
    // A descriptor that every child would inherit.
    let left_open = fs::File::open("/dev/null").unwrap();
    rustix::io::fcntl_setfd(&left_open, rustix::io::FdFlags::empty()).unwrap();
    let expected = "descriptors: 0\nvariables: 0\nstandard input: 0\nfiles: 253\n";
    assert_eq!(answers("inheritance"), expected);
}

#[test]
fn memory_ends_at_its_limit_whatever_it_is_called() {
    let limits = Limits { memory: 128 << 20, ..Limits::default() };
    let output = rendered(hostile(), &tree_of("memory"), ".", &limits).unwrap();
    let answers = String::from_utf8(output.rendered).unwrap();
    let (numbers, others): (Vec<&str>, Vec<&str>) = answers.lines().partition(|line| line.starts_with("megabytes: "));
    assert_all_denied(&others.join("\n"), 4);
    let taken: u64 = numbers[0]["megabytes: ".len()..].parse().unwrap();
    assert!((96..=128).contains(&taken), "{answers}");
}

#[test]
fn endless_output_is_cut_off() {
    let limits = Limits { output: 1 << 20, errors: 1 << 10, ..Limits::default() };
    let end = ended("output", &limits);
    assert!(matches!(end, NotRun::TooMuch { stream: Stream::Output, limit: 1_048_576 }), "{end:?}");
    let end = ended("errors", &limits);
    assert!(matches!(end, NotRun::TooMuch { stream: Stream::Errors, limit: 1024 }), "{end:?}");
}

#[test]
fn a_run_ends_when_it_is_told_to_stop() {
    let (stop, tree, limits) = (Stop::default(), tree_of("silent"), Limits::default());
    let program = pinned(hostile());
    let end = std::thread::scope(|threads| {
        let job = Job { stop: &stop, ..job(&tree, ".", &limits) };
        let running = threads.spawn(move || run(&program, &job, &agent()));
        stop.tell();
        running.join().unwrap().unwrap_err()
    });
    assert!(matches!(end, NotRun::Stopped), "{end:?}");
}

#[test]
fn an_endless_run_is_ended_also_if_it_is_silent() {
    let limits = Limits { time: Duration::from_millis(300), ..Limits::default() };
    for act in ["endless", "silent"] {
        let end = ended(act, &limits);
        assert!(matches!(end, NotRun::TooLong { .. }), "{act}: {end:?}");
        assert!(end.to_string().contains("more than 0.3 s"), "{end}");
    }
}

#[test]
fn a_flood_of_threads_is_ended() {
    let end = ended("threads", &Limits { threads: 40, ..Limits::default() });
    assert!(matches!(end, NotRun::TooManyThreads { limit: 40 }), "{end:?}");
}

#[test]
fn a_program_with_another_digest_is_not_run() {
    let mut other = digest(hostile());
    other.replace_range(..1, if other.starts_with('0') { "1" } else { "0" });
    let refused = Pinned::open(hostile(), &format!("sha256:{other}")).unwrap_err();
    assert!(matches!(&refused, NotRun::OtherDigest { expected, .. } if *expected == other), "{refused:?}");
}

#[test]
fn a_program_that_is_replaced_after_it_was_pinned_is_run_as_it_was() {
    let copy = folder().join(format!("replaced-{}", std::process::id()));
    fs::copy(hostile(), &copy).unwrap();
    let pinned = pinned(&copy);
    fs::write(&copy, "something else").unwrap();
    let tree = tree_of("own");
    let output = run(&pinned, &job(&tree, ".", &Limits::default()), &agent()).unwrap();
    assert_eq!(output.rendered, b"read the tree: done\n");
    fs::remove_file(&copy).unwrap();
}

#[test]
fn a_program_that_needs_a_loader_and_a_script_are_refused() {
    let script = folder().join(format!("script-{}", std::process::id()));
    fs::write(&script, "#!/bin/sh\n").unwrap();
    for program in [agent(), script.clone()] {
        let refused = Pinned::open(&program, &digest(&program)).unwrap_err();
        assert!(matches!(refused, NotRun::NotStatic { .. }), "{refused:?}");
    }
    fs::remove_file(&script).unwrap();
}

#[test]
fn nothing_is_run_where_the_kernel_cannot_confine_it() {
    let name = folder().join(format!("{}-without-landlock", std::process::id()));
    symlink(agent(), &name).unwrap();
    let tree = tree_of("own");
    let refused = run(&pinned(hostile()), &job(&tree, ".", &Limits::default()), &name).unwrap_err();
    fs::remove_file(&name).unwrap();
    assert!(matches!(refused, NotRun::NotConfined { .. }), "{refused:?}");
    let text = refused.to_string();
    assert!(text.contains("was not run") && text.contains("Linux 6.7"), "{text}");
}

#[test]
fn an_agent_that_is_not_there_is_told() {
    let tree = tree_of("own");
    let refused = run(&pinned(hostile()), &job(&tree, ".", &Limits::default()), Path::new("/nowhere")).unwrap_err();
    assert!(matches!(refused, NotRun::Broken { doing: "start", .. }), "{refused:?}");
}
