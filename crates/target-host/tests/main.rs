//! The host target passes the suite every target passes, and keeps its promises on real files, under real and injected faults.

mod conforming;
mod scene;
