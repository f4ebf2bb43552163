//! Tests the results, the refusals and the reads of renders.

mod content;
mod explaining;
mod external;
mod kustomize;
mod limits;
mod properties;
mod refusals;
mod scene;
