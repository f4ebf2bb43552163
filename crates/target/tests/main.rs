//! Tests that the in-memory target passes the suite, that the suite finds targets that break the
//! contract, that the world in memory behaves as the simulator needs, and that documents declare it.

mod conforming;
mod documents;
mod faults;
mod mistaken;
mod model;
mod scene;
mod world;
