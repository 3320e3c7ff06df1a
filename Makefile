# The same targets serve developers and CI; the work is done in dev/, xtask/ and .ci/.
FLAVOUR ?= mysql
ARGS ?=

.PHONY: help demo run test test-long storm test-drivers test-suites test-monitoring test-page test-packaging test-balancers test-router test-topologies test-black-hole test-docs docs torture torture-failover mutants fuzz bench incident deb check clean

help: ## this list
	@echo 'usage: make TARGET [FLAVOUR=mysql|mariadb] [ARGS=...]'
	@sed -n 's/^\([a-z-]*\):.*## \(.*\)/  \1	\2/p' Makefile

demo: ## show what Lockstead does, in less than a minute, against a private FLAVOUR server
	@dev/demo.sh $(FLAVOUR)

run: ## a private FLAVOUR server and a proxy to try, until Ctrl-C
	@dev/run.sh $(FLAVOUR)

test: ## all tests, against private MySQL and MariaDB servers; ARGS go to the test runner
	@dev/test.sh $(ARGS)

test-long: ## every script over TLS and compressed and as each client library, those on pooling in every pass; the tests of random texts, packets and kills, six to ten times as many as in `make test`
	@LOCKSTEAD_DIFF_EVERY=1 dev/test.sh over_ differential::pooling::
	@LOCKSTEAD_CLIENT=all dev/test.sh differential::mysql differential::mariadb differential::pooling::
	@LOCKSTEAD_LEXER_COUNT=20000 LOCKSTEAD_GENERATED_COUNT=1500 LOCKSTEAD_HOSTILE_COUNT=4000 LOCKSTEAD_STORM_SECONDS=60 dev/test.sh lexer:: generated:: hostile:: pooling::storm::

storm: ## random changes of state of sessions that share connections, each beside a twin at the server; ARGS=[SECONDS]
	@LOCKSTEAD_STORM_SECONDS=$(or $(ARGS),600) dev/test.sh state_storm

test-drivers: ## client libraries of ten languages, at the servers and through the proxy; ARGS go to cargo xtask drivers
	@cargo xtask drivers $(ARGS)

test-suites: ## large suites of others, at the servers and through the proxy; ARGS are patterns of cases
	@dev/test-suites.sh $(ARGS)

test-monitoring: ## metrics, dashboards and alerts, by a real Prometheus, with a FLAVOUR server
	@dev/test-monitoring.sh $(FLAVOUR)

test-page: ## the status page in a real Chromium, with a FLAVOUR server; ARGS=pictures writes those of docs/page again
	@dev/test-page.sh $(FLAVOUR) $(ARGS)

test-packaging: ## unit, Debian package, both under systemd, image, compose.yml, Kubernetes; ARGS=[unit] [deb] [systemd] [image] [compose] [kubernetes]
	@dev/test-packaging.sh $(ARGS)

test-balancers: ## HAProxy and keepalived before two proxies; ARGS=[haproxy] [keepalived] [address]
	@dev/test-balancers.sh $(ARGS)

test-topologies: ## replicas, Group Replication and Galera on this machine, through switches, crashes and cuts; then before them a proxy; ARGS=[--quick] [NAME]...
	@dev/test-topology.sh $(ARGS)
	@dev/test-writer.sh $(ARGS)
	@dev/test-failover.sh $(ARGS)

test-router: ## Lockstead in front of MySQL Router, which lends connections to sessions in turn
	@dev/test-router.sh

docs: ## the documentation as a site with a search, into target/docs/book
	@dev/docs.sh

test-black-hole: ## sessions in each errand, fifty at once, while a network drops their packets; as root
	@LOCKSTEAD_TEST_ARGS='--test it' dev/test.sh --ignored black_hole

test-docs: ## every command in README.md and docs/, against a private server and a proxy; ARGS=[mysql] [mariadb]
	@cargo xtask docs $(ARGS)

torture: ## random faults against private servers for minutes; ARGS=[SECONDS [SEED]]
	@dev/torture.sh $(ARGS)

torture-failover: ## a primary that dies again and again, with a lost tail: no lock may have two holders; ARGS=[--alone] [--mutant RULE] [mysql] [mariadb] [FAILOVERS]
	@dev/torture-failover.sh $(ARGS)

mutants: ## leave rules of the lock engine out, one at a time: a checker must notice
	@dev/mutants.sh $(ARGS)

fuzz: ## random bytes for lexer and decoders, with a nightly toolchain; ARGS=[SECONDS [TARGET]]
	@dev/fuzz.sh $(ARGS)

bench: ## benchmarks against private servers; ARGS go to cargo xtask bench
	@cargo xtask bench $(ARGS)

incident: ## play an incident before a FLAVOUR server, and write docs/incident.md of it
	@dev/incident.sh $(FLAVOUR)

deb: ## Debian's package, with manual pages and completions; ARGS go to cargo deb
	@dev/deb.sh $(ARGS)

check: ## formatting, lints, licences, duplicate crates, scripts
	@dev/check.sh

clean: ## remove what was built, but not the fetched servers
	cargo clean
