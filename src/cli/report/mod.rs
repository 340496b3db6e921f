//! One file per output format. Each turns a value into text; nothing here prints.

pub mod plan_text;
