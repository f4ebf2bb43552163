//! A seeded world with faults that drives the shipped engine
