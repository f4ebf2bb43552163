//! The kinds and fields of a host. The strict parser, `setpoint schema` and the reference page are
//! all built from them.

/// A kind of `host.setpoint.dev/v1`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct KindDoc {
    pub name: &'static str,
    pub doc: &'static str,
    /// The fields of `spec`.
    pub fields: &'static [FieldDoc],
}

/// A field of an object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FieldDoc {
    pub name: &'static str,
    /// The name of its type.
    pub holds: &'static str,
    pub doc: &'static str,
    /// The default: `None` for a required field, empty for an optional field without a default.
    pub default: Option<&'static str>,
    /// The fields, if it is an object or a list of objects.
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

const PATH: FieldDoc = required("path", "absolute path", "The absolute path. `root` of the Target is prepended.");
const OWNER: FieldDoc =
    optional("owner", "user", "", "The owner, as a user name or ID. If omitted, Setpoint does not manage it.");
const GROUP: FieldDoc =
    optional("group", "group", "", "The group, as a name or ID. If omitted, Setpoint does not manage it.");

pub(super) const FILE: &[FieldDoc] = &[
    PATH,
    optional(
        "content",
        "text",
        "",
        "The content, as text. Exactly one of `content`, `contentBase64` and `contentFrom` is required.",
    ),
    optional("contentBase64", "base64", "", "The content in base64, for binary files."),
    optional(
        "contentFrom",
        "relative path",
        "",
        "The file of the input with the content, relative to the directory of the input. It is read when the app is rendered.",
    ),
    optional("mode", "octal text", "0644", "The permissions."),
    OWNER,
    GROUP,
    optional(
        "sensitive",
        "boolean",
        "false",
        "Hides the content in all output. Differences show only that there are some.",
    ),
];

pub(super) const DIRECTORY: &[FieldDoc] =
    &[PATH, optional("mode", "octal text", "0755", "The permissions."), OWNER, GROUP];

pub(super) const SYMLINK: &[FieldDoc] =
    &[PATH, required("target", "text", "The target of the link. Setpoint does not follow it.")];

pub(super) const RUN: &[FieldDoc] = &[required(
    "command",
    "list of text",
    "The absolute path of the program and its arguments. They are not run by a shell.",
)];

pub(super) const VARIABLE: &[FieldDoc] = &[
    required("name", "name", "The name of the variable."),
    required("value", "text", "The value of the variable."),
    optional("sensitive", "boolean", "false", "Removes the value from the output of the command."),
];

pub(super) const COMMAND: &[FieldDoc] = &[
    object(
        required(
            "check",
            "object",
            "The command that checks the state. Exit code 100: as declared. 101: not as declared. All others are errors.",
        ),
        RUN,
    ),
    object(
        required(
            "apply",
            "object",
            "The command that establishes the state. It is run after the check returns 101, and the check is run after it.",
        ),
        RUN,
    ),
    optional("timeout", "duration", "20s", "The time limit for each of the two commands, at most 25s."),
    object(
        optional(
            "environment",
            "list of object",
            "[]",
            "All environment variables of the commands, in addition to a fixed PATH. None are inherited from the agent.",
        ),
        VARIABLE,
    ),
    optional("cwd", "absolute path", "/", "The working directory of the commands."),
    optional("sensitive", "boolean", "false", "Hides the output of the commands."),
];

pub(super) const DOCUMENT: &[FieldDoc] = &[
    required("apiVersion", "text", "`host.setpoint.dev/v1`."),
    required("kind", "text", "The kind."),
    object(required("metadata", "object", "The name of the document."), METADATA),
    required("spec", "object", "The declared state."),
];

/// The fields of `metadata`, the same for every kind.
pub const METADATA: &[FieldDoc] = &[
    required(
        "name",
        "name",
        "The name of the document. It is also the identity of a Command; the identity of other kinds is `spec.path`.",
    ),
    optional("labels", "object", "", "For people and tools. They have no effect on the host."),
    optional("annotations", "object", "", "For people and tools. They have no effect on the host."),
];

/// All kinds of a host.
pub const KINDS: &[KindDoc] = &[
    KindDoc {
        name: "File",
        doc: "A regular file with the declared content. Setpoint replaces it atomically, so no reader gets a partial file.",
        fields: FILE,
    },
    KindDoc {
        name: "Directory",
        doc: "A directory. Entries that no app has claimed are never deleted.",
        fields: DIRECTORY,
    },
    KindDoc { name: "Symlink", doc: "A symbolic link.", fields: SYMLINK },
    KindDoc {
        name: "Command",
        doc: "A state that programs check and establish. Removing its document undoes nothing. Processes that its programs leave running in their process group are killed: start a service through its manager.",
        fields: COMMAND,
    },
];
