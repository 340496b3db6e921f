//! Merge tags: the simple syntax `{{name}}`, `{{name|text}}`, `{{name?text}}`, nested, no blanks (`interface §2.5`, silent.md).
