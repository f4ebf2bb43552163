//! Tests of the decision: examples a reader can follow, and properties over random worlds.

mod adopted;
mod examples;
mod ordered;
mod properties;
mod remarked;
mod replaced;
mod world;
