//! The kinds that the server serves, and how their fields merge.

/// The way in which a value merges.
#[derive(Debug)]
pub enum Schema {
    /// One value.
    Scalar,
    /// A list or map that merges as a single value.
    Atomic,
    /// Named fields, and no others. The fields of the second list are always present, as in the
    /// server's own types, even if no client set them.
    Struct(&'static [(&'static str, Schema)], &'static [&'static str]),
    /// A map with arbitrary names.
    Map(&'static Schema),
    /// A list of items that are identified by these fields.
    Keyed(&'static [&'static str], &'static Schema),
    /// A list of values that are identified by the values themselves.
    Set,
}

/// A kind that the server serves.
#[derive(Debug)]
pub struct Kind {
    pub group: &'static str,
    pub version: &'static str,
    pub kind: &'static str,
    /// The plural word used in paths.
    pub plural: &'static str,
    pub namespaced: bool,
    /// The kind counts generations, and its status is written through a subresource.
    pub has_status: bool,
    /// The kind comes from a definition: all of its objects go when the definition goes.
    pub custom: bool,
    pub schema: &'static Schema,
}

impl Kind {
    pub fn api_version(&self) -> String {
        if self.group.is_empty() { self.version.to_owned() } else { format!("{}/{}", self.group, self.version) }
    }

    /// Returns the name that errors use: `deployments.apps`, `configmaps`.
    pub fn resource(&self) -> String {
        if self.group.is_empty() { self.plural.to_owned() } else { format!("{}.{}", self.plural, self.group) }
    }
}

/// The name of the definition of the custom kinds.
pub const DEFINITION: &str = "widgets.sim.setpoint.dev";

pub static KINDS: &[Kind] = &[
    built_in("", "v1", "ConfigMap", "configmaps", &CONFIG_MAP),
    built_in("", "v1", "Secret", "secrets", &SECRET),
    Kind { namespaced: false, ..built_in("", "v1", "Namespace", "namespaces", &NAMESPACE) },
    Kind { has_status: true, ..built_in("apps", "v1", "Deployment", "deployments", &DEPLOYMENT) },
    Kind { has_status: true, custom: true, ..built_in("sim.setpoint.dev", "v1", "Widget", "widgets", &WIDGET) },
    Kind {
        namespaced: false,
        ..built_in("apiextensions.k8s.io", "v1", "CustomResourceDefinition", "customresourcedefinitions", &OPAQUE)
    },
];

const fn built_in(
    group: &'static str,
    version: &'static str,
    kind: &'static str,
    plural: &'static str,
    schema: &'static Schema,
) -> Kind {
    Kind { group, version, kind, plural, namespaced: true, has_status: false, custom: false, schema }
}

use Schema::{Atomic, Keyed, Map, Scalar, Set, Struct};

const META_FIELDS: &[(&str, Schema)] = &[
    ("annotations", Map(&Scalar)),
    ("creationTimestamp", Scalar),
    ("deletionGracePeriodSeconds", Scalar),
    ("deletionTimestamp", Scalar),
    ("finalizers", Set),
    ("generation", Scalar),
    ("labels", Map(&Scalar)),
    ("name", Scalar),
    ("namespace", Scalar),
    ("ownerReferences", Keyed(&["uid"], &Atomic)),
    ("resourceVersion", Scalar),
    ("uid", Scalar),
];
const META: Schema = Struct(META_FIELDS, &[]);

static CONFIG_MAP: Schema = Struct(
    &[("apiVersion", Scalar), ("data", Map(&Scalar)), ("immutable", Scalar), ("kind", Scalar), ("metadata", META)],
    &["metadata"],
);

static SECRET: Schema = Struct(
    &[
        ("apiVersion", Scalar),
        ("data", Map(&Scalar)),
        ("immutable", Scalar),
        ("kind", Scalar),
        ("metadata", META),
        ("type", Scalar),
    ],
    &["metadata"],
);

static NAMESPACE: Schema = Struct(
    &[
        ("apiVersion", Scalar),
        ("kind", Scalar),
        ("metadata", META),
        ("spec", Struct(&[("finalizers", Atomic)], &[])),
        ("status", Struct(&[("phase", Scalar)], &[])),
    ],
    &["metadata", "spec", "status"],
);

static OPAQUE: Schema = Struct(
    &[("apiVersion", Scalar), ("kind", Scalar), ("metadata", META), ("spec", Atomic), ("status", Atomic)],
    &["metadata"],
);

static DEPLOYMENT: Schema = Struct(
    &[
        ("apiVersion", Scalar),
        ("kind", Scalar),
        ("metadata", META),
        ("spec", Struct(DEPLOYMENT_SPEC, &["strategy", "template"])),
        ("status", Struct(DEPLOYMENT_STATUS, &[])),
    ],
    &["metadata", "spec", "status"],
);

const DEPLOYMENT_SPEC: &[(&str, Schema)] = &[
    ("paused", Scalar),
    ("progressDeadlineSeconds", Scalar),
    ("replicas", Scalar),
    ("revisionHistoryLimit", Scalar),
    ("selector", Atomic),
    (
        "strategy",
        Struct(
            &[("rollingUpdate", Struct(&[("maxSurge", Scalar), ("maxUnavailable", Scalar)], &[])), ("type", Scalar)],
            &[],
        ),
    ),
    ("template", Struct(&[("metadata", META), ("spec", Struct(POD_SPEC, &["containers"]))], &["metadata", "spec"])),
];

const DEPLOYMENT_STATUS: &[(&str, Schema)] = &[
    ("availableReplicas", Scalar),
    ("conditions", Keyed(&["type"], &CONDITION)),
    ("observedGeneration", Scalar),
    ("readyReplicas", Scalar),
    ("replicas", Scalar),
    ("updatedReplicas", Scalar),
];

static CONDITION: Schema = Struct(
    &[
        ("lastTransitionTime", Scalar),
        ("lastUpdateTime", Scalar),
        ("message", Scalar),
        ("reason", Scalar),
        ("status", Scalar),
        ("type", Scalar),
    ],
    &[],
);

const POD_SPEC: &[(&str, Schema)] = &[
    ("containers", Keyed(&["name"], &CONTAINER)),
    ("dnsPolicy", Scalar),
    ("restartPolicy", Scalar),
    ("schedulerName", Scalar),
    ("securityContext", Struct(&[], &[])),
    ("terminationGracePeriodSeconds", Scalar),
];

static CONTAINER: Schema = Struct(
    &[
        ("args", Atomic),
        ("env", Keyed(&["name"], &VARIABLE)),
        ("image", Scalar),
        ("imagePullPolicy", Scalar),
        ("name", Scalar),
        ("resources", Struct(&[("limits", Map(&Scalar)), ("requests", Map(&Scalar))], &[])),
        ("terminationMessagePath", Scalar),
        ("terminationMessagePolicy", Scalar),
    ],
    &["resources"],
);

static VARIABLE: Schema = Struct(&[("name", Scalar), ("value", Scalar)], &[]);

static WIDGET: Schema = Struct(
    &[
        ("apiVersion", Scalar),
        ("kind", Scalar),
        ("metadata", META),
        (
            "spec",
            Struct(
                &[
                    ("content", Scalar),
                    ("parts", Keyed(&["name"], &Struct(&[("count", Scalar), ("name", Scalar)], &[]))),
                    ("size", Scalar),
                ],
                &[],
            ),
        ),
        ("status", Struct(&[("conditions", Keyed(&["type"], &CONDITION)), ("phase", Scalar)], &[])),
    ],
    &["metadata"],
);
