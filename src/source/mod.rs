//! The user's files: letterpress.toml, discovery, manifests with positions, bodies, assets.
//!
//! Reading never fails for what a user wrote: what is wrong becomes a [`Problem`] with a place, and the folder stays a template of the
//! tree, so that a manifest that does not parse never makes its template look removed. Nothing outside a template's own folder is opened.

mod assets;
mod cache;
mod config;
mod files;
mod folder;
mod manifest;
mod node;
mod problem;
mod project;
mod read;
mod schema;
mod text;
mod walk;
mod yaml;

pub use assets::ReadAsset;
pub use cache::{Cache, Touched};
pub use config::{BaseUrl, Config, Environment, FILE};
pub use files::Refused;
pub use folder::{BODIES, Folder, Listed, MANIFEST, Shared};
pub use manifest::{Allow, Asset, Bodies, Manifest};
pub use node::{File, Place, Spot};
pub use problem::{Fault, Problem};
pub use project::{EnvironmentError, OpenError, Project};
pub use read::closest;
pub use schema::{ConfigSchema, ManifestSchema};
pub use text::Text;
pub use walk::{Only, Walk};
