//! YAML as Go's libraries write it, byte for byte: what `sigs.k8s.io/yaml` makes of a value, and so
//! kustomize and Helm.
//!
//! - `write`: a value as a document. `scalar`: how a text is quoted.
//! - `order`: in which order keys stand.
//! - `number`: how numbers are written. `timestamp`: what is taken for a time.

mod number;
mod order;
mod scalar;
mod timestamp;
mod write;

pub use number::{json_float, written_number};
pub use order::natural;
pub use timestamp::Timestamp;
pub use write::{Shape, Tree, Unwritable, write};
