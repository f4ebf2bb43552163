//! YAML as Go's libraries write it, byte for byte: the output of `sigs.k8s.io/yaml`, and thus of
//! kustomize and Helm.
//!
//! - `write`: writes a value as a document. `scalar`: quotes strings.
//! - `order`: orders keys.
//! - `number`: formats numbers. `timestamp`: recognises times.

mod number;
mod order;
mod scalar;
mod timestamp;
mod write;

pub use number::{json_float, written_number};
pub use order::natural;
pub use timestamp::Timestamp;
pub use write::{Shape, Tree, Unwritable, write};
