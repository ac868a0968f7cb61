//! Random appends, openings and file changes: every accepted event is delivered, or is in a file that was reported and kept.

use std::collections::BTreeSet;

use elah_fuzz::{Random, run};
use elah_journal::{Position, Progress};

use super::support::{Folder, HEADER_BYTES, append, everything, payloads, sync};

/// A change of a file.
#[derive(PartialEq)]
enum Change {
    Nothing,
    Visible,
    /// Nothing but zeros follows a record, or the released position, as at the end of a journal.
    LooksLikeAnEnd(Position),
}

/// Changes some bytes of one segment. `ends` are those of all records; a journal does not read anything before `released`.
fn change(folder: &Folder, random: &mut Random, ends: &BTreeSet<Position>, released: Position) -> Change {
    let files = folder.files("segment");
    let segment = random.below(files.len());
    let number = files[segment].file_stem().and_then(|stem| u64::from_str_radix(stem.to_str()?, 16).ok()).expect("a number");
    let mut changed = Change::Nothing;
    folder.change(segment, |bytes| {
        let before = bytes.clone();
        let at = random.below(bytes.len());
        let length_max = *random.pick(&[10, 200, 10_000]);
        let end = (at + random.below(length_max)).min(bytes.len());
        match random.below(5) {
            0 => bytes[at] ^= 1 << random.below(8),
            1 => bytes[at / 8 * 8..].iter_mut().take(8).for_each(|byte| *byte = 0),
            2 => bytes[at..end].fill(0),
            3 => bytes.truncate(at),
            _ => bytes[at..end].fill_with(|| random.byte()),
        }
        let written = bytes.iter().rposition(|byte| *byte != 0).map_or(0, |last| (last + 1).next_multiple_of(8));
        let written_to = Position(number << 32 | written as u64);
        let position = if released.0 >> 32 == number { written_to.max(released) } else { written_to };
        let is_end = bytes.len() == before.len()
            && written >= HEADER_BYTES
            && (written == HEADER_BYTES || position == released || ends.contains(&position));
        changed = match (*bytes != before, is_end) {
            (false, _) => Change::Nothing,
            (true, false) => Change::Visible,
            (true, true) => Change::LooksLikeAnEnd(position),
        };
    });
    changed
}

#[test]
fn fuzz_journals_on_a_disk_that_forgets() {
    run("sink journal", |random: &mut Random| {
        let mut folder = Folder::new();
        let (mut accepted, mut delivered, mut ends) = (BTreeSet::new(), BTreeSet::new(), BTreeSet::new());
        let mut progress = Progress::default();
        let (mut reported, mut changed, mut may_be_silent) = (0, false, false);
        for _ in 0..1 + random.below(6) {
            if random.once_in(3) {
                folder.boot += 1;
            }
            let log = folder.open(progress);
            reported += log.damages().len();
            for _ in 0..random.below(40) {
                let text = format!("{}:{}", accepted.len(), "x".repeat(*random.pick(&[0, 3, 40, 900, 2800])));
                ends.insert(append(&log, text.as_bytes()));
                accepted.insert(text);
            }
            if random.once_in(2) {
                sync(&log);
            }
            // Delivers a part of the events.
            for _ in 0..random.below(4) {
                let batch = log.read(progress.released, 1 + random.below(8), 4096).expect("reads");
                delivered.extend(payloads(batch.records.iter().map(|(_, record)| record)));
                progress = Progress { released: batch.next, counted: log.end() };
                log.release(batch.next);
            }
            drop(log);
            for _ in 0..random.below(3) {
                if !folder.files("segment").is_empty() {
                    let change = change(&folder, random, &ends, progress.released);
                    changed |= change != Change::Nothing;
                    let is_counted = |end: Position| end < progress.counted && end.0 >> 32 == progress.counted.0 >> 32;
                    may_be_silent |= matches!(change, Change::LooksLikeAnEnd(end) if !is_counted(end));
                }
            }
        }
        let log = folder.open(progress);
        reported += log.damages().len();
        delivered.extend(everything(&log, progress.released));
        let salvaged: BTreeSet<String> = folder.salvaged().iter().flat_map(|salvaged| payloads(&salvaged.records)).collect();
        let found: BTreeSet<&String> = delivered.union(&salvaged).collect();
        assert!(found.iter().all(|text| accepted.contains(*text)), "only what was accepted is found");
        let missing = accepted.iter().filter(|text| !found.contains(text)).count();
        assert!(missing == 0 || reported > 0 || may_be_silent, "{missing} events are missing and nothing was reported");
        assert!(changed || (missing == 0 && reported == 0), "{missing} events are missing on a sound disk, {reported} reports");
    });
}
