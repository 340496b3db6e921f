//! One file per output format. Each turns a value into text; nothing here prints.

pub mod concise;
pub mod diff_text;
pub mod eml;
pub mod findings_json;
pub mod github;
pub mod gitlab;
pub mod ids;
pub mod junit;
pub mod plan_detail;
pub mod plan_html;
pub mod plan_json;
pub mod plan_markdown;
pub mod plan_text;
pub mod rules;
pub mod sarif;
pub mod snippets;
pub mod summary;
