//! The two ends of the socket, over a real one.

mod asking;
mod crowding;
mod permitted;
mod place;
mod standing;
mod streaming;
