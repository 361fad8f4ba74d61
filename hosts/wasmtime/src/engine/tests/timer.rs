//! The timer over a real disk, with a clock that the tests set.

use super::*;

const MINUTE: u64 = 60_000;

impl Bench {
    fn at(clock: &Arc<SetClock>, now: u64) -> Self {
        clock.0.store(now, Ordering::SeqCst);
        Self::new(&SqliteOptions::default(), clock.clone())
    }

    /// Stops the engine and returns another one over the same folder.
    async fn restarted(self, clock: &Arc<SetClock>) -> Self {
        self.engine.close().await;
        let Self { records, folder, .. } = self;
        let kv = SqliteKv::open(folder.path(), &SqliteOptions::default()).unwrap();
        let component = Component::new(&ComponentOptions::of_tests()).unwrap();
        let engine = Engine::new(component, kv.clone(), clock.clone(), records.clone());
        Self { engine, kv, records, folder }
    }

    /// Writes an entry that expires after `seconds`.
    async fn write_short(&self, session: &str, key: &str, seconds: u64) {
        let write =
            format!(r#"{{"action":"write","key":"{key}","value":"x","ttl_seconds":{seconds}}}"#);
        self.ask(session, &write).await.unwrap();
    }

    fn due(&self, now: u64) -> Vec<String> {
        let first = self.kv.first_expiries(9).unwrap().into_iter();
        first.filter(|it| it.at <= Timestamp(now)).map(|it| it.name).collect()
    }

    /// Runs the timer until the session `s` has this revision.
    async fn keep_time_until(&self, revision: u64) {
        let reached = async {
            while self.kv.open("session/s").unwrap().revision().0 < revision {
                sleep(Duration::from_millis(2)).await;
            }
        };
        tokio::select! {
            () = self.engine.keep_time() => {}
            () = reached => {}
        }
    }
}

/// Every start opened each session, to know when something expires in it: 5 minutes for a million.
#[tokio::test(flavor = "multi_thread")]
async fn after_a_restart_only_sessions_that_are_due_are_opened() {
    let clock = Arc::new(SetClock::default());
    let bench = Bench::at(&clock, MINUTE);
    for session in ["s", "t", "u"] {
        bench.create(session).await.unwrap();
        bench.write(session, "scope", "x").await.unwrap();
    }
    bench.write_short("s", "short", 60).await;
    bench.write_short("t", "long", 3_600).await;
    let bench = bench.restarted(&clock).await;
    assert_eq!(bench.due(2 * MINUTE - 1), [""; 0]);
    assert_eq!(bench.due(2 * MINUTE), ["session/s"]);
    assert_eq!(bench.due(u64::MAX), ["session/s", "session/t"]);
    clock.0.store(2 * MINUTE, Ordering::SeqCst);
    bench.keep_time_until(4).await;
    assert_eq!(bench.due(u64::MAX), ["session/t"]);
    assert_eq!(bench.kv.open("session/t").unwrap().revision().0, 3);
}

#[tokio::test(flavor = "multi_thread")]
async fn the_timer_is_woken_for_what_expires_earlier() {
    let clock = Arc::new(SetClock::default());
    let bench = Bench::at(&clock, MINUTE);
    bench.create("s").await.unwrap();
    let change = async {
        // The timer waits already, and for nothing.
        sleep(Duration::from_millis(20)).await;
        bench.write_short("s", "long", 3_600).await;
        sleep(Duration::from_millis(20)).await;
        bench.write_short("s", "short", 1).await;
        clock.0.store(MINUTE + 1_000, Ordering::SeqCst);
    };
    let removed = timeout(Duration::from_secs(20), bench.keep_time_until(4));
    let ((), removed) = tokio::join!(change, removed);
    removed.unwrap();
    let first = bench.kv.first_expiries(1).unwrap();
    assert_eq!(first[0].at, Timestamp(MINUTE + 3_600_000));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_session_in_which_nothing_expires_any_more_is_not_due() {
    let clock = Arc::new(SetClock::default());
    let bench = Bench::at(&clock, MINUTE);
    bench.create("s").await.unwrap();
    bench.write_short("s", "short", 60).await;
    bench.ask("s", r#"{"action":"delete","key":"short"}"#).await.unwrap();
    // The instant that is stored may be too early, which costs one look.
    clock.0.store(2 * MINUTE, Ordering::SeqCst);
    let revision = bench.kv.open("session/s").unwrap().revision();
    bench.engine.clean_up("session/s").await.unwrap();
    assert_eq!(bench.due(u64::MAX), [""; 0]);
    assert_eq!(bench.kv.open("session/s").unwrap().revision(), revision);
    // Nor is one that was deleted, or whose entries are all kept.
    bench.write_short("s", "short", 60).await;
    let delete = br#"{"action":"delete_session"}"#;
    bench.engine.invoke("session/s", &Caller::trusted("admin"), delete).await.unwrap();
    assert_eq!(bench.due(u64::MAX), [""; 0]);
    bench.engine.clean_up("session/s").await.unwrap();
    bench.engine.clean_up("session/never").await.unwrap();
    assert_eq!(bench.due(u64::MAX), [""; 0]);
}

/// A disk that takes no writes must not keep the timer busy, nor let it forget.
#[tokio::test(flavor = "multi_thread")]
async fn what_could_not_be_removed_stays_due() {
    let clock = Arc::new(SetClock::default());
    let bench = Bench::at(&clock, MINUTE);
    bench.create("s").await.unwrap();
    bench.write_short("s", "short", 60).await;
    clock.0.store(2 * MINUTE, Ordering::SeqCst);
    let path = bench.folder.path().join("shared-context.db");
    let aside = bench.folder.path().join("aside");
    std::fs::rename(&path, &aside).unwrap();
    bench.engine.clean_up("session/s").await.unwrap_err();
    std::fs::rename(&aside, &path).unwrap();
    assert_eq!(bench.due(2 * MINUTE), ["session/s"]);
    bench.keep_time_until(3).await;
    assert_eq!(bench.due(u64::MAX), [""; 0]);
}
