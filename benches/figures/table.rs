//! The table at the end.

use std::fmt;

/// One figure.
#[derive(Debug, Clone)]
pub struct Line {
    pub work: String,
    /// What is to be reached; nothing where the figure is only told.
    pub target: Option<f64>,
    pub measured: f64,
    /// What the numbers count: `×`, ` ms`, ` MB`.
    pub unit: &'static str,
    /// Whether more is better.
    pub floor: bool,
    /// How it came about.
    pub detail: String,
}

impl Line {
    pub fn new(work: impl Into<String>, target: f64, measured: f64, unit: &'static str, detail: String) -> Self {
        Self { work: work.into(), target: Some(target), measured, unit, floor: false, detail }
    }

    /// A figure without a target.
    pub fn told(work: impl Into<String>, measured: f64, unit: &'static str, detail: String) -> Self {
        Self { work: work.into(), target: None, measured, unit, floor: false, detail }
    }

    pub fn at_least(self) -> Self {
        Self { floor: true, ..self }
    }

    fn verdict(&self) -> &'static str {
        match self.target {
            None => "",
            Some(target) if self.floor == (self.measured >= target) || self.measured == target => "pass",
            Some(_) => "falls short",
        }
    }

    fn number(&self, number: f64) -> String {
        let digits = if number >= 100.0 || (number.fract() == 0.0 && number >= 10.0) { 0 } else { 2 };
        format!("{number:.digits$}{}", self.unit)
    }
}

impl fmt::Display for Line {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let bound = if self.floor { "≥" } else { "≤" };
        let target = self.target.map_or_else(String::new, |target| format!("{bound} {}", self.number(target)));
        let measured = self.number(self.measured);
        write!(f, "| {} | {target} | {measured} | {} | {} |", self.work, self.verdict(), self.detail)
    }
}

/// Prints all figures as a Markdown table.
pub fn print(lines: &[Line]) {
    println!("| figure | target | measured | | how |\n|---|---|---|---|---|");
    for line in lines {
        println!("{line}");
    }
}
