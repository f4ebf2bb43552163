//! What renders give, refuse and read.

mod content;
mod explaining;
mod external;
mod kustomize;
mod limits;
mod properties;
mod refusals;
mod scene;
