//! Tests that the in-memory target passes the suite, that the suite finds targets that break the
//! contract, and that the world in memory behaves as the simulator needs.

mod conforming;
mod faults;
mod mistaken;
mod model;
mod scene;
mod world;
