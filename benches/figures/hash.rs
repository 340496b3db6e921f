//! The peer of an uncached `validate`: reads and hashes every file below a folder with BLAKE3 on all cores, as `b3sum` would if it took
//! many small files at once.

use std::fs;
use std::path::PathBuf;

use rayon::prelude::*;

const WORD: &str = "--hash-every-file";

/// The arguments that make this program hash a folder.
pub fn arguments(folder: &str) -> [&str; 2] {
    [WORD, folder]
}

/// Hashes when the arguments say so.
pub fn hash() -> bool {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let [word, folder] = words.as_slice() else { return false };
    if word != WORD {
        return false;
    }
    let files: Vec<PathBuf> = walkdir::WalkDir::new(folder)
        .into_iter()
        .map(Result::unwrap)
        .filter(|entry| entry.file_type().is_file())
        .map(walkdir::DirEntry::into_path)
        .collect();
    let lines: Vec<String> = files
        .par_iter()
        .map(|path| format!("{}  {}\n", blake3::hash(&fs::read(path).unwrap()), path.display()))
        .collect();
    for line in lines {
        print!("{line}");
    }
    true
}
