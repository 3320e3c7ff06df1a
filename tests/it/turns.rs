//! Locks that several proxies want: who is told, and whose turn it is.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use crate::proxy::Proxy;
use crate::script::Server;
use crate::session::Session;
use crate::stage::{eventually, join, on_both};

on_both! {
    a_released_lock_is_announced_to_the_proxy_that_waits
    a_lost_announcement_costs_a_poll
    a_lock_goes_round_after_a_bounded_number_of_hand_overs
    no_proxy_starves
    a_place_is_given_up_with_the_wait
    a_try_does_not_overtake_those_who_wait
}

/// Hand-overs inside a proxy that may pass a waiting one by, as documented.
const PASSES: usize = 16;

/// Until the lock's row names this proxy, or another, as the next.
fn until_placed(server: &Server, schema: &str) {
    eventually("the row names a proxy", || {
        let wants = server.root().column(&format!("SELECT want FROM {schema}.locks"));
        (wants.concat() != "0").then_some(())
    });
}

fn rung(proxy: &Proxy) -> f64 {
    proxy.metric("lockstead_rings_total{result=\"rung\"}")
}

fn a_released_lock_is_announced_to_the_proxy_that_waits(server: &Server) {
    let a = Proxy::start(&server.url, &[]);
    let b = join(server, &a, &[]);
    let mut holder = Session::at(a.port);
    let mut waiter = Session::at(b.port);
    for round in 1..=5 {
        holder.lock("k");
        waiter.ask_for("k");
        until_placed(server, &a.schema);
        let bell = format!("SELECT COUNT(*) FROM {}.proxies WHERE doorbell<>0", a.schema);
        eventually("its bell hangs", || (server.root().column(&bell) == ["1"]).then_some(()));
        holder.unlock("k");
        waiter.gets_it();
        waiter.unlock("k");
        eventually("it was rung", || (rung(&a) >= f64::from(round)).then_some(()));
    }
}

fn a_lost_announcement_costs_a_poll(server: &Server) {
    let a = Proxy::start(&server.url, &[]);
    let b = join(server, &a, &[]);
    let mut holder = Session::at(a.port);
    let mut waiter = Session::at(b.port);
    holder.lock("k");
    waiter.ask_for("k");
    until_placed(server, &a.schema);
    // Nobody can be rung who has no bell.
    let schema = &a.schema;
    let mut root = server.root();
    for id in root.column(&format!("SELECT doorbell FROM {schema}.proxies WHERE doorbell<>0")) {
        root.run(&format!("KILL {id}"));
    }
    root.run(&format!("UPDATE {schema}.proxies SET doorbell=0"));
    holder.unlock("k");
    waiter.gets_it();
}

/// Clients of a proxy that take one lock and let it go, again and again.
struct Crowd {
    turns: Arc<AtomicUsize>,
    end: Arc<AtomicBool>,
    threads: Vec<std::thread::JoinHandle<()>>,
}

impl Crowd {
    fn at(proxy: &Proxy, clients: usize) -> Self {
        let (turns, end) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicBool::new(false)));
        let work = |mut session: Session, turns: Arc<AtomicUsize>, end: Arc<AtomicBool>| {
            move || {
                while !end.load(Ordering::SeqCst) {
                    session.ask_for("k");
                    session.gets_it();
                    turns.fetch_add(1, Ordering::SeqCst);
                    session.unlock("k");
                }
            }
        };
        let threads = (0..clients)
            .map(|_| {
                let session = Session::at(proxy.port);
                std::thread::spawn(work(session, Arc::clone(&turns), Arc::clone(&end)))
            })
            .collect();
        Self { turns, end, threads }
    }

    fn turns(&self) -> usize {
        self.turns.load(Ordering::SeqCst)
    }

    fn stop(self) -> usize {
        self.end.store(true, Ordering::SeqCst);
        for thread in self.threads {
            thread.join().expect("a client's thread");
        }
        self.turns.load(Ordering::SeqCst)
    }
}

fn a_lock_goes_round_after_a_bounded_number_of_hand_overs(server: &Server) {
    let a = Proxy::start(&server.url, &[]);
    let b = join(server, &a, &[]);
    let crowd = Crowd::at(&a, 4);
    let mut waiter = Session::at(b.port);
    for round in 0..10 {
        waiter.ask_for("k");
        let mut before = crowd.turns();
        eventually("the row names the other proxy", || {
            let now = crowd.turns();
            let row = format!(
                "SELECT want<>0 OR holder=(SELECT id FROM {0}.proxies WHERE addr LIKE '%:{1}') FROM {0}.locks",
                a.schema, b.port
            );
            let placed = server.root().column(&row).concat() == "1";
            if !placed {
                before = now;
            }
            placed.then_some(())
        });
        waiter.gets_it();
        let passed = crowd.turns() - before;
        // Beside the bound: one that was granted when the place was taken, and those of the time
        // that one look took.
        assert!(passed <= 3 * PASSES, "round {round}: passed by {passed} times");
        waiter.unlock("k");
    }
    crowd.stop();
    assert!(a.metric("lockstead_yields_total") >= 1.0);
}

fn no_proxy_starves(server: &Server) {
    let a = Proxy::start(&server.url, &[]);
    let proxies = [join(server, &a, &[]), join(server, &a, &[]), a];
    let crowds: Vec<Crowd> = proxies.iter().map(|p| Crowd::at(p, 3)).collect();
    eventually("every proxy has had its turns", || {
        crowds.iter().all(|c| c.turns() >= 100).then_some(())
    });
    let turns: Vec<usize> = crowds.into_iter().map(Crowd::stop).collect();
    println!("turns {turns:?}");
    let (least, most) = (turns.iter().min().expect("some"), turns.iter().max().expect("some"));
    assert!(least * 4 >= *most, "shares are unequal: {turns:?}");
}

fn a_place_is_given_up_with_the_wait(server: &Server) {
    let a = Proxy::start(&server.url, &[]);
    let b = join(server, &a, &[]);
    let mut holder = Session::at(a.port);
    holder.lock("k");
    let mut waiter = Session::at(b.port);
    waiter.send("SELECT GET_LOCK('k',60)");
    until_placed(server, &a.schema);
    drop(waiter);
    eventually("the place is empty", || {
        let wants = server.root().column(&format!("SELECT want FROM {}.locks", a.schema));
        (wants.concat() == "0").then_some(())
    });
    holder.unlock("k");
    assert_eq!(holder.value("SELECT GET_LOCK('k',0)").as_deref(), Some("1"));
}

/// How long a free row is left to the proxy that waits (`engine::service::looks`).
const LEFT: Duration = Duration::from_millis(100);

fn a_try_does_not_overtake_those_who_wait(server: &Server) {
    let a = Proxy::start(&server.url, &[]);
    let b = join(server, &a, &[]);
    let c = join(server, &a, &[]);
    let mut holder = Session::at(a.port);
    let mut waiter = Session::at(b.port);
    let mut barger = Session::at(c.port);
    for _ in 0..20 {
        holder.lock("k");
        waiter.ask_for("k");
        until_placed(server, &a.schema);
        holder.send("SELECT RELEASE_LOCK('k')");
        let began = Instant::now();
        let tried = barger.value("SELECT GET_LOCK('k',0)");
        holder.reply();
        // On a busy machine who waits may not come for it in the time for which it is left to them.
        if tried.as_deref() == Some("1") {
            assert!(began.elapsed() >= LEFT, "taken within {:?}", began.elapsed());
            barger.unlock("k");
        }
        waiter.gets_it();
        waiter.unlock("k");
    }
}
