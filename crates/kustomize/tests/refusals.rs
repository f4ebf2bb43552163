//! Compares errors of kustomize with ours: by the reason, and the names in them.

/// Reasons in kustomize's words, which are ours too. For a text with several, the first in this
/// list counts.
const REASONS: [&str; 21] = [
    "may not add resource with an already registered id: ",
    "already encountered",
    "expected kind != 'Component' for path",
    "expected kind 'Component' for path",
    "file is not directory",
    "apiVersion for Component should be ",
    "unable to find one of ",
    "MalformedYAMLError",
    "namespace is blank for resource",
    "can not use behavior: ",
    "builtin version and custom schema provided, cannot use both",
    "the specified OpenAPI version is not built in",
    "patch appears to be empty",
    "failed to find unique target for patch",
    "the field 'sortOptions.",
    "is not in or below",
    "found multiple possible referrals: ",
    "external plugins disabled; unable to load external plugin",
    "unable to load builtin ",
    "Found multiple kustomization files under: ",
    "resId matches for var",
];

/// A reason in kustomize's words, and in ours.
const MISSING: (&str, &str) = ("doesn't exist", "is not there");

/// Capitalised words that are not names.
const WORDS: [&str; 14] = [
    "File",
    "Found",
    "Group",
    "Gvk",
    "Id",
    "Input",
    "Invalid",
    "Kind",
    "MalformedYAMLError",
    "Name",
    "Namespace",
    "OpenAPI",
    "Patch",
    "Version",
];

/// The reason and the names of an error of kustomize.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct About {
    /// In our words.
    reason: &'static str,
    names: Vec<String>,
}

impl About {
    /// Parses an error of kustomize. Returns `None` if its reason is not known here.
    pub(crate) fn of(theirs: &str) -> Option<Self> {
        // A picture of the resources follows.
        let theirs = theirs.split("\n\n****").next().unwrap_or_default();
        let (at, reason) = REASONS
            .iter()
            .map(|words| (*words, *words))
            .chain([MISSING])
            .find_map(|(phrase, reason)| theirs.find(phrase).map(|at| (at, reason)))?;
        // Reasons are nested, from the outside in: `accumulating resources: 'a' must be a file':
        // reason`.
        let begins = ["': ", "]: ", "`: ", ": \"", ":\\n"]
            .iter()
            .filter_map(|end| theirs[..at].rfind(end).map(|at| at + end.len()))
            .max();
        let ends = theirs[at..].find("': ").map_or(theirs.len(), |end| at + end);
        Some(Self { reason: reason.trim(), names: names(&theirs[begins.unwrap_or_default()..ends]) })
    }

    /// Returns the parts that are missing in one of our errors.
    pub(crate) fn missing_in(&self, ours: &str) -> Vec<&str> {
        let all = self.names.iter().map(String::as_str).chain([self.reason]);
        all.filter(|wanted| !ours.contains(wanted)).collect()
    }
}

/// Returns words that look like names of files, fields, kinds and resources.
fn names(text: &str) -> Vec<String> {
    let words =
        text.split(|c: char| c.is_whitespace() || "'\"`,;:(){}".contains(c)).map(|word| word.trim_start_matches('/'));
    let is_name = |word: &&str| {
        let has_sign = word.contains(|c: char| c.is_ascii_uppercase() || c.is_ascii_digit() || "._-/".contains(c));
        let is_number = word.bytes().all(|byte| byte.is_ascii_digit());
        // Go prints an identity with the names of its types, and memory addresses.
        let is_of_go = word.starts_with("resid.") || word.contains("0x") || *word == "isClusterScoped";
        has_sign && !is_number && !is_of_go && !WORDS.contains(word)
    };
    let trimmed = words.map(|word| word.trim_matches(['[', ']']).trim_end_matches(['.', '=']));
    trimmed.filter(is_name).map(ToOwned::to_owned).collect()
}

#[test]
fn an_error_is_about_its_innermost_reason_and_the_names_in_it() {
    let about = |theirs: &str| About::of(theirs).map(|about| (about.reason, about.names.join(" ")));
    let is =
        |theirs: &str, reason, names: &str| assert_eq!(about(theirs), Some((reason, names.to_owned())), "{theirs}");
    is(
        "accumulation err='accumulating resources from '../o2': '/o2' must resolve to a file': recursed merging from path '/o2': var 'POD_NAME' already encountered",
        "already encountered",
        "POD_NAME",
    );
    is(
        "may not add resource with an already registered id: Deployment.v1.[noGrp]/proxy.[noNs]': must build at directory: '/b/proxy.yaml': file is not directory",
        "may not add resource with an already registered id:",
        "Deployment.v1.[noGrp]/proxy.[noNs",
    );
    is("'/mycrd.json' doesn't exist", "is not there", "mycrd.json");
    assert_eq!(about("something else"), None);
}

#[test]
fn another_reason_or_another_name_is_missed() {
    let about = About::of("var 'POD_NAME' already encountered").expect("a reason");
    assert_eq!(about.missing_in("a.yaml:3: var 'POD_NAME' already encountered: rename one"), [""; 0]);
    assert_eq!(about.missing_in("a.yaml:3: var 'OTHER' already encountered"), ["POD_NAME"]);
    assert_eq!(about.missing_in("a.yaml:3: POD_NAME is unknown"), ["already encountered"]);
}
