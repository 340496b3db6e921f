//! The user's files: letterpress.toml, discovery, manifests with positions, bodies, assets.
