//! Images of a data folder after a crash of the process or the machine: any part of the
//! data written since the last sync may be there. Each image opens with everything
//! acknowledged; a crash is not damage.
//!
//! That `SQLite` really syncs is not tested here. The images are made from the files before
//! and after each commit and each checkpoint of the log.

use rusqlite::Connection;

use super::recording::{
    DATABASE, Image, LOG, MARK, Moment, Outcome, Recording, Rng, images_wanted, print, scratch,
};

const SECTOR: usize = 512;
const LOG_HEAD: usize = 32;

/// Returns `before` with some of the sectors in which `after` differs.
fn torn(before: &[u8], after: &[u8], rng: &mut Rng) -> Vec<u8> {
    // Often all but one, often only one: independent coin flips would make both rare.
    let odds = 1 + rng.below(9);
    let mut torn = before.to_vec();
    torn.resize(before.len().max(after.len()), 0);
    let mut end = before.len();
    for at in (0..after.len()).step_by(SECTOR) {
        let sector = &after[at..after.len().min(at + SECTOR)];
        let is_new = before.get(at..at + sector.len()) != Some(sector);
        if is_new && rng.below(9) < odds {
            torn[at..at + sector.len()].copy_from_slice(sector);
            end = end.max(at + sector.len());
        }
    }
    torn.truncate(end);
    torn
}

/// The power fails while a commit is written to the log. The mark may be old, because it is
/// not synced.
#[test]
fn power_loss_during_a_commit_loses_only_that_one() {
    let recording = Recording::play(11, 90);
    let mut rng = Rng(6);
    let mut counts = [0, 0];
    for nth in 0..images_wanted() {
        let before = nth % (recording.moments.len() - 1);
        let [old, new] = &recording.moments[before..before + 2] else { unreachable!() };
        // The header of a restarted log reaches the disk before the frames: `SQLite` syncs
        // between the two.
        let mut log = old.image.bytes(LOG).to_vec();
        let head = new.image.bytes(LOG).iter().take(LOG_HEAD);
        log.iter_mut().zip(head).for_each(|(old, new)| *old = *new);
        let log = torn(&log, new.image.bytes(LOG), &mut rng);
        let mut image = old.image.clone();
        if !log.is_empty() {
            image.0.insert(LOG, log);
        }
        let mark = before - rng.below(3).min(before);
        let image = image.with(MARK, &recording.moments[mark].image);
        let what = format!("after {} commits, mark of moment {mark}", old.commits);
        match recording.check(&image, old.commits, &what) {
            Outcome::Whole(it) if it < new.commits => counts[0] += 1,
            Outcome::Whole(it) if it == new.commits => counts[1] += 1,
            other => panic!("{what}: {other:?}"),
        }
    }
    let [without, with] = counts;
    assert!(without > 0 && with > 0, "{counts:?}");
    print(&format!("torn commits: {without} opened without it, {with} with it, 0 refused, 0 lost"));
}

/// The process is killed, or the power fails, between a commit's sync and its mark, or
/// while the mark is written.
#[test]
fn an_old_or_torn_mark_does_not_prevent_a_start() {
    let recording = Recording::play(12, 40);
    let mut rng = Rng(7);
    for nth in 0..images_wanted() {
        let before = nth % (recording.moments.len() - 1);
        let [old, new] = &recording.moments[before..before + 2] else { unreachable!() };
        let mark = torn(old.image.bytes(MARK), new.image.bytes(MARK), &mut rng);
        let mut image = new.image.clone();
        image.0.insert(MARK, mark);
        let outcome = recording.check(&image, new.commits, "between commit and mark");
        assert_eq!(outcome, Outcome::Whole(new.commits));
    }
}

/// The power fails while the log is copied into the database: the log still holds
/// everything.
#[test]
fn power_loss_during_a_checkpoint_loses_nothing() {
    let recording = Recording::play(13, 90);
    let mut rng = Rng(8);
    for nth in 0..images_wanted() {
        let Moment { image, commits } = &recording.moments[nth % recording.moments.len()];
        let folder = scratch();
        image.write(folder.path());
        let database = Connection::open(folder.path().join(DATABASE)).unwrap();
        let copied = "PRAGMA wal_checkpoint(PASSIVE)";
        database.query_row(copied, [], |row| row.get::<_, i64>(0)).unwrap();
        let after = Image::of(folder.path());
        drop(database);
        let mut torn_image = image.clone();
        let bytes = torn(image.bytes(DATABASE), after.bytes(DATABASE), &mut rng);
        torn_image.0.insert(DATABASE, bytes);
        let outcome = recording.check(&torn_image, *commits, "while the log is copied");
        assert_eq!(outcome, Outcome::Whole(*commits));
    }
}
