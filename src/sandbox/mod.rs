//! The built-in service: the whole interface, with checks of its own.
