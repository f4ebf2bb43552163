//! Transformers: apply the fields of a kustomization to its resources, one after the other.
//!
//! - `namespace`: namespaces. `name`: prefixes and suffixes. `labels`: labels and annotations.
//! - `images`: names and tags of images, which `image_name` matches. `replicas`: replica counts.

mod image_name;
mod images;
mod labels;
mod name;
mod namespace;
mod replicas;

#[cfg(test)]
mod tests;

use std::sync::Arc;

use crate::field_spec::{FieldError, FieldProblem};
use crate::identity::{Gvk, Id};
use crate::limits::Exceeded;
use crate::noted::NotNoted;
use crate::pattern::BadPattern;

pub use images::{NewImage, images};
pub use labels::{annotations, labels};
pub use name::{prefix, suffix};
pub(crate) use namespace::set as set_namespace;
pub use namespace::{Namespace, Subjects, namespace};
pub use replicas::replicas;

/// The reason why resources cannot be transformed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum TransformError {
    #[error(transparent)]
    Field(#[from] FieldError),
    #[error(transparent)]
    NotNoted(#[from] NotNoted),
    #[error("namespace field specs must target scalar nodes")]
    Namespace(#[source] FieldError),
    #[error("setting namespace on (cluster)role binding subjects of {resource}")]
    Subjects {
        resource: Box<Id>,
        #[source]
        problem: FieldProblem,
    },
    #[error(
        "namespace transformation produces ID conflict: there are two of {id} in namespace `{namespace}`; \
         rename one, or leave one out"
    )]
    SameId { id: Box<Id>, namespace: Arc<str> },
    #[error("the containers of {resource} are not a list of maps; correct them")]
    Containers {
        resource: Box<Id>,
        #[source]
        problem: FieldProblem,
    },
    #[error("the image name `{name}` is used as a regular expression")]
    Pattern {
        name: Arc<str>,
        #[source]
        problem: BadPattern,
    },
    #[error(
        "resource with name {name} does not match a config with the following GVK [{}]; \
         correct the name in `replicas`, or remove it",
        shown(.gvks)
    )]
    NoReplicas { name: Arc<str>, gvks: Vec<Gvk> },
    #[error("limit")]
    Limit(#[from] Exceeded),
}

fn shown(gvks: &[Gvk]) -> String {
    gvks.iter().map(Gvk::to_string).collect::<Vec<_>>().join(" ")
}
