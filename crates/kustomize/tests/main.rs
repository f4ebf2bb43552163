//! The integration tests of `setpoint-kustomize`, as one binary. Tests that run kustomize itself
//! are in modules `against_kustomize`.

mod builds;
mod case;
mod corpus;
mod fixtures;
mod function;
mod fuzz;
mod hostile;
mod offers;
mod peer;
mod places;
mod provenance;
mod refusals;
