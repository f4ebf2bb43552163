//! The routes, and the two ends of the socket over a real one.

mod asking;
mod caching;
mod crowding;
mod openapi;
mod permitted;
mod place;
mod repeating;
mod selecting;
mod sending;
mod standing;
mod streaming;
