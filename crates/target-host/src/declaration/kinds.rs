//! What each kind and field means: the source of strict reading, of `setpoint schema` and of the reference page.

/// A kind of `host.setpoint.dev/v1`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct KindDoc {
    pub name: &'static str,
    pub doc: &'static str,
    /// The fields of its `spec`.
    pub fields: &'static [FieldDoc],
}

/// A field of an object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FieldDoc {
    pub name: &'static str,
    /// The word for what it holds.
    pub holds: &'static str,
    pub doc: &'static str,
    /// What it is when left out; `None` where it must be given, empty where nothing stands for it.
    pub default: Option<&'static str>,
    /// The fields of the objects it holds.
    pub fields: &'static [FieldDoc],
}

const fn required(name: &'static str, holds: &'static str, doc: &'static str) -> FieldDoc {
    FieldDoc { name, holds, doc, default: None, fields: &[] }
}

const fn optional(name: &'static str, holds: &'static str, default: &'static str, doc: &'static str) -> FieldDoc {
    FieldDoc { name, holds, doc, default: Some(default), fields: &[] }
}

const fn object(field: FieldDoc, fields: &'static [FieldDoc]) -> FieldDoc {
    FieldDoc { fields, ..field }
}

const PATH: FieldDoc = required("path", "absolute path", "Where it stands, seen from the root of the target.");
const OWNER: FieldDoc = optional("owner", "user", "", "The user it belongs to, by name or number; not held if unsaid.");
const GROUP: FieldDoc =
    optional("group", "group", "", "The group it belongs to, by name or number; not held if unsaid.");

pub(super) const FILE: &[FieldDoc] = &[
    PATH,
    optional("content", "text", "", "What it holds, as text. Exactly one of the forms of content is given."),
    optional("contentBase64", "base64", "", "What it holds, for what is not text."),
    optional(
        "contentFrom",
        "relative path",
        "",
        "A file of the input, from its folder on, whose content it holds. Read when the app is rendered.",
    ),
    optional("mode", "octal text", "0644", "Its permissions."),
    OWNER,
    GROUP,
    optional(
        "sensitive",
        "boolean",
        "false",
        "What it holds is shown to nobody: differences say only that there are some.",
    ),
];

pub(super) const DIRECTORY: &[FieldDoc] =
    &[PATH, optional("mode", "octal text", "0755", "Its permissions."), OWNER, GROUP];

pub(super) const SYMLINK: &[FieldDoc] = &[PATH, required("target", "text", "Where it leads. It is not followed.")];

pub(super) const RUN: &[FieldDoc] =
    &[required("command", "list of text", "The program, by absolute path, and its arguments. No shell is involved.")];

pub(super) const VARIABLE: &[FieldDoc] = &[
    required("name", "name", "What it is called."),
    required("value", "text", "What it holds."),
    optional("sensitive", "boolean", "false", "Its value is taken out of what the command prints."),
];

pub(super) const COMMAND: &[FieldDoc] = &[
    object(
        required(
            "check",
            "object",
            "Tells the state: ends with 100 when in state, 101 when not; anything else is an error.",
        ),
        RUN,
    ),
    object(
        required(
            "apply",
            "object",
            "Brings the state about. It is run when the check says 101, and the check after it.",
        ),
        RUN,
    ),
    optional(
        "timeout",
        "duration",
        "20s",
        "How long each of them may run, at most 25 s: an effect must have landed within 30.",
    ),
    object(
        optional(
            "environment",
            "list of object",
            "[]",
            "The whole environment, beside a fixed PATH: nothing is inherited.",
        ),
        VARIABLE,
    ),
    optional("cwd", "absolute path", "/", "The folder they are run in."),
    optional("sensitive", "boolean", "false", "What they print is shown to nobody."),
];

pub(super) const DOCUMENT: &[FieldDoc] = &[
    required("apiVersion", "text", "`host.setpoint.dev/v1`."),
    required("kind", "text", "What it is."),
    object(required("metadata", "object", "How the document is called."), METADATA),
    required("spec", "object", "What is declared."),
];

/// The fields of `metadata`, the same for every kind.
pub const METADATA: &[FieldDoc] = &[
    required("name", "name", "The name of the document; of a command, also its identity on the host."),
    optional("labels", "object", "", "For people and rules; means nothing to the host."),
    optional("annotations", "object", "", "For people and rules; means nothing to the host."),
];

/// Every kind a host holds.
pub const KINDS: &[KindDoc] = &[
    KindDoc {
        name: "File",
        doc: "A regular file with exactly this content. It is replaced as a whole, so that no reader sees half of it.",
        fields: FILE,
    },
    KindDoc {
        name: "Directory",
        doc: "A folder. Nothing in it is ever deleted because it is not declared: only what an app has claimed is.",
        fields: DIRECTORY,
    },
    KindDoc { name: "Symlink", doc: "A symbolic link.", fields: SYMLINK },
    KindDoc {
        name: "Command",
        doc: "A state that only a program can tell and bring about. Removing its document undoes nothing. What its programs leave running in their process group ends with them: start a service through its manager.",
        fields: COMMAND,
    },
];
