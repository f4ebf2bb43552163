//! The external renderer: a real `kustomize`, pinned by its digest, run on a folder of files and
//! nothing else; and what it renders otherwise than we do.
//!
//! - [`Pinned`]: the program, read once into memory that nobody can change any more. Its digest is
//!   that of the bytes that are executed.
//! - [`Tree`]: the files it may read, in a private folder that ends with the value.
//! - [`run`]: starts it, watches it, and gives what it wrote. [`Limits`]: how long, how much.
//!   [`Stop`]: the end before the end.
//!   [`NotRun`]: why there is nothing.
//! - [`enter`]: what the agent's own binary does when [`run`] starts it again with [`SUBCOMMAND`]:
//!   it gives up everything the program must not have and then becomes the program. No code of ours
//!   runs between a fork and an exec, so none of it is unsafe.
//! - [`compare`]: two renders of the same version, ours and theirs.
//!
//! What holds the program, from outside to inside: no environment, no descriptors but its three,
//! limits (`limits`), no capabilities, Landlock (`walls`: it reads the tree, and nothing else can
//! be opened, executed or connected to), seccomp (`calls`: what is not on the list is refused).
//! Where the kernel cannot enforce all of it, nothing is run.
//!
//! What it still can do: learn by `stat` and `readlink` what paths there are outside the tree, and
//! how large (Landlock does not cover that), use the processor for as long as it may run, and write
//! what it likes to its output.

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
