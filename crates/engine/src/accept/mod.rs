//! The accept plane before the gates: from versions to candidates, and from accepted control
//! documents to the machine's controls.
//!
//! Pure: everything is read through trees, without any other request. Production and simulator call
//! exactly this code.
//!
//! | Module | Content |
//! | --- | --- |
//! | [`reading`] | a directory of control documents, read strictly and judged as a whole |
//! | [`documents`] | control documents, as resources of the root app's bundle and back |
//! | [`additions`] | rules for fields and entries that others add |
//! | [`boundaries`] | namespaces and kinds of a target that the apps of a scope may write |
//! | [`identities`] | users that the apps of a scope act as |
//! | [`references`] | references between documents |
//! | [`granting`] | scopes and targets in Access documents |
//! | [`unsupported`] | fields that are not supported yet and must not be ignored |
//! | [`replacing`] | resources that may be deleted and created again |
//! | [`selector`] | the resources that a rule is about |
//! | [`sharing`] | fields that others may set |
//! | [`controls`], [`windows`] | the machine's controls, computed from accepted documents |
//! | [`candidate`] | an app's revision: skipped, rendered, refused, or unavailable |
//! | [`remembered`] | a remembered render, instead of a new one |

pub mod additions;
mod boundaries;
pub mod candidate;
pub mod controls;
pub mod documents;
mod flow;
mod granting;
mod identities;
pub mod reading;
mod references;
pub mod remembered;
mod replacing;
pub mod selector;
pub mod sharing;
mod unsupported;
pub mod windows;

pub use candidate::{AppSource, By, Considered, Footprint, consider, known_beforehand, rendered, store_path};
pub use controls::{ReachedTarget, WorkedOut, repository};
pub use documents::{ControlDocument, ControlDocuments};
pub use reading::{BOOTSTRAP_STORE, NotRead, ROOT_SCOPE, documents_of};
pub use remembered::{RenderedObject, recalled};
pub use setpoint_render::{Explanation, NotExplained, NotRendered, Trees, Wanted};
