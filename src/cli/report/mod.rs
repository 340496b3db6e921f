//! One file per output format. Each turns a value into text; nothing here prints.

pub mod ids;
pub mod plan_json;
pub mod plan_text;
