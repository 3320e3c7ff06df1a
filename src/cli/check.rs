//! `lockstead check`

use std::process::ExitCode;

use super::print::print_line;
use super::{Settings, failed, runtime, usage};
use crate::app::{StartError, inspect, too_old};
use crate::backend::greeted::connect;
use crate::config::tls::Offer;
use crate::config::{Config, Mode};
use crate::frontend::hops::Hops;
use crate::private;

pub(super) fn run(settings: Settings) -> ExitCode {
    let one = settings.cluster.clone();
    let warning = settings.warning();
    let plan = match settings.plan().and_then(|plan| plan.only_cluster(one.as_deref())) {
        Ok(plan) => plan,
        Err(e) => return usage(&e),
    };
    print_line("configuration   ok");
    if let Some(warning) = warning {
        print_line(format_args!("warning: {warning}"));
    }
    let runtime = match runtime() {
        Ok(runtime) => runtime,
        Err(e) => return failed(&e),
    };
    runtime.block_on(async {
        let mut good = true;
        for cluster in plan.clusters {
            if let Some(name) = &cluster.name {
                print_line(format_args!("cluster         {name}"));
            }
            for config in &cluster.listeners {
                good &= certificates(config);
            }
            let creates = cluster.config().create_schema;
            let config = Config { create_schema: false, ..cluster.config().clone() };
            good &= check(config, creates).await;
        }
        if good { ExitCode::SUCCESS } else { ExitCode::FAILURE }
    })
}

/// Whether the files for TLS are good. What the proxy makes itself is not made here.
fn certificates(config: &Config) -> bool {
    let makes_one = config.tls.pair.is_none();
    let state_dir = config.state_dir.clone().filter(|_| !makes_one);
    match Hops::load(&Config { state_dir, ..config.clone() }) {
        Ok(_) if config.tls.offer == Offer::Off => print_line("TLS             off"),
        Ok(_) if makes_one => print_line("TLS             ok, with a certificate of its own"),
        Ok(_) => print_line("TLS             ok"),
        Err(e) => {
            print_line(format_args!("TLS             FAILED: {e}"));
            return false;
        }
    }
    true
}

/// `creates`: a start would make the lock tables, which a check does not.
async fn check(config: Config, creates: bool) -> bool {
    let mut good = true;
    match connect(&config.backend, config.connect_timeout, None).await {
        Ok(greeted) => {
            print_line(format_args!(
                "backend         ok: {} at {}",
                greeted.greeting.version, config.backend
            ));
            if let Some(warning) = too_old(&greeted).filter(|_| config.mode == Mode::Observe) {
                print_line(format_args!("warning: {warning}"));
            }
        }
        Err(e) => {
            good = false;
            print_line(format_args!("backend         FAILED: {}: {e}", config.backend));
        }
    }
    if config.mode == Mode::Observe {
        return observing(&config, good);
    }
    match inspect(&config).await {
        Ok(readiness) => {
            if let Some(store) = &config.store {
                print_line(format_args!("store           ok: {} at {store:?}", readiness.version));
                print_line(format_args!(
                    "lock schema     ok: `{}` belongs to this server ({}), epoch {}",
                    store.schema, readiness.meta.ident, readiness.meta.epoch
                ));
            }
            let state = |has| if has { "ok" } else { "MISSING" };
            print_line(format_args!(
                "see sessions    {}",
                state(readiness.rights.process && readiness.rights.performance_schema)
            ));
            print_line(format_args!("kill sessions   {}", state(readiness.rights.kill)));
            for warning in &readiness.warnings {
                print_line(format_args!("warning: {warning}"));
            }
        }
        Err(StartError::NoSchema { .. }) if creates => {
            print_line("lock schema     none: it is made at start (create_schema)");
        }
        Err(e) => {
            good = false;
            print_line(format_args!("store           FAILED: {e}"));
        }
    }
    match &config.state_dir {
        None => print_line("state directory none: a restart behind kill -9 waits for the lease"),
        // Not tried: it would be made, perhaps by another user than the one that serves.
        Some(path) => {
            print_line(format_args!("state directory {}", path.display()));
            if let Some(warning) = private::shared_folder(path) {
                print_line(format_args!("warning: {warning}"));
            }
        }
    }
    good
}

/// What there is to say of a proxy that only observes.
fn observing(config: &Config, good: bool) -> bool {
    print_line("mode            observe: lock calls stay the server's own, and are reported");
    let store = match config.store {
        Some(_) => "not looked at: `lockstead check --mode durable` does that",
        None => "none: durable locks need one",
    };
    print_line(format_args!("store           {store}"));
    if let Some(dir) = &config.state_dir {
        print_line(format_args!("report          in {}", dir.display()));
    }
    good
}
