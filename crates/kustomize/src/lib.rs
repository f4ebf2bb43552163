//! Kustomizations to resources, equal to kustomize 5.8.1: in process, without a checkout, and each
//! node of a resource knows where it came from.
//!
//! - [`build`]: from a folder with a kustomization to what it declares. Begin here.
//! - [`node`]: the tree that everything works on; `style`: how its scalars are written. [`origin`]:
//!   where its nodes came from. [`read`]: texts to nodes, taken apart by `documents`. [`load`]:
//!   nodes to resources.
//! - [`files`]: what is asked of a tree. [`folder`]: where the paths of a kustomization lead.
//!   `repository`: how their URLs are told.
//! - [`kustomization`]: a `kustomization.yaml`. [`fields`]: documents of kustomize's own.
//! - [`field_spec`]: which fields transformers are about. [`defaults`]: those that they are about
//!   if nobody says otherwise.
//! - [`generator`]: ConfigMaps and Secrets that are made; [`hash`]: what is put behind their names.
//!   [`selector`] and [`pattern`]: which resources are meant. [`replacement`] and
//!   [`field_path`]: values that are copied, and where.
//! - [`transform`]: what is done to resources, and what is noted of it ([`noted`], [`shared`]).
//!   [`json_patch`]: patches of RFC 6902.
//! - [`annotations`]: those that kustomize keeps for itself.
//! - [`identity`]: what resources are called. [`resource`]: one on its way through a kustomization.
//! - [`order`]: the order of resources in the end.
//! - [`references`]: the names that resources have of each other. [`variables`]: `$(NAME)`.
//!   [`substitution`]: `${NAME}`, as Flux has it.
//! - [`provenance`]: who set what of a resource. [`explanation`]: that, told of the one that
//!   somebody names. [`limits`]: how much a build may cost.
//! - [`schema`]: what OpenAPI says of kinds. [`merge`]: strategic merge patches.

#![forbid(unsafe_code)]

pub mod annotations;
pub mod build;
pub mod defaults;
mod documents;
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
mod repository;
pub mod resource;
pub mod schema;
pub mod selector;
pub mod shared;
mod style;
pub mod substitution;
pub mod transform;
pub mod variables;
