//! A proxy whose registration the next primary never got: its locks are kept, since the grace waits for no list of proxies
//! where such a list may lack one.

use super::failover::{Ground, POOLING, goes_on, lead, until_it_grants};
use super::ground::teach;
use crate::replicas::{detach, promote};
use crate::script::Server;
use crate::stage::{eventually, on_both};

on_both! {
    a_lock_of_a_proxy_that_the_next_primary_never_got_is_kept
}

fn a_lock_of_a_proxy_that_the_next_primary_never_got_is_kept(server: &Server) {
    lose_a_registration(&mut Ground::pooling(server));
}

fn lose_a_registration(ground: &mut Ground) {
    ground.proxies.pop();
    eventually("the killed proxy is taken over", || {
        let live = "SELECT COUNT(*) FROM $.proxies WHERE state=1";
        let at = [&ground.first, &ground.second].map(|server| ground.number(server, live));
        (at == [1, 1]).then_some(())
    });
    ground.until_alike();
    detach(&ground.second.server);
    let late = ground.proxy(1, &POOLING);
    until_it_grants(&late);
    ground.first.server.root().run("FLUSH PRIVILEGES");
    teach(&late, &ground.account);
    ground.proxies.push(late);
    let (mut rival, mut holder) = (ground.session(0), ground.session(1));
    holder.lock("k");
    ground.first.kill();
    promote(&ground.second.server);
    // The holder's proxy comes later.
    lead(&ground.ways[0], &ground.second);
    eventually("the other one opens the next epoch", || {
        (ground.proxies[0].metric("lockstead_failovers_total") >= 1.0).then_some(())
    });
    // More than one renewal later it has seen all proxies that there are.
    let renewals = || ground.proxies[0].metric("lockstead_lease_renewal_seconds_count");
    for _ in 0..2 {
        let before = renewals();
        eventually("it renews its lease", || (renewals() > before).then_some(()));
        assert_eq!(rival.value("SELECT GET_LOCK('k', 0)").as_deref(), Some("0"), "two holders");
    }
    lead(&ground.ways[1], &ground.second);
    ground.until_over(1.0, &mut rival, "k");
    goes_on(&mut holder, "k", 1);
    holder.unlock("k");
    rival.lock("k");
}

#[cfg(feature = "mutants")]
mod left_out {
    use std::panic::{AssertUnwindSafe, catch_unwind};

    use super::super::failover::Ground;
    use super::lose_a_registration;
    use crate::script::Server;
    use crate::stage::on_both;

    on_both! {
        mutant_early_grace
    }

    fn mutant_early_grace(server: &Server) {
        let mut ground = Ground::pooling_without(Some("EarlyGrace"), server);
        let end = catch_unwind(AssertUnwindSafe(|| lose_a_registration(&mut ground)));
        assert!(end.is_err(), "nobody notices EarlyGrace");
    }
}
