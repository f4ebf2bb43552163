//! The parts themselves: the API server is a real one, and each fault of the proxy is the one it
//! says it is.

mod envtest;
