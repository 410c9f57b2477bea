# Multimed for MySQL: every task an operator or CI has. Settings: .env.example; a variable given to make wins.
SHELL := /bin/bash
.DEFAULT_GOAL := help
# Variables given on the command line reach the scripts through the environment.
export

.PHONY: help demo up stop down status doctor sql logs plan scale resize layout images engine user rotate import precheck adopt cutover compare verify test test-nightly check format test-gate test-cdc test-stack test-plain test-proxysql test-loadgen chaos soak deny fuzz fuzz-sessions prepare-tpcw bench-replication bench-gate bench-tpcw bench-changes clean

help: ## list the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  %-17s %s\n", $$1, $$2 }' $(firstword $(MAKEFILE_LIST))

demo: ## from nothing to reads on satellites: start, load, run sysbench, report, verify
	@loadgen/run-demo

up: ## start the stack (SATELLITES=n for more than two); installs and builds what is missing
	@bin/up

stop: ## stop the stack, keep its data
	@docker compose --profile '*' stop

down: ## remove the stack: containers, networks, ALL DATA, secrets; asks before (YES=1: does not ask)
	@bin/down

status: ## print the servers as the gate sees them, as a table (JSON=1: as JSON)
	@bin/status

doctor: ## say what is wrong, from the host to the data, what it means and how to mend it (JSON=1: as JSON)
	@bin/doctor

sql: ## mysql as root on the master, with SERVER=satellite-1 there, with NAME=app [DB=app] through the gate
	@bin/sql

logs: ## all logs as one, in the order of time: SERVER="gate capture" SINCE=10m FOLLOW=1
	@bin/logs

plan: ## print what make up would change and restart, and what that costs; changes nothing
	@bin/plan

scale: ## more or fewer satellites while the others serve: SATELLITES=n
	@bin/scale

resize: ## other cores and memory for a server, while it runs: SERVER=satellite-2 CPUS=4-7 MEMORY=8g
	@bin/resize

layout: ## print and write the layout of cores and satellites
	@mysql-satellite/layout

images: ## pull or build every image, and write the layout (then docker compose up -d works alone)
	@bin/engine up && bin/images && mysql-satellite/layout

engine: ## make sure of a Docker engine and Compose v2
	@bin/engine up

user: ## add or change an application user: NAME=app [DB=app] [PASSWORD_FILE=file]
	@mysql-master/user

rotate: ## new passwords for all of the stack's own accounts, while clients go on
	@bin/rotate

import: ## load a mysqldump file so that satellites get it: FILE=dump.sql [DB=name]
	@mysql-master/import

precheck: ## what keeps an existing MySQL from coming here: MYSQL=host:port [NAME=root] [PASSWORD_FILE=file]
	@mysql-master/precheck

adopt: ## load an existing MySQL: MYSQL=host:port [NAME=root] [FOLLOW=1]; STATUS=1; CANCEL=keep|drop
	@mysql-master/adopt/run adopt

cutover: ## end FOLLOW=1: our master takes the writes; BACK=host:port keeps a way back, RETURN=1 takes it
	@mysql-master/adopt/run cutover

compare: ## compare every table of every satellite with the master, row by row
	@mysql-satellite/compare master $$(docker compose ps --services | grep '^satellite-' | sort -V)

verify: ## prove on the running stack: every GTID once and in order, satellites its prefixes and identical
	@mysql-satellite/verify

test: ## run the tests: unit, property, integration, all but what takes long; prints one closing line
	@tests/run

test-nightly: ## run every test, also what make test leaves out for its time
	@tests/run nightly

check: ## run style, unit and property tests of all languages: no Docker, a few minutes
	@tests/run check

format: ## rewrite the sources in the layout that check asks for
	@tests/run format

test-gate: ## run the tests of gtid-gate, those on a stack too
	@tests/run gate

test-cdc: ## run the tests of cdc-applier, those on a stack too
	@tests/run cdc

test-stack: ## run what crosses components, on real stacks, faults included
	@tests/run stack

test-plain: ## run the stack that docker compose up -d makes alone; every image is built in containers (minutes)
	@tests/run plain

test-proxysql: ## run what goes through ProxySQL, where there is one
	@tests/run proxysql

test-loadgen: ## run the tests of loadgen, those on a stack too
	@tests/run loadgen

chaos: ## faults at random under load, on the test stack: MINUTES=10 SEED=random (again) FAULTS=all
	@tests/run chaos

soak: ## a long load with a definition each minute; memory must stay flat: MINUTES=60 RATE=300
	@tests/run soak

deny: ## check the gate's dependencies: licences, sources, duplicates, advisories
	@gtid-gate/deny

fuzz: ## feed the gate's parsers and classifier hostile input, guided by coverage: FUZZ_SECONDS=60 each
	@gtid-gate/fuzz/run

fuzz-sessions: ## random sessions on MySQL and through the test stack's gate: MINUTES=5, or SEED=n for one
	@tests/run fuzz-sessions

prepare-tpcw: ## load TPC-W into the running stack; satellites clone it: TPCW_ITEMS=10000 TPCW_EBS=10
	@loadgen/prepare-tpcw

bench-replication: ## measure lag, throughput and CPU of our replication against MySQL's own, on a stack of its own
	@loadgen/bench-replication

bench-gate: ## measure reads through the gate beside MySQL, ProxySQL and MySQL Router, on a stack of its own
	@loadgen/bench-gate

bench-tpcw: ## compare TPC-W on one MySQL, native replicas and Multimed, with a report; on a stack of its own
	@loadgen/bench-tpcw

bench-changes: ## measure what clients notice of scale, resize, renewal and rotate, on a stack of its own
	@loadgen/bench-changes

clean: ## remove images, layout and build outputs (not data: that is down)
	@bin/clean
