//! Daily maintenance by the engine's clock.

use std::sync::atomic::AtomicU64;

use serde_json::{Value, json};

use super::*;

const DAY_MS: u64 = 86_400_000;

/// A clock that a test sets.
#[derive(Default)]
struct SetClock(AtomicU64);

impl Clock for SetClock {
    fn now(&self) -> Timestamp {
        Timestamp(self.0.load(Ordering::SeqCst))
    }
}

impl SetClock {
    fn set(&self, at: u64) {
        self.0.store(at, Ordering::SeqCst);
    }
}

fn bench() -> (Bench, Arc<SetClock>) {
    let clock = Arc::new(SetClock::default());
    clock.set(1_000 * DAY_MS);
    (Bench::new(&SqliteOptions::default(), clock.clone()), clock)
}

async fn call(bench: &Bench, project: &str, request: &Value) -> Value {
    let scope = ScopeKind::Project.bucket_name(project);
    let (caller, request) = (Caller::trusted("admin"), request.to_string());
    let reply = bench.engine.invoke(&scope, &caller, request.as_bytes()).await.unwrap();
    serde_json::from_slice(&reply.body).unwrap()
}

/// Adds `count` memories that expire after an hour.
async fn add(bench: &Bench, project: &str, count: usize) {
    let now = bench.engine.now();
    let expires_at = Timestamp(now.0 + 3_600_000).to_string();
    let memory = |nth: usize| {
        json!({
            "memory_type": "learning", "title": format!("Lesson {nth}"), "expires_at": expires_at,
            "content": {"lesson": format!("insight{nth}")},
        })
    };
    let all: Vec<Value> = (0..count).map(memory).collect();
    for some in all.chunks(100) {
        call(bench, project, &json!({"action": "add_memories", "memories": some})).await;
    }
}

/// Returns how many memories the project stores, expired or not.
async fn memories(bench: &Bench, project: &str) -> u64 {
    let shown = call(bench, project, &json!({"action": "show_project"})).await;
    shown["memory_count"].as_u64().unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_pass_maintains_every_project_to_the_end() {
    let (bench, clock) = bench();
    // More projects than are listed at once, one with more to do than a run does.
    for nth in 0..40 {
        let project = format!("p{nth:02}");
        call(&bench, &project, &json!({"action": "create_project"})).await;
        add(&bench, &project, if nth == 7 { 1_100 } else { 1 }).await;
    }
    call(&bench, "p08", &json!({"action": "archive_project"})).await;
    clock.set(1_001 * DAY_MS);
    bench.engine.maintain_all().await.unwrap();
    for nth in 0..40 {
        let left = memories(&bench, &format!("p{nth:02}")).await;
        assert_eq!(left, u64::from(nth == 8), "project {nth}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn projects_are_maintained_at_the_start_and_each_day() {
    let (bench, clock) = bench();
    call(&bench, "shop", &json!({"action": "create_project"})).await;
    let scope = "project/shop";
    let engine = bench.engine.clone();
    let mut daily = None;
    for day in [1_009, 1_010] {
        add(&bench, "shop", 3).await;
        let seen = bench.engine.position(scope).await;
        clock.set(day * DAY_MS);
        // The first pass does what became due while no server ran.
        daily.get_or_insert_with(|| {
            let engine = engine.clone();
            tokio::spawn(async move { engine.maintain_daily().await })
        });
        let woken = bench.engine.wait_for_change(scope, seen, SOON).await;
        assert_eq!(woken, Woken::Changed, "day {day}");
        assert_eq!(memories(&bench, "shop").await, 0, "day {day}");
    }
    daily.unwrap().abort();
}
