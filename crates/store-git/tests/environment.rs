//! Tests that neither the user's environment nor the user's configuration of git affects a store.

use setpoint_testbed::program;

/// Tests that fetch over https, over ssh, with credentials, and that read and write locally.
const TESTS: [&str; 4] = [
    "following::a_version_is_read_without_a_checkout",
    "local::versions_are_written_and_git_agrees_with_them",
    "secrets::a_token_and_a_password_open_the_store",
    "ssh::the_right_key_and_host_open_the_store",
];

/// Each would change where, how or what git reads. HTTP clients read the proxies.
const VARIABLES: [(&str, &str); 16] = [
    ("GIT_DIR", "/nonexistent"),
    ("GIT_COMMON_DIR", "/nonexistent"),
    ("GIT_OBJECT_DIRECTORY", "/nonexistent"),
    ("GIT_ALTERNATE_OBJECT_DIRECTORIES", "/nonexistent"),
    ("GIT_SHALLOW_FILE", "/nonexistent"),
    ("GIT_NAMESPACE", "evil"),
    ("GIT_REPLACE_REF_BASE", "refs/heads/"),
    ("GIT_ALLOC_LIMIT", "1"),
    ("GIT_PROTOCOL", "version=0"),
    ("GIT_SSH", "false"),
    ("GIT_SSH_COMMAND", "false"),
    ("GIT_ASKPASS", "false"),
    ("SSH_AUTH_SOCK", "/nonexistent"),
    ("HTTPS_PROXY", "http://127.0.0.1:1"),
    ("https_proxy", "http://127.0.0.1:1"),
    ("ALL_PROXY", "http://127.0.0.1:1"),
];

const CONFIGURATION: &str = "[core]
	sshCommand = false
	bare = banana
[url \"https://evil.invalid/\"]
	insteadOf = https://
[http]
	proxy = http://127.0.0.1:1
[protocol]
	allow = never
[fetch]
	fsckObjects = true
";

#[test]
fn case_25_the_environment_and_the_configuration_of_a_user_change_nothing() {
    let home = tempfile::tempdir().unwrap();
    std::fs::write(home.path().join(".gitconfig"), CONFIGURATION).unwrap();
    std::fs::create_dir(home.path().join("git")).unwrap();
    std::fs::write(home.path().join("git/config"), CONFIGURATION).unwrap();
    let tests = std::env::current_exe().unwrap();
    let mut command = program(tests.to_str().unwrap());
    command.args(TESTS).arg("--exact").envs(VARIABLES).env("HOME", home.path()).env("XDG_CONFIG_HOME", home.path());
    command
        .env("GIT_CONFIG_GLOBAL", home.path().join(".gitconfig"))
        .env("GIT_CONFIG_SYSTEM", home.path().join(".gitconfig"));
    let output = command.output().unwrap();
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "{text}");
    assert!(text.contains("4 passed"), "{text}");
}
