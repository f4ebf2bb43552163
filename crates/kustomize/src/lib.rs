//! Kustomizations to resources, equal to kustomize 5.8.1: in process, without a checkout, and each node of a resource knows where it came from.
//!
//! - [`node`]: the tree that everything works on; `style`: how its scalars are written. [`origin`]: where its nodes came from. [`read`]: texts to nodes. [`load`]: nodes to resources.
//! - [`folder`]: where the paths of a kustomization lead.
//! - [`kustomization`]: a `kustomization.yaml`. [`fields`]: documents of kustomize's own.
//! - [`field_spec`]: which fields transformers are about. [`defaults`]: those that they are about if nobody says otherwise.
//! - [`transform`]: what is done to resources, and what is noted of it ([`noted`], [`shared`]). [`json_patch`]: patches of RFC 6902.
//! - [`annotations`]: those that kustomize keeps for itself.
//! - [`identity`]: what resources are called. [`resource`]: one on its way through a kustomization.
//! - [`order`]: the order of resources in the end.
//! - [`references`]: the names that resources have of each other. [`variables`]: `$(NAME)`. [`substitution`]: `${NAME}`, as Flux has it.
//! - [`provenance`]: who set what of a resource. [`explanation`]: that, told of the one that somebody names. [`limits`]: how much a build may cost.
//! - [`schema`]: what OpenAPI says of kinds. [`merge`]: strategic merge patches.

#![forbid(unsafe_code)]

pub mod annotations;
pub mod build;
pub mod defaults;
pub mod explanation;
pub mod field_path;
pub mod field_spec;
pub mod fields;
pub mod files;
mod folded;
pub mod folder;
pub mod generator;
pub mod hash;
pub mod identity;
mod json;
pub mod json_patch;
pub mod kustomization;
pub mod limits;
pub mod load;
pub mod merge;
pub mod node;
pub mod noted;
pub mod order;
pub mod origin;
pub mod pattern;
pub mod provenance;
pub mod read;
#[cfg(test)]
mod recorded;
pub mod references;
pub mod replacement;
pub mod resource;
pub mod schema;
pub mod selector;
pub mod shared;
mod style;
pub mod substitution;
pub mod transform;
pub mod variables;
