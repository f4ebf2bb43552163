//! The in-memory target passes the suite, the suite finds targets that do not keep the contract,
//! and the world in memory does what the simulator needs of it.

mod conforming;
mod faults;
mod mistaken;
mod model;
mod scene;
mod world;
