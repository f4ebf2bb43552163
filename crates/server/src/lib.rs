//! The web pages of a running agent.
//!
//! `pages` turns responses of the API into HTML and performs no I/O; `assets` holds the embedded
//! style, script and pictures that the pages link to.

#![forbid(unsafe_code)]

pub mod assets;
pub mod pages;
