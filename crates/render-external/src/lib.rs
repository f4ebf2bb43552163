//! The external renderer: a real `kustomize`, pinned by its digest, run on a directory of files and
//! nothing else. It also compares its output with ours.
//!
//! - [`Pinned`]: the program, read once into sealed memory. Its digest is that of the executed
//!   bytes.
//! - [`Tree`]: the files it may read, in a private directory that is removed with the value.
//! - [`run`]: starts the program, watches it, and returns its output. [`Limits`]: its time and
//!   resources. [`Stop`]: ends it early. [`NotRun`]: the reasons for a failure.
//! - [`enter`]: runs in the agent's own binary when [`run`] starts it again with [`SUBCOMMAND`]: it
//!   drops all rights that the program must not have and then becomes the program. No code of ours
//!   runs between a fork and an exec, so none of it is unsafe.
//! - [`compare`]: compares two renders of the same version, ours and theirs.
//!
//! The program is confined, from outside to inside, by: no environment, no descriptors but its
//! three, limits (`limits`), no capabilities, Landlock (`walls`: it reads the tree, and can open,
//! execute and connect to nothing else), seccomp (`calls`: a call that is not on the list is
//! refused). Where the kernel cannot enforce all of this, nothing is run.
//!
//! The program can still find out by `stat` and `readlink` which paths exist outside the tree, and
//! their sizes (Landlock does not cover that), use the processor until its time limit, and write
//! anything to its output.

#![deny(unsafe_code)]

mod calls;
mod confinement;
mod elf;
mod enter;
mod limits;
mod pinned;
mod problem;
mod run;
mod shadow;
mod tree;
mod walls;
mod watch;

pub use enter::{SUBCOMMAND, enter};
pub use limits::Limits;
pub use pinned::Pinned;
pub use problem::{NotRun, Stream};
pub use run::{Job, Output, run};
pub use shadow::{Difference, Shadow, compare};
pub use tree::{NotWritten, Tree, Unfinished};
pub use watch::Stop;
