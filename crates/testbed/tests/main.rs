//! Tests of the testbed itself: the API server is a real one, and each fault of the proxy is the
//! one it claims to be.

mod envtest;
