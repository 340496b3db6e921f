//! Lists of addresses from a file or stdin: CSV with a header, JSON lines, or one address a line.
//!
//! A list is read twice, once to check every line before anything is sent and once to send, and never held in memory. Stdin is kept in a
//! temporary file for that.

use std::fs::File;
use std::io::{self, BufRead as _, BufReader, Read, Seek as _};
use std::path::{Path, PathBuf};

use jiff::Timestamp;
use serde::Deserialize;

use crate::cli::dates;
use crate::desired::Digest;
use crate::limits;

/// Longest line in bytes.
const LINE_BYTES: u64 = 65_536;

/// The form of a list.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub enum Form {
    /// A header that names `email`, and optionally `reason` and `created`
    Csv,
    /// One object a line, with the same names
    Jsonl,
    /// One address a line; empty lines and lines that start with `#` are skipped
    Lines,
}

/// One line of a list, checked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Row {
    /// Where it stands, from 1.
    pub line: u64,
    /// The address.
    pub email: String,
    /// Its own reason.
    pub reason: Option<String>,
    /// Its own date.
    pub created: Option<Timestamp>,
}

/// What is wrong with a line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Flaw {
    /// The line, from 1.
    pub line: u64,
    /// A sentence fragment; foreign text in it is raw.
    pub message: String,
}

/// A list that can be read more than once.
#[derive(Debug)]
pub struct List {
    file: File,
    form: Form,
    /// The file's name, for people; `-` for stdin.
    pub name: String,
    /// Where it is; nothing for stdin.
    pub path: Option<PathBuf>,
}

impl List {
    /// Opens a list. The form is that of `form`, else the file's extension, else what its first line looks like.
    ///
    /// # Errors
    ///
    /// The file cannot be read, or stdin cannot be kept.
    pub fn open(path: &Path, form: Option<Form>) -> io::Result<Self> {
        let (mut file, path) = if path == Path::new("-") {
            let mut kept = tempfile::tempfile()?;
            io::copy(&mut io::stdin().lock(), &mut kept)?;
            (kept, None)
        } else {
            let file = File::open(path)?;
            if !file.metadata()?.is_file() {
                return Err(io::Error::new(io::ErrorKind::InvalidInput, "not a regular file (stdin is `-`)"));
            }
            (file, Some(path.to_owned()))
        };
        let form = match form.or_else(|| path.as_deref().and_then(by_extension)) {
            Some(form) => form,
            None => by_first_line(&mut file)?,
        };
        let name = path.as_ref().map_or_else(|| "-".to_owned(), |path| path.display().to_string());
        Ok(Self { file, form, name, path })
    }

    /// A digest of the whole list: what `--resume` recognizes it by.
    ///
    /// # Errors
    ///
    /// The file cannot be read.
    pub fn digest(&mut self) -> io::Result<Digest> {
        self.file.rewind()?;
        let mut hasher = crate::desired::Hasher::default();
        let mut block = vec![0; 65_536];
        loop {
            match self.file.read(&mut block)? {
                0 => return Ok(hasher.digest()),
                read => hasher.piece(&block[..read]),
            }
        }
    }

    /// Reads the list from its beginning. `now` is what `7d` counts from.
    ///
    /// # Errors
    ///
    /// The file cannot be read; later failures are items.
    pub fn rows(&mut self, now: Timestamp) -> io::Result<Rows<'_>> {
        self.file.rewind()?;
        let mut reader = BufReader::new(&self.file);
        if reader.fill_buf()?.starts_with(b"\xef\xbb\xbf") {
            reader.consume(3);
        }
        let head = reader.buffer();
        let first_end = head.iter().position(|byte| *byte == b'\n');
        // With CR LF the reader counts a line only when it begins the next one.
        let late = u64::from(first_end.is_some_and(|at| head[..at].ends_with(b"\r")));
        let source = match self.form {
            Form::Csv => {
                let mut reader = csv::ReaderBuilder::new().flexible(true).trim(csv::Trim::All).from_reader(reader);
                let columns = Columns::of(reader.byte_headers()?, late);
                Source::Csv { reader: Box::new(reader), columns }
            }
            Form::Jsonl => Source::Lines { reader, line: 0, json: true },
            Form::Lines => Source::Lines { reader, line: 0, json: false },
        };
        Ok(Rows { source, now, ended: false })
    }
}

fn by_extension(path: &Path) -> Option<Form> {
    match path.extension()?.to_str()?.to_ascii_lowercase().as_str() {
        "csv" => Some(Form::Csv),
        "jsonl" | "ndjson" => Some(Form::Jsonl),
        _ => None,
    }
}

fn by_first_line(file: &mut File) -> io::Result<Form> {
    file.rewind()?;
    let mut line = Vec::new();
    BufReader::new(file).take(LINE_BYTES).read_until(b'\n', &mut line)?;
    let line = String::from_utf8_lossy(&line).to_lowercase();
    let line = line.trim_start_matches('\u{feff}').trim();
    Ok(match line {
        _ if line.starts_with('{') => Form::Jsonl,
        _ if line.split(',').any(|name| name.trim().trim_matches('"') == "email") => Form::Csv,
        _ => Form::Lines,
    })
}

/// The lines of a list, one by one.
pub struct Rows<'a> {
    source: Source<'a>,
    now: Timestamp,
    ended: bool,
}

enum Source<'a> {
    Csv { reader: Box<csv::Reader<BufReader<&'a File>>>, columns: Columns },
    Lines { reader: BufReader<&'a File>, line: u64, json: bool },
}

/// Where the columns of a CSV file are.
struct Columns {
    email: Option<usize>,
    reason: Option<usize>,
    created: Option<usize>,
    /// What the reader's line numbers are short of.
    late: u64,
}

impl Columns {
    fn of(header: &csv::ByteRecord, late: u64) -> Self {
        let find = |name: &str| header.iter().position(|field| field.eq_ignore_ascii_case(name.as_bytes()));
        Self { email: find("email"), reason: find("reason"), created: find("created"), late }
    }
}

#[derive(Debug, Default, Deserialize)]
struct Fields {
    email: Option<String>,
    reason: Option<String>,
    created: Option<String>,
}

impl Iterator for Rows<'_> {
    type Item = Result<Row, Flaw>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.ended {
            return None;
        }
        let (line, fields) = match self.source.next()? {
            Ok(found) => found,
            Err(Broken { flaw, ends }) => {
                self.ended = ends;
                return Some(Err(flaw));
            }
        };
        Some(row(line, fields, self.now).map_err(|message| Flaw { line, message }))
    }
}

/// A line without fields, and whether reading can go on after it.
struct Broken {
    flaw: Flaw,
    ends: bool,
}

impl Source<'_> {
    fn next(&mut self) -> Option<Result<(u64, Fields), Broken>> {
        match self {
            Self::Csv { reader, columns } => csv_fields(reader, columns),
            Self::Lines { reader, line, json } => line_fields(reader, line, *json),
        }
    }
}

fn csv_fields(reader: &mut csv::Reader<BufReader<&File>>, columns: &Columns) -> Option<Result<(u64, Fields), Broken>> {
    let broken = |line, message: &str, ends| Broken { flaw: Flaw { line, message: message.to_owned() }, ends };
    let Some(email) = columns.email else {
        return Some(Err(broken(1, "the header names no column `email`", true)));
    };
    let mut record = csv::ByteRecord::new();
    match reader.read_byte_record(&mut record) {
        Ok(false) => None,
        Ok(true) => {
            let line = record.position().map_or(0, csv::Position::line) + columns.late;
            let field = |at: Option<usize>| {
                let bytes = record.get(at?).filter(|bytes| !bytes.is_empty())?;
                Some(String::from_utf8(bytes.to_vec()))
            };
            let fields = || -> Result<Fields, std::string::FromUtf8Error> {
                Ok(Fields {
                    email: field(Some(email)).transpose()?,
                    reason: field(columns.reason).transpose()?,
                    created: field(columns.created).transpose()?,
                })
            };
            Some(fields().map(|fields| (line, fields)).map_err(|_| broken(line, "not UTF-8", false)))
        }
        Err(error) => Some(Err(broken(reader.position().line(), &error.to_string(), true))),
    }
}

fn line_fields(reader: &mut BufReader<&File>, line: &mut u64, json: bool) -> Option<Result<(u64, Fields), Broken>> {
    loop {
        let mut bytes = Vec::new();
        let read = reader.by_ref().take(LINE_BYTES + 1).read_until(b'\n', &mut bytes);
        *line += 1;
        let broken = |message: String, ends| Some(Err(Broken { flaw: Flaw { line: *line, message }, ends }));
        match read {
            Ok(0) => return None,
            Ok(_) if bytes.len() as u64 > LINE_BYTES => {
                return broken(format!("longer than {LINE_BYTES} bytes"), true);
            }
            Ok(_) => {}
            Err(error) => return broken(error.to_string(), true),
        }
        let Ok(text) = std::str::from_utf8(&bytes) else { return broken("not UTF-8".to_owned(), false) };
        let text = text.trim();
        if text.is_empty() || (!json && text.starts_with('#')) {
            continue;
        }
        if !json {
            return Some(Ok((*line, Fields { email: Some(text.to_owned()), ..Fields::default() })));
        }
        return match serde_json::from_str(text) {
            Ok(fields) => Some(Ok((*line, fields))),
            Err(error) => broken(format!("not an object with `email`: {error}"), false),
        };
    }
}

fn row(line: u64, fields: Fields, now: Timestamp) -> Result<Row, String> {
    let email = fields.email.ok_or("no address (the service's own list has none, so an export cannot be read back)")?;
    address(&email)?;
    let created = fields.created.map(|text| dates::read(&text, now).map_err(|why| format!("`created` is {why}")));
    Ok(Row { line, email, reason: fields.reason, created: created.transpose()? })
}

/// Whether a text is an email address that the service could take.
///
/// # Errors
///
/// A sentence fragment with the text in it.
pub fn address(text: &str) -> Result<(), String> {
    if text.len() > limits::ADDRESS_BYTES {
        let (actual, allowed) = (text.len(), limits::ADDRESS_BYTES);
        return Err(format!("an address of {actual} bytes; at most {allowed} are allowed"));
    }
    let plain = !text.contains(|c: char| c.is_whitespace() || crate::untrusted::is_control(c));
    if plain && email_address::EmailAddress::is_valid(text) && !text.contains(['<', '>']) {
        Ok(())
    } else {
        Err(format!("`{text}` is not an email address"))
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write as _;

    use super::*;

    fn read(name: &str, content: &[u8]) -> Vec<Result<Row, Flaw>> {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join(name);
        File::create(&path).unwrap().write_all(content).unwrap();
        let now = "2026-11-21T03:00:00Z".parse().unwrap();
        List::open(&path, None).unwrap().rows(now).unwrap().collect()
    }

    fn emails(rows: &[Result<Row, Flaw>]) -> Vec<(u64, &str)> {
        rows.iter().flatten().map(|row| (row.line, row.email.as_str())).collect()
    }

    #[test]
    fn the_three_forms_say_the_same() {
        let csv = read("a.csv", b"\xef\xbb\xbfreason,\"Email\"\r\ncomplained,a@example.com\r\n,\"b@example.com\"\r\n");
        let jsonl = read(
            "a",
            b"{\"email\":\"a@example.com\",\"reason\":\"complained\"}\n{\"email\":\"b@example.com\",\"x\":1}\n",
        );
        let lines = read("a.txt", b"# people\na@example.com\r\n\n  b@example.com");
        assert_eq!(emails(&csv), [(2, "a@example.com"), (3, "b@example.com")]);
        assert_eq!(emails(&jsonl), [(1, "a@example.com"), (2, "b@example.com")]);
        assert_eq!(emails(&lines), [(2, "a@example.com"), (4, "b@example.com")]);
        assert_eq!(csv[0].as_ref().unwrap().reason.as_deref(), Some("complained"));
        assert_eq!(csv[1].as_ref().unwrap().reason, None);
    }

    #[test]
    fn every_flaw_has_its_line_and_the_rest_is_still_read() {
        let rows = read("a.txt", b"a@example.com\nnobody\n\xff\xfe\nb@example.com\n");
        assert_eq!(emails(&rows).len(), 2);
        let flaws: Vec<_> = rows.into_iter().filter_map(Result::err).collect();
        assert_eq!(flaws[0], Flaw { line: 2, message: "`nobody` is not an email address".to_owned() });
        assert_eq!(flaws[1], Flaw { line: 3, message: "not UTF-8".to_owned() });
    }

    #[test]
    fn a_csv_without_the_column_is_one_flaw() {
        let rows = read("a.csv", b"name\nx\ny\n");
        let message = "the header names no column `email`".to_owned();
        assert_eq!(rows, [Err(Flaw { line: 1, message })]);
    }

    #[test]
    fn dates_and_addresses_are_checked() {
        let rows = read("a.csv", b"email,created\na@example.com,2026-11-01\nb@example.com,soon\n");
        assert_eq!(rows[0].as_ref().unwrap().created, Some("2026-11-01T00:00:00Z".parse().unwrap()));
        assert!(rows[1].as_ref().unwrap_err().message.starts_with("`created` is not a date"));
        for bad in ["", "a", "a@", "@b.example", "a b@example.com", "A <a@example.com>", "a@example.com\u{202e}"] {
            assert!(address(bad).is_err(), "{bad:?}");
        }
        assert!(address(&format!("{}@example.com", "a".repeat(400))).is_err());
    }

    #[test]
    fn a_line_without_end_is_not_read_into_memory() {
        let rows = read("a.txt", &vec![b'a'; 1_000_000]);
        assert_eq!(rows, [Err(Flaw { line: 1, message: "longer than 65536 bytes".to_owned() })]);
    }
}
