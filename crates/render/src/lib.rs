//! From versions to resources: in process, without a checkout, over trees that record every read.
//!
//! - [`request`]: what is rendered, what comes of it, and the limits.
//! - [`problem`]: what is wrong with what a version declares, for a person to mend.
//! - [`walk`]: the files below a folder.
//! - [`rendering`]: each input by the renderer it is meant for. `plain`: YAML and JSON as they
//!   stand. `kustomize`: kustomizations.
//!   [`external`]: kustomizations that another program renders in our place.
//! - [`shadow`]: kustomizations rendered both ways, for whoever compares.
//! - `explaining`: who set what of a resource.
//! - `completing`: what is done with every resource, whoever rendered it. `content`: files that a
//!   resource takes its content from.
//!
//! A render is a function of the trees it reads ([`setpoint_store::ReadSet`]): no clock, no
//! environment, no order of a listing has a say in it. It gives everything or it gives all the
//! reasons why not.

#![forbid(unsafe_code)]

mod bases;
mod completing;
mod content;
mod explaining;
pub mod external;
mod kustomize;
mod plain;
pub mod problem;
pub mod rendering;
pub mod request;
pub mod shadow;
pub mod walk;

pub use explaining::{NotExplained, explain, holds_secrets};
pub use external::{External, NotGiven};
pub use problem::Problem;
pub use rendering::render;
pub use request::{
    Input, Kustomize, Limits, NotRendered, ReadSets, RemoteBase, Rendered, RenderedResource, Request, Trees,
};
pub use setpoint_kustomize::explanation::{Explanation, Wanted};
pub use shadow::{Sides, both_sides};
