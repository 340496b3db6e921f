//! What a few folders came to since the file was written, added to its end: whoever read one template again need not write ten thousand.
//!
//! ```text
//! patch  one entry for each folder that was read again, before those below it
//! entry  its path below the templates folder, its own part as in a record, the names of the folders below
//! ```

use super::layout::{Kept, Record, put, sized};

/// The patch that leads to a next state.
#[must_use]
pub fn of(kept: &Kept<'_>) -> Vec<u8> {
    let mut out = Vec::new();
    entries(kept, "", &mut out);
    out
}

fn entries(kept: &Kept<'_>, path: &str, out: &mut Vec<u8>) {
    let below = match kept {
        Kept::Nothing | Kept::Same(_) => return,
        Kept::Below(_, below) => below,
        Kept::New { below, .. } => {
            put(out, path.as_bytes());
            let mut own = Vec::new();
            kept.write_own(&mut own);
            put(out, &own);
            below.iter().filter_map(Kept::name).for_each(|name| put(out, name.as_bytes()));
            below
        }
    };
    for kept in below {
        if let Some(name) = kept.name() {
            let path = if path.is_empty() { name.to_owned() } else { format!("{path}/{name}") };
            entries(kept, &path, out);
        }
    }
}

/// Changes what is remembered as a patch says; nothing when it is no patch of these records.
#[must_use]
pub fn apply<'a>(top: &mut Record<'a>, mut patch: &'a [u8]) -> Option<()> {
    while !patch.is_empty() {
        let path = std::str::from_utf8(sized(&mut patch)?).ok()?;
        let mut own = sized(&mut patch)?;
        let (mut new, folders) = Record::own(&mut own)?;
        let mut record = &mut *top;
        record.whole = None;
        for name in path.split('/').filter(|name| !name.is_empty()) {
            let at = record.below.binary_search_by(|record| record.name.cmp(name)).ok()?;
            record = record.below.get_mut(at)?;
            record.whole = None;
        }
        let mut old = std::mem::take(&mut record.below).into_iter().peekable();
        for _ in 0..folders {
            let name = std::str::from_utf8(sized(&mut patch)?).ok()?;
            // Both are by name.
            while old.next_if(|record| record.name < name).is_some() {}
            new.below.push(old.next_if(|record| record.name == name).unwrap_or_else(|| Record::unknown(name)));
        }
        *record = new;
    }
    Some(())
}

#[cfg(test)]
mod tests {
    use super::super::Stamp;
    use super::*;

    fn new<'a>(name: &str, value: &str, below: Vec<Kept<'a>>) -> Kept<'a> {
        let value = (!value.is_empty()).then(|| (Vec::new(), value.as_bytes().to_vec()));
        Kept::New { name: name.to_owned(), stamp: Stamp::read(&[7; 32]), value, below }
    }

    fn bytes(kept: &Kept<'_>) -> Vec<u8> {
        let mut out = Vec::new();
        kept.write(&mut out);
        out
    }

    /// Everything that a run sees of a record.
    fn seen(record: &Record<'_>) -> String {
        let below: Vec<String> = record.below.iter().map(seen).collect();
        let value = record.value().map(|value| value.bytes);
        format!("{} {:?} {value:?} [{}]", record.name, record.stamp(), below.join(", "))
    }

    fn tree() -> Vec<u8> {
        let team = |name| new(name, "", vec![new("c", "one", vec![]), new("d", "two", vec![])]);
        bytes(&new("", "", vec![team("a"), team("b"), new("z", "three", vec![])]))
    }

    #[test]
    fn a_patched_record_is_the_one_that_would_have_been_written() {
        let old = tree();
        let top = Record::read(&old).unwrap();
        let again = |path: [&str; 2]| top.child(path[0]).and_then(|team| team.child(path[1])).unwrap().again(vec![]);
        let team = |name, below| top.child(name).unwrap().again(below);
        let z = || top.child("z").unwrap().again(vec![]);
        let leaf_changed = team("b", vec![new("c", "new", vec![]), again(["b", "d"])]);
        let one_more = new("b", "", vec![again(["b", "c"]), again(["b", "d"]), new("e", "more", vec![])]);
        let one_less = new("b", "", vec![again(["b", "d"])]);
        let a = || team("a", vec![again(["a", "c"]), again(["a", "d"])]);
        let team_gone = new("", "", vec![a(), z()]);
        let nested = new("", "", vec![a(), new("n", "", vec![new("o", "", vec![new("p", "deep", vec![])])]), z()]);
        let changed = [
            top.again(vec![a(), leaf_changed, z()]),
            top.again(vec![a(), one_more, z()]),
            top.again(vec![a(), one_less, z()]),
            team_gone,
            nested,
        ];
        for kept in changed {
            let (patch, whole) = (of(&kept), bytes(&kept));
            assert!(patch.len() < whole.len());
            let mut patched = Record::read(&old).unwrap();
            apply(&mut patched, &patch).unwrap();
            let expected = Record::read(&whole).unwrap();
            assert_eq!(seen(&patched), seen(&expected));
            // What is then found as it was is written as if there had never been a patch.
            let again = all_again(&patched);
            assert!(!again.gains());
            assert_eq!(bytes(&again), whole);
        }
    }

    fn all_again<'a>(record: &Record<'a>) -> Kept<'a> {
        record.again(record.below.iter().map(all_again).collect())
    }

    #[test]
    fn anything_else_is_no_patch() {
        let old = tree();
        let top = Record::read(&old).unwrap();
        let patch = of(&new("", "", vec![new("n", "new", vec![])]));
        for end in 1..patch.len() {
            let mut record = Record::read(&old).unwrap();
            let whole_entries = apply(&mut record, &patch[..end]).is_some();
            assert!(!whole_entries || record.child("n").is_some_and(|n| n.stamp() == Stamp::NEVER), "{end}");
        }
        let elsewhere = of(&top.again(vec![]));
        assert!(elsewhere.is_empty());
    }
}
