//! The two ends of the socket, over a real one.

mod asking;
mod caching;
mod crowding;
mod openapi;
mod permitted;
mod place;
mod standing;
mod streaming;
