//! Renders kustomizations to resources, equal to kustomize 5.8.1: in process, without a checkout,
//! and each node of a resource knows its origin.
//!
//! - [`build`]: builds the kustomization of a directory. Begin here.
//! - [`node`]: the tree that everything works on; `style`: the notation of its scalars. [`origin`]:
//!   the sources of its nodes. [`read`]: parses text into nodes, split by `documents`. [`load`]:
//!   reads nodes as resources.
//! - [`files`]: the interface to a file tree. [`folder`]: resolves the paths of a kustomization.
//!   `repository`: recognises repository URLs.
//! - [`kustomization`]: a `kustomization.yaml`. [`fields`]: reads documents of kustomize's own
//!   types.
//! - [`field_spec`]: selects the fields of transformers. [`defaults`]: the default field specs.
//! - [`generator`]: generates ConfigMaps and Secrets; [`hash`]: the hash appended to their names.
//!   [`selector`] and [`pattern`]: select resources. [`replacement`] and [`field_path`]: copy
//!   values between fields.
//! - [`transform`]: the transformers, and the records they write on a resource ([`noted`],
//!   [`shared`]). [`json_patch`]: patches of RFC 6902.
//! - [`annotations`]: annotations reserved for kustomize.
//! - [`identity`]: the identity of resources. [`resource`]: a resource while a kustomization is
//!   built.
//! - [`order`]: the order of resources in the output.
//! - [`references`]: names by which resources refer to each other. [`variables`]: `$(NAME)`.
//!   [`substitution`]: `${NAME}`, as in Flux.
//! - [`provenance`]: the source of each field of a resource. [`explanation`]: the same for one
//!   resource given by name. [`limits`]: limits on the cost of a build.
//! - [`schema`]: the OpenAPI schemas of kinds. [`merge`]: strategic merge patches.

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
