//! The web pages of a running agent, and its API over HTTP.
//!
//! `pages` turns responses of the API into HTML and performs no I/O; `assets` holds the embedded
//! style, script and pictures that the pages link to; [`http`] serves them, identifies callers, and
//! limits what they can cost.

#![forbid(unsafe_code)]

pub mod assets;
pub mod http;
pub mod pages;
