//! The words of Setpoint as types, and decide(): pure, without I/O
