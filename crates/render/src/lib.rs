//! Renders versions to resources: in process, without a checkout, over trees that record every
//! read.
//!
//! - [`request`]: the input and the result of a render, and its limits.
//! - [`problem`]: mistakes in the declarations of a version, for a person to correct.
//! - [`walk`]: the files below a directory.
//! - [`rendering`]: passes each input to its renderer. `plain`: YAML and JSON, unchanged.
//!   `kustomize`: kustomizations. [`external`]: kustomizations that another program renders.
//! - [`shadow`]: kustomizations rendered both ways, for comparison.
//! - `explaining`: who set each field of a resource.
//! - `completing`: the steps for every resource, from any renderer. `content`: files that resources
//!   take content from.
//!
//! A render is a function of the trees it reads ([`setpoint_store::ReadSet`]): it does not depend
//! on a clock, the environment or the order of a listing. It returns everything, or all reasons for
//! its failure.

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
