# make demo   builds ScaleDB, starts a server, runs TPC-C in SQL for ten seconds, and shows what it is for
# make test   every test; each part is a target of its own (make help)
#
# Needs rustup (or a Rust of at least the version in Cargo.toml) and a C linker. Miri needs a nightly toolchain.

SHELL := /bin/bash
.SHELLFLAGS := -euo pipefail -c
.ONESHELL:
.DEFAULT_GOAL := help

# what the model checkers and Miri build is kept apart from what the other targets build
export CARGO_TARGET_DIR ?= $(CURDIR)/target
NIGHTLY ?= nightly
CARGO ?= cargo

# test files by name: loom_*.rs run under loom; shuttle_*.rs and whatever else asks for shuttle, under shuttle
LOOM := $(sort $(wildcard crates/*/tests/loom_*.rs))
SHUTTLE_FILES := $(wildcard crates/*/tests/*.rs crates/*/tests/*/*.rs)
SHUTTLE = $(shell for f in $(SHUTTLE_FILES); do \
	grep -v 'not.any.loom, shuttle' $$f | grep -qE 'cfg.*\bshuttle\b' && echo $$f; done | sort -u)
MUTATIONS := $(wildcard crates/verify/tests/mutations.rs crates/verify/tests/mutations/main.rs)
EXAMPLES := $(sort $(wildcard crates/*/examples/*.rs))

# crates/index/tests/btree/main.rs -> "-p scaledb-index --test btree"; crates/scaledb is the package scaledb
define target_of
IFS=/ read -r _ crate _ name _ <<< "$$file"
name=$${name%.rs}
package=scaledb-$$crate
if [ "$$crate" = scaledb ]; then package=scaledb; fi
endef

.PHONY: help
help: ## This list
	@grep -hE '^[a-z-]+:.*##' Makefile | sed -E 's/:[^#]*## /\t/' | expand -t 18

.PHONY: setup
setup: ## Checks for Rust and a linker; installs the linker where it may
	@if ! command -v cargo > /dev/null || ! command -v rustc > /dev/null; then
		echo "ScaleDB needs Rust. Install it with rustup (https://rustup.rs), then open a new shell:" >&2
		echo "    curl --proto '=https' --tlsv1.2 -sSf https://sh.rustup.rs | sh" >&2
		exit 1
	fi
	if ! command -v cc > /dev/null; then
		if command -v apt-get > /dev/null && [ "$$(id -u)" = 0 ]; then
			apt-get update && apt-get install -y --no-install-recommends gcc libc6-dev
		else
			echo "ScaleDB needs a C linker (cc). On Debian or Ubuntu: sudo apt-get install gcc libc6-dev" >&2
			exit 1
		fi
	fi
	need=$$(sed -n 's/^rust-version = "\(.*\)"/\1/p' Cargo.toml)
	have=$$(rustc --version | cut -d' ' -f2 | cut -d- -f1)
	if [ "$$(printf '%s\n%s\n' "$$need" "$$have" | sort -V | head -1)" != "$$need" ]; then
		echo "ScaleDB needs Rust $$need, this is $$have: rustup update" >&2
		exit 1
	fi

.PHONY: build
build: setup ## The release build
	$(CARGO) build --release --locked -p scaledb-cli

.PHONY: dist
dist: build ## target/dist/scaledb, half as large, with its debug information beside it for backtraces
	dist="$$CARGO_TARGET_DIR/dist"
	mkdir -p "$$dist" && cd "$$dist"
	objcopy --only-keep-debug --compress-debug-sections=zlib "$$CARGO_TARGET_DIR/release/scaledb" scaledb.debug
	strip --strip-all -o scaledb "$$CARGO_TARGET_DIR/release/scaledb"
	objcopy --add-gnu-debuglink=scaledb.debug scaledb
	ls -l "$$dist"

.PHONY: demo
demo: build ## TPC-C in SQL, a row that all update, the same on PostgreSQL if it is there, a kill -9
	"$$CARGO_TARGET_DIR/release/scaledb" demo

.PHONY: cluster-demo
cluster-demo: build etcd ## Three nodes on this machine under TPC-C and Retwis in SQL; one is killed and comes back; nothing is lost
	"$$CARGO_TARGET_DIR/release/scaledb" cluster demo

.PHONY: bench
bench: build ## TPC-C and YCSB-A, ten seconds each; see docs/benchmarks.md
	"$$CARGO_TARGET_DIR/release/scaledb" bench tpcc
	"$$CARGO_TARGET_DIR/release/scaledb" bench ycsb-a

.PHONY: simulator
simulator: setup ## The simulator of many cores, which `scaledb repro` asks for what this machine cannot measure
	RUSTFLAGS="$${RUSTFLAGS:-} --cfg sim" CARGO_TARGET_DIR="$$CARGO_TARGET_DIR/sim" \
		$(CARGO) build --release --locked -p scaledb-manycore --features ablations

# FIGURES="scaledb-7a cicada-3" are made alone; REPRO=--simulated leaves out the cores of a machine that others use
FIGURES ?= scaledb cicada
REPRO ?=
.PHONY: evidence
evidence: build simulator ## The figures of the papers, made again: docs/evidence.md; goes on where it was interrupted
	"$$CARGO_TARGET_DIR/release/scaledb" repro $(FIGURES) --out docs/evidence --page docs/evidence.md $(REPRO)

.PHONY: occult-figures
occult-figures: build occult-module ## The figures of Occult, made again: docs/occult/figures.md and its pictures
	SCALEDB_OCCULT_MODULE="$$CARGO_TARGET_DIR/occult/release/liboccult.so" \
		"$$CARGO_TARGET_DIR/release/scaledb" repro occult --out docs/evidence --page docs/occult/figures.md

.PHONY: bench-compare
bench-compare: setup ## The structures beside those of other crates
	cd bench/compare && CARGO_TARGET_DIR="$$CARGO_TARGET_DIR/compare" $(CARGO) run --release --locked

.PHONY: test
test: tidy test-unit test-peers test-occult test-clients test-mutations test-crash test-examples test-loom test-shuttle test-sim test-miri ## Every test but the long ones: test-cluster, soak-cluster
	@echo "make test: all passed"

.PHONY: tidy
tidy: setup ## The rules of style and architecture
	$(CARGO) xtask tidy

.PHONY: test-unit
test-unit: setup postgresql etcd ## Unit, integration and documentation tests
	$(CARGO) test --workspace --locked

.PHONY: test-cluster
test-cluster: setup etcd ## Clusters of real processes, each kind of failure again and again; ROUNDS=5
	SCALEDB_CLUSTER_ROUNDS="$${ROUNDS:-5}" $(CARGO) test --release --locked -p scaledb-cli --test cluster

CLUSTERS ?= 100000
.PHONY: soak-cluster
soak-cluster: setup ## Simulated clusters for hours, each history replayed; CLUSTERS=100000 FIRST=1
	SCALEDB_CLUSTERS="$(CLUSTERS)" SCALEDB_FIRST="$${FIRST:-1}" \
		$(CARGO) test --release --locked -p scaledb-verify --test scar_simulated -- --nocapture

.PHONY: postgresql
postgresql: # random statements are compared with its answers; without it, with each other's only
	@if ! [ -x /usr/lib/postgresql/15/bin/initdb ] && [ -z "$${SCALEDB_POSTGRES_BIN:-}" ]; then
		if [ "$$(id -u)" = 0 ] && command -v apt-get > /dev/null; then
			get="apt-get install -y -q --no-install-recommends postgresql-15"
			$$get > /dev/null 2>&1 || { apt-get update && $$get; } > /dev/null 2>&1 || true
		fi
	fi

.PHONY: etcd
etcd: # clusters of processes keep their views in it; without it, they are not tested
	@if ! command -v etcd > /dev/null; then
		if [ "$$(id -u)" = 0 ] && command -v apt-get > /dev/null; then
			get="apt-get install -y -q --no-install-recommends etcd-server"
			$$get > /dev/null 2>&1 || { apt-get update && $$get; } > /dev/null 2>&1 || true
		fi
	fi

# libclang comes without the compiler's own headers: those of gcc will do
BINDINGS = export BINDGEN_EXTRA_CLANG_ARGS="-I$$(cc -print-file-name=include) $${BINDGEN_EXTRA_CLANG_ARGS:-}"
LIBCLANG = { compgen -G '/usr/lib/llvm-*/lib/libclang[.-][s0-9]*' || \
	compgen -G '/usr/lib/*/libclang[.-][s0-9]*' || [ -n "$${LIBCLANG_PATH:-}" ]; } > /dev/null

.PHONY: redis
redis: # Occult runs in it; libclang makes the bindings to its interface for modules
	@if ! command -v redis-server > /dev/null || ! $(LIBCLANG); then
		if [ "$$(id -u)" = 0 ] && command -v apt-get > /dev/null; then
			get="apt-get install -y -q --no-install-recommends redis-server libclang1"
			$$get > /dev/null 2>&1 || { apt-get update && $$get; } > /dev/null 2>&1 || true
		fi
	fi

.PHONY: occult-module
occult-module: setup redis ## The module for Redis and Valkey, target/occult/release/liboccult.so
	export CARGO_TARGET_DIR="$$CARGO_TARGET_DIR/occult"
	$(BINDINGS) && cd crates/occult-module && $(CARGO) build --release --locked

.PHONY: test-occult
test-occult: setup redis ## Occult in real servers: histories, kill -9, failover, restarts, resharding
	@if ! command -v redis-server > /dev/null; then
		echo "test-occult: SKIPPED, there is no redis-server, and it cannot be installed here"
		exit 0
	fi
	if ! $(LIBCLANG); then
		echo "test-occult: SKIPPED, there is no libclang, and it cannot be installed here"
		exit 0
	fi
	libraries="$$CARGO_TARGET_DIR/occult"
	$(BINDINGS)
	(cd crates/occult-module && CARGO_TARGET_DIR="$$libraries" $(CARGO) test --locked)
	(cd crates/occult-module && CARGO_TARGET_DIR="$$libraries" $(CARGO) build --locked)
	python="$$libraries/venv/bin/python"
	if python3 -m venv "$$libraries/venv" && "$$python" -m pip install -q 'maturin>=1.7,<2' &&
		(cd crates/occult-python && CARGO_TARGET_DIR="$$libraries" "$$libraries/venv/bin/maturin" build -q \
			--locked --interpreter "$$python" --out "$$libraries/wheels") &&
		"$$python" -m pip install -q --force-reinstall "$$libraries"/wheels/*.whl; then
		export SCALEDB_OCCULT_PYTHON="$$python"
	else
		echo "test-occult: the client for Python is SKIPPED: there is no Python with venv, or no maturin"
	fi
	SCALEDB_OCCULT_MODULE="$$libraries/debug/liboccult.so" $(CARGO) test --locked -p scaledb-occult-lab -p scaledb-occult-bench

.PHONY: occult-demo
occult-demo: occult-module ## Two datacenters 39 ms apart: a photo album that goes wrong on plain reads at replicas
	SCALEDB_OCCULT_MODULE="$$CARGO_TARGET_DIR/occult/release/liboccult.so" \
		$(CARGO) run --locked -p scaledb-occult-lab

STATEMENTS ?= 100000
SEED ?= 1
.PHONY: fuzz-sql
fuzz-sql: setup postgresql ## Random SQL on ScaleDB and PostgreSQL 15: STATEMENTS=100000 SEED=1
	SCALEDB_STATEMENTS=$(STATEMENTS) SCALEDB_SEED=$(SEED) \
		$(CARGO) test --locked -p scaledb-sqlfuzz --release --test differential -- --nocapture

CRATE ?= index
FILE ?=
.PHONY: mutants
mutants: setup ## Changes one operation at a time; none may survive but those of xtask/survivors.txt: CRATE=acc [FILE=merge.rs]
	@if ! $(CARGO) mutants --version > /dev/null 2>&1; then
		$(CARGO) install --locked cargo-mutants
	fi
	$(CARGO) xtask mutants $(CRATE) $(FILE)

.PHONY: test-mutations
test-mutations: setup ## Switches off one rule at a time, of the protocol or the log: some test must fail
ifeq ($(MUTATIONS),)
	@echo "test-mutations: none yet"
else
	$(CARGO) test --locked -p scaledb-verify --features mutations --test mutations --test durable
	$(CARGO) test --locked -p scaledb-verify --features mutations --test log_crashes without_a_guard
	$(CARGO) test --locked -p scaledb-log --features mutations --test guards
	$(CARGO) test --locked -p scaledb-cicada --features mutations --test horizon
	$(CARGO) test --locked -p scaledb-fuzzing --features mutations
endif

.PHONY: test-crash
test-crash: setup ## Kills, power cuts and failing system calls under a process that runs TPC-C
	@if [ "$$(id -u)" = 0 ] && command -v apt-get > /dev/null; then
		if ! command -v xfs_io > /dev/null || ! command -v mkfs.ext4 > /dev/null; then
			apt-get install -y -q --no-install-recommends xfsprogs e2fsprogs > /dev/null || true
		fi
	fi
	# of the whole workspace, as the unit tests: other features would build the engines once more
	binary=$$($(CARGO) test --locked --workspace --test kills --no-run --message-format=json \
		| sed -n 's/.*"executable":"\([^"]*kills-[^"]*\)".*/\1/p')
	tests/crash/run.sh "$$binary"

.PHONY: test-clients
test-clients: setup ## psql, pgbench, and the drivers of Python, Node, Go, Java and Rust against a server
	@# the binary that the unit tests have built
	$(CARGO) test --workspace --locked --no-run --quiet
	SCALEDB="$$CARGO_TARGET_DIR/debug/scaledb" tests/clients/run.sh

.PHONY: test-peers
test-peers: ## The script that compares other programs with ours, on small programs
	@if command -v python3 > /dev/null; then
		PYTHONDONTWRITEBYTECODE=1 python3 -m unittest discover bench/peers
	else
		echo "test-peers: SKIPPED, there is no python3"
	fi

.PHONY: test-examples
test-examples: setup ## Runs each example
	@# the binaries that the unit tests have built
	$(CARGO) test --workspace --locked --no-run --quiet
	for file in $(EXAMPLES); do
		$(target_of)
		echo "example $$name of $$package"
		"$$CARGO_TARGET_DIR/debug/examples/$$name" > /dev/null
	done

.PHONY: test-loom
test-loom: setup ## Small cases under every interleaving
	@export RUSTFLAGS="$${RUSTFLAGS:-} --cfg loom" CARGO_TARGET_DIR="$$CARGO_TARGET_DIR/loom"
	for file in $(LOOM); do
		$(target_of)
		$(CARGO) test --locked -p "$$package" --test "$$name"
	done

.PHONY: test-shuttle
test-shuttle: setup ## Larger cases under random schedules
	@export RUSTFLAGS="$${RUSTFLAGS:-} --cfg shuttle" CARGO_TARGET_DIR="$$CARGO_TARGET_DIR/shuttle"
	for file in $(SHUTTLE); do
		$(target_of)
		$(CARGO) test --locked -p "$$package" --test "$$name"
	done

.PHONY: test-sim
test-sim: setup ## Histories on the simulated machine of many cores; delays come from a seed
	@export RUSTFLAGS="$${RUSTFLAGS:-} --cfg sim" CARGO_TARGET_DIR="$$CARGO_TARGET_DIR/sim"
	$(CARGO) test --locked -p scaledb-verify --features mutations --test simulated

.PHONY: test-miri
test-miri: setup ## Undefined behaviour, in the crates that hold most of the unsafe code
	@if ! $(CARGO) +$(NIGHTLY) miri --version > /dev/null 2>&1; then
		echo "test-miri: installing Miri"
		if ! rustup toolchain install $(NIGHTLY) --profile minimal --component miri,rust-src; then
			echo "test-miri: SKIPPED, the nightly toolchain with Miri cannot be installed here"
			exit 0
		fi
	fi
	export CARGO_TARGET_DIR="$$CARGO_TARGET_DIR/miri"
	export MIRIFLAGS="-Zmiri-permissive-provenance -Zmiri-disable-isolation $${MIRIFLAGS:-}"
	# Miri is some hundred times slower: of the index tests, those that finish in minutes
	$(CARGO) +$(NIGHTLY) miri test --locked -p scaledb-memory
	$(CARGO) +$(NIGHTLY) miri test --locked -p scaledb-acc --test records
	$(CARGO) +$(NIGHTLY) miri test --locked -p scaledb-index --lib --test phantomlet
	$(CARGO) +$(NIGHTLY) miri test --locked -p scaledb-index --test btree -- interleavings parts
	$(CARGO) +$(NIGHTLY) miri test --locked -p scaledb-index --test indexlet -- a_panic one_home

.PHONY: lint
lint: setup redis ## Formatting, clippy, documentation; warnings are errors
	$(CARGO) fmt --all --check
	$(CARGO) clippy --workspace --all-targets --locked -- -D warnings
	for crate in occult-module occult-python; do
		$(CARGO) fmt --manifest-path "crates/$$crate/Cargo.toml" --check
	done
	if $(LIBCLANG); then
		($(BINDINGS); cd crates/occult-module && CARGO_TARGET_DIR="$$CARGO_TARGET_DIR/occult" \
			$(CARGO) clippy --all-targets --locked -- -D warnings)
	else
		echo "lint: clippy of crates/occult-module is SKIPPED: there is no libclang (apt-get install libclang1)"
	fi
	if command -v python3 > /dev/null; then
		(cd crates/occult-python && CARGO_TARGET_DIR="$$CARGO_TARGET_DIR/occult" \
			$(CARGO) clippy --all-targets --locked -- -D warnings)
	else
		echo "lint: clippy of crates/occult-python is SKIPPED: there is no python3"
	fi
	RUSTDOCFLAGS="-D warnings" $(CARGO) doc --workspace --no-deps --lib --locked
