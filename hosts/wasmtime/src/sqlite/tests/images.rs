//! Images of a data folder after damage: cut files, altered bits and sectors, files from
//! different moments or servers. Each image opens with every acknowledged commit or is
//! rejected; nothing is ever missing without an error.
//!
//! `SHARED_CONTEXT_IMAGES=5000 cargo test --workspace --lib images` is the long form.

use std::{collections::BTreeMap, fs};

use super::recording::{
    DATABASE, FILES, Image, LOG, MARK, Outcome, Recording, Rng, images_wanted, print, scratch,
};

const PAGE: usize = 4096;
const FRAME: usize = PAGE + 24;
const LOG_HEAD: usize = 32;
const SECTOR: usize = 512;

/// The number of accepted and rejected images of each kind.
#[derive(Debug, Default)]
struct Figures(BTreeMap<&'static str, [usize; 2]>);

impl Figures {
    fn count(&mut self, kind: &'static str, outcome: &Outcome) {
        let [whole, rejected] = self.0.entry(kind).or_default();
        match outcome {
            Outcome::Whole(_) => *whole += 1,
            Outcome::Rejected(_) => *rejected += 1,
        }
    }

    fn print(&self) {
        for (kind, [whole, rejected]) in &self.0 {
            let tried = whole + rejected;
            print(&format!("{kind}: {tried} images, {whole} whole, {rejected} refused, 0 lost"));
        }
    }
}

/// Records a run and returns it as a killed server leaves it: its log holds commits that
/// the database lacks.
fn killed() -> Recording {
    Recording::play(7, 60)
}

/// Returns where to cut a file: at the boundary of each part, one byte beside, and at
/// random.
fn cuts(length: usize, head: usize, part: usize, rng: &mut Rng) -> Vec<usize> {
    let ends = (0..).map(|nth| head + nth * part).take_while(|it| *it < length);
    let mut cuts: Vec<_> = ends.flat_map(|it| [it.saturating_sub(1), it, it + 1]).collect();
    cuts.extend((0..20).map(|_| rng.below(length)));
    cuts.retain(|it| *it < length);
    cuts
}

/// Returns the length of the used part of a log. The rest is from before the log was
/// restarted; its length depends on how commits were grouped into transactions.
fn in_use(log: &[u8]) -> usize {
    let (head, frames) = log.split_at(LOG_HEAD);
    // Two random numbers, drawn anew at each restart.
    let is_of_now = |frame: &&[u8]| frame[8..16] == head[16..24];
    LOG_HEAD + FRAME * frames.chunks_exact(FRAME).take_while(is_of_now).count()
}

#[test]
fn a_cut_file_is_completed_or_rejected() {
    let (recording, mut rng, mut figures) = (killed(), Rng(1), Figures::default());
    let (image, last) = (&recording.last().image, recording.last().commits);
    assert_eq!(recording.check(image, last, "nothing"), Outcome::Whole(last));
    for (file, head, part, kind) in [
        (DATABASE, 0, PAGE, "database cut"),
        (LOG, LOG_HEAD, FRAME, "log cut"),
        (MARK, 0, SECTOR, "mark cut"),
    ] {
        for bytes in cuts(image.bytes(file).len(), head, part, &mut rng) {
            let cut = image.changed(file, |it| it.truncate(bytes));
            let what = format!("{file} cut to {bytes} bytes");
            let outcome = recording.check(&cut, last, &what);
            figures.count(kind, &outcome);
            if file == LOG && bytes < in_use(image.bytes(LOG)) {
                assert!(matches!(outcome, Outcome::Rejected(_)), "{what}");
            }
        }
    }
    figures.print();
}

#[test]
fn a_missing_file_is_rejected() {
    let recording = killed();
    let (image, last) = (&recording.last().image, recording.last().commits);
    for file in FILES {
        let without = image.with(file, &Image::default());
        let outcome = recording.check(&without, last, file);
        let Outcome::Rejected(message) = outcome else { panic!("{file}: {outcome:?}") };
        assert!(message.contains(if file == LOG { "lacks the last" } else { "gone" }), "{message}");
    }
}

#[test]
fn an_altered_bit_is_harmless_or_rejected() {
    let (recording, mut rng, mut figures) = (killed(), Rng(2), Figures::default());
    let (image, last) = (&recording.last().image, recording.last().commits);
    // As a stopped server leaves it: the database holds everything.
    let stopped = {
        let folder = scratch();
        image.write(folder.path());
        assert_eq!(recording.check_folder(folder.path(), last, "nothing"), Outcome::Whole(last));
        Image::of(folder.path())
    };
    assert_eq!(stopped.bytes(LOG), [0; 0]);
    let mut flip = |image: &Image, file, bit: usize, kind| {
        let flipped = image.changed(file, |it| it[bit / 8] ^= 1 << (bit % 8));
        let outcome = recording.check(&flipped, last, &format!("bit {bit} of {file}"));
        figures.count(kind, &outcome);
        outcome
    };
    for bit in 0..40 * 8 {
        for slot in [0, 4096 * 8] {
            flip(image, MARK, slot + bit, "bits of the mark");
        }
    }
    for bit in (0..LOG_HEAD * 8).step_by(3) {
        flip(image, LOG, bit, "bits of the log's head");
    }
    for bit in (0..100 * 8).step_by(3) {
        flip(&stopped, DATABASE, bit, "bits of the database's head");
    }
    let mut rejected = 0;
    for _ in 0..images_wanted() {
        let bit = rng.below(image.bytes(LOG).len() * 8);
        flip(image, LOG, bit, "bits of the log");
        let bit = rng.below(stopped.bytes(DATABASE).len() * 8);
        let outcome = flip(&stopped, DATABASE, bit, "bits of the database");
        rejected += usize::from(matches!(outcome, Outcome::Rejected(_)));
    }
    assert!(rejected > images_wanted() / 4, "most of the database is in use: {rejected}");
    figures.print();
}

/// Writes that were lost or went to another place: a sector holds zeros, garbage, or its
/// content of some commits ago.
#[test]
fn an_altered_sector_is_harmless_or_rejected() {
    let (recording, mut rng, mut figures) = (killed(), Rng(3), Figures::default());
    let (image, last) = (&recording.last().image, recording.last().commits);
    for _ in 0..images_wanted() {
        let file = FILES[rng.below(3)];
        let before = &recording.moments[rng.below(recording.moments.len())].image;
        let at = rng.below(image.bytes(file).len() / SECTOR) * SECTOR;
        let sectors = 1 + rng.below(9);
        let (kind, fill) = match rng.below(3) {
            0 => ("sectors of zeros", vec![0; sectors * SECTOR]),
            1 => ("sectors of garbage", vec![0xa5; sectors * SECTOR]),
            _ => {
                let old = before.bytes(file).get(at..).unwrap_or_default();
                ("sectors of before", old.iter().copied().take(sectors * SECTOR).collect())
            }
        };
        let altered = image.changed(file, |it| {
            it[at..].iter_mut().zip(fill).for_each(|(to, from)| *to = from);
        });
        let what = format!("{kind}: {sectors} of {file} at {at}");
        figures.count(kind, &recording.check(&altered, last, &what));
    }
    figures.print();
}

/// A backup taken file by file while the server ran, or a restored log or database. The
/// image holds every commit that its mark records, or is rejected.
#[test]
fn files_of_different_moments_are_whole_or_rejected() {
    let (recording, mut rng, mut figures) = (killed(), Rng(4), Figures::default());
    let moments = &recording.moments;
    for nth in 0..images_wanted() {
        let last = moments.len() - 1;
        let mut moment = || if rng.below(3) == 0 { last } else { rng.below(last) };
        let [database, log, mark] = [moment(), moment(), moment()];
        let (log, mark, kind) = match nth % 4 {
            0 => (log, database, "an older or newer log"),
            1 => (database, mark, "an older or newer mark"),
            2 => (mark, mark, "an older or newer database"),
            _ => (log, mark, "three moments"),
        };
        let image =
            moments[database].image.with(LOG, &moments[log].image).with(MARK, &moments[mark].image);
        let what = format!("database of {database}, log of {log}, mark of {mark}");
        figures.count(kind, &recording.check(&image, moments[mark].commits, &what));
    }
    figures.print();
}

#[test]
fn files_of_another_server_are_rejected() {
    let (recording, other) = (killed(), Recording::play(8, 60));
    let (image, last) = (&recording.last().image, recording.last().commits);
    for file in FILES {
        let swapped = image.with(file, &other.last().image);
        let outcome = recording.check(&swapped, last, file);
        assert!(matches!(outcome, Outcome::Rejected(_)), "{file}: {outcome:?}");
    }
    let fresh = &Recording::play(9, 0).last().image.clone();
    let outcome = recording.check(&image.with(MARK, fresh), last, "a new mark");
    assert!(matches!(outcome, Outcome::Rejected(_)), "{outcome:?}");
}

#[test]
fn a_shared_memory_file_of_garbage_is_harmless() {
    let recording = killed();
    let (image, last) = (&recording.last().image, recording.last().commits);
    let mut rng = Rng(5);
    for length in [0, 1, 100, 32 << 10, 100_000] {
        let folder = scratch();
        image.write(folder.path());
        let garbage: Vec<u8> = (0..length).map(|_| rng.next_u64().to_le_bytes()[0]).collect();
        fs::write(folder.path().join("shared-context.db-shm"), garbage).unwrap();
        let outcome = recording.check_folder(folder.path(), last, "garbage");
        assert_eq!(outcome, Outcome::Whole(last));
    }
}
