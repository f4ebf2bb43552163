//! The accept plane before the gates: from versions to candidates, and from accepted control
//! documents to the machine's controls.
//!
//! Pure: everything is read through trees, nothing else is asked. Production and simulator call
//! exactly this.
//!
//! | Room | What happens there |
//! | --- | --- |
//! | [`reading`] | a folder of control documents, read strictly and judged as a whole |
//! | [`documents`] | control documents, as resources of the root app's bundle and back |
//! | [`additions`] | what is done about what others add |
//! | [`boundaries`] | where the apps of a scope may write on a cluster |
//! | [`references`], [`unsupported`] | what documents say of each other; what is not there yet and must not be ignored |
//! | [`replacing`] | resources that may be deleted and made anew |
//! | [`selector`] | which resources a rule is about |
//! | [`sharing`] | fields that others may set |
//! | [`controls`], [`windows`] | what accepted documents mean for the machine |
//! | [`candidate`] | an app's revision: skipped, rendered, refused, or not to be had |
//! | [`remembered`] | a render that somebody remembers, instead of one |

pub mod additions;
mod boundaries;
pub mod candidate;
pub mod controls;
pub mod documents;
mod flow;
mod identities;
pub mod reading;
mod references;
pub mod remembered;
mod replacing;
pub mod selector;
pub mod sharing;
mod unsupported;
pub mod windows;

pub use candidate::{
    AppSource, By, Considered, Footprint, Kinds, after_implied, consider, known_beforehand, rendered, store_path,
};
pub use controls::{ReachedTarget, WorkedOut, repository};
pub use documents::{ControlDocument, ControlDocuments};
pub use reading::{BOOTSTRAP_STORE, NotRead, ROOT_SCOPE, TargetCheck, documents_of};
pub use remembered::{RenderedObject, recalled};
pub use setpoint_render::{Explanation, NotExplained, NotRendered, Trees, Wanted};
