//! What the plain renderer gives, refuses and reads.

mod content;
mod limits;
mod properties;
mod refusals;
mod scene;
