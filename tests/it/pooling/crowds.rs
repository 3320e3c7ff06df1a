//! Many sessions over few connections.

use std::sync::Barrier;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use super::ground::Ground;
use crate::script::Server;
use crate::session::Session;
use crate::stage::{join, on_both};

on_both! {
    a_thousand_sessions_hold_locks_over_four_connections
    a_thousand_clients_are_served_alike_by_sixteen_connections
}

const CROWD: usize = 1000;
/// Threads that open sessions and speak with them, where one for each session is not needed.
const THREADS: usize = 8;

/// The account's sessions, a part for each thread.
fn crowd(ground: &Ground) -> Vec<Vec<Session>> {
    std::thread::scope(|scope| {
        let open = || (0..CROWD / THREADS).map(|_| ground.session()).collect();
        let parts: Vec<_> = (0..THREADS).map(|_| scope.spawn(open)).collect();
        parts.into_iter().map(|part| part.join().expect("sessions")).collect()
    })
}

/// Does something with each session, which has a number; a thread for each part.
fn each(parts: &mut [Vec<Session>], what: impl Fn(usize, &mut Session) + Sync) {
    std::thread::scope(|scope| {
        for (part, sessions) in parts.iter_mut().enumerate() {
            let what = &what;
            scope.spawn(move || {
                for (n, session) in sessions.iter_mut().enumerate() {
                    what(part * (CROWD / THREADS) + n, session);
                }
            });
        }
    });
}

fn at_most(ground: &Ground, most: usize) {
    let connections = ground.tenant.connections();
    assert!(connections.len() <= most, "{} connections: {connections:?}", connections.len());
}

fn a_thousand_sessions_hold_locks_over_four_connections(server: &Server) {
    let ground = Ground::new(server, 4, &["--idle-keep", "100ms", "--pool-wait", "60s"]);
    let mut sessions = crowd(&ground);
    each(&mut sessions, |n, session| session.lock(&format!("many {n}")));
    ground.until_all_have_left();
    at_most(&ground, 4);
    assert_eq!(ground.pins(), [""; 0]);
    let other = join(ground.server(), &ground.proxy, &[]);
    let ids: Vec<Option<String>> =
        sessions.iter().flatten().map(|session| Some(session.id().to_string())).collect();
    each(&mut sessions, |n, session| {
        let next = (n + 1) % CROWD;
        let holder = session.value(&format!("SELECT IS_USED_LOCK('many {next}')"));
        assert_eq!(holder, ids[next], "many {next}, asked by session {n}");
    });
    let mut at_other = Session::at(other.port);
    for (n, id) in ids.iter().enumerate() {
        assert_eq!(at_other.value(&format!("SELECT IS_USED_LOCK('many {n}')")), *id, "many {n}");
    }
    at_most(&ground, 4);
    assert_eq!(ground.pins(), [""; 0]);
    each(&mut sessions, |n, session| session.unlock(&format!("many {n}")));
    let left = format!("SELECT name FROM {}.held_locks", ground.proxy.schema);
    assert_eq!(ground.server().root().column(&left), [""; 0]);
}

/// What the clients of a crowd know of each other.
#[derive(Default)]
struct Fairness {
    /// Clients that have had an answer.
    served: AtomicUsize,
    over: AtomicBool,
}

/// Asks again and again until it is over; how often it was answered while all others asked, too. While some clients'
/// threads have not begun, the others wait for fewer.
fn ask(session: &mut Session, n: usize, fairness: &Fairness) -> u32 {
    let sql = format!("SELECT v FROM t WHERE id = {n}");
    let mut answer = || assert_eq!(session.value(&sql), Some(format!("{}", n * 2)));
    answer();
    fairness.served.fetch_add(1, Ordering::Relaxed);
    let mut count = 0;
    while !fairness.over.load(Ordering::Relaxed) {
        answer();
        count += u32::from(fairness.served.load(Ordering::Relaxed) == CROWD);
    }
    count
}

fn a_thousand_clients_are_served_alike_by_sixteen_connections(server: &Server) {
    let ground = Ground::new(server, 16, &["--pool-wait", "60s"]);
    ground.create_table("t (id INT PRIMARY KEY, v INT)");
    let rows: Vec<String> = (0..CROWD).map(|n| format!("({n},{})", n * 2)).collect();
    let table = ground.tenant.database.table("t");
    ground.server().root().run(&format!("INSERT INTO {table} VALUES {}", rows.join(",")));
    let sessions = crowd(&ground);
    ground.until_none_is_surplus();
    // All begin at once: the first would be served often while there are few.
    let (fairness, all) = (Fairness::default(), Barrier::new(CROWD + 1));
    let mut counts: Vec<u32> = std::thread::scope(|scope| {
        let (fairness, all) = (&fairness, &all);
        let sessions = sessions.into_iter().flatten().enumerate();
        let asking: Vec<_> = sessions
            .map(|(n, mut session)| {
                let thread = std::thread::Builder::new().stack_size(256 << 10);
                thread
                    .spawn_scoped(scope, move || {
                        all.wait();
                        ask(&mut session, n, fairness)
                    })
                    .expect("a thread")
            })
            .collect();
        all.wait();
        let mut end = None;
        let all_live = || asking.iter().all(|asking| !asking.is_finished());
        while all_live() && end.is_none_or(|end| Instant::now() < end) {
            at_most(&ground, 16);
            std::thread::park_timeout(Duration::from_millis(100));
            let all_ask = fairness.served.load(Ordering::Relaxed) == CROWD;
            end = end.or_else(|| all_ask.then(|| Instant::now() + Duration::from_secs(4)));
        }
        fairness.over.store(true, Ordering::Relaxed);
        asking.into_iter().map(|asking| asking.join().expect("all are answered")).collect()
    });
    counts.sort_unstable();
    let (least, middle, most) = (counts[0], counts[CROWD / 2], counts[CROWD - 1]);
    println!("statements of each of {CROWD} clients: {least} to {most}, median {middle}");
    assert!(most <= 2 * middle + 2, "{least}, {middle}, {most}: {counts:?}");
    assert!(ground.proxy.metric("lockstead_pool_timeouts_total") < 0.5);
}
