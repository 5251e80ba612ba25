# Everything that people and CI run is a target here.
SHELL := bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help
$(if $(filter 3.%,$(MAKE_VERSION)),$(error GNU make 4 or later is needed, and this is $(MAKE_VERSION)))

TWINS := rust go
VERSION := $(shell cat VERSION)
ARCHITECTURES := amd64 arm64
ARCHITECTURE := $(patsubst x86_64,amd64,$(patsubst aarch64,arm64,$(shell uname -m)))
# Files in images and archives get the time of the commit.
export SOURCE_DATE_EPOCH ?= $(shell git log -1 --format=%ct)
# The name of an unreleased image: X.Y.Z-COMMIT. Its program calls itself X.Y.Z, since it is the same as that of the release.
PRERELEASE = $(VERSION)-$(shell git rev-parse --short=8 HEAD)
CARGO := cargo
PREFIX ?= /usr/local
VENV ?= .venv
PYTHON := $(VENV)/bin/python
# More workers than CPUs, since most cases wait for a clock or a socket.
# With a report for GitLab, named after the target.
PYTEST = $(PYTHON) -m pytest -q --junitxml bin/junit/$@.xml
CONFORMANCE = $(PYTEST) -n 4 conformance
# Tests in which several goroutines work on the same data, except one in which the race detector makes compression too slow.
RACED := access_log access_log_written admin admin_load connections end notify reload tls tls_handshake
CARGO_FUZZ := 0.13.1
CARGO_MUTANTS := 27.1.0
CARGO_DENY := 0.20.2
GREMLINS := github.com/go-gremlins/gremlins/cmd/gremlins@v0.6.0
STATICCHECK := honnef.co/go/tools/cmd/staticcheck@v0.8.2
# Later versions need a module that the Go module proxy does not always have (go.digitalxero.dev/rpm).
NFPM := github.com/goreleaser/nfpm/v2/cmd/nfpm@v2.45.0
COSIGN := github.com/sigstore/cosign/v3/cmd/cosign@v3.1.3
GOVULNCHECK := golang.org/x/vuln/cmd/govulncheck@v1.9.0
FUZZ_SECONDS ?= 60
ENGINE := containers/with-engine
PIPELINE := containers/test_pipeline.py
PACKAGES := containers/test_packages.py
SIGNING := containers/test_signing.py
CONTAINERS = $(PYTEST) containers $(addprefix --ignore ,$(PIPELINE) $(PACKAGES) $(SIGNING))

SHELL_FILES = .ci/run .ci/needs .ci/newcomer kcup-rust/build kcup-go/build kcup-go/race kcup-go/mutated containers/build containers/base-images \
  containers/save containers/with-engine release/latest release/login release/package release/publish release/push release/sign \
  release/packages/postinstall release/packages/preremove release/packages/postremove share/completions/kcup.bash
YAML_FILES = $(shell git ls-files '*.yml' '*.yaml')
MARKDOWN_FILES = $(shell git ls-files '*.md')

SCENARIOS = $(basename $(notdir $(wildcard bench/scenarios/*.toml)))
GNU = $(shell uname -m)-unknown-linux-gnu
MUSL = $(shell uname -m)-unknown-linux-musl
# With function names and frame pointers, for perf.
PROFILED_RUST = RUSTFLAGS='-C force-frame-pointers=yes' CARGO_PROFILE_RELEASE_STRIP=none CARGO_PROFILE_RELEASE_DEBUG=line-tables-only

EACH := build install run test unit lint audit fuzz test-containers build-release sbom packages image image-publish image-release
BUILD_IMAGES = containers/build rust $(ARCHITECTURES) && containers/build go $(ARCHITECTURES)
.PHONY: help $(EACH) $(foreach twin,$(TWINS),$(addsuffix -$(twin),$(EACH))) race soak soak-readme mutants mutants-rust mutants-go mutants-suite test-vm test-engine vm vm-set-up verdicts corpus lint-shared readme clean \
  newcomer audit-licences test-images test-packages test-signing get-version release-check release-prep release-publish sign gitlab-release ci-local ci-local-set-up containers-set-up e2e \
  bench bench-all bench-ready bench-baselines bench-install bench-readme bench-guard $(SCENARIOS:%=bench-%) \
  unit-bench lint-bench $(TWINS:%=profile-%) $(TWINS:%=bin/profile/kcup-%)

## make TARGET. [-rust|-go] means that the target also exists for one of the programs, as in `make test-go`.
##
help:
	@sed -n 's/^## \{0,1\}//p' Makefile

## build [-rust|-go]            static, stripped programs: bin/kcup-rust, bin/kcup-go
build: build-rust build-go

$(addprefix build-,$(TWINS)): build-%: needs-%
	kcup-$*/build $(ARCHITECTURE) bin/kcup-$*

# Names what is missing, and how to get it, before anything fails for want of it.
NEEDS := rust go python
.PHONY: needs $(NEEDS:%=needs-%)
needs:
	@.ci/needs $(NEEDS)

$(NEEDS:%=needs-%): needs-%:
	@.ci/needs $*

## install [-rust|-go]          copy what was built to DESTDIR and PREFIX/bin (/usr/local/bin), as kcup-rust and kcup-go; kcup is a
##                              link to kcup-rust, with -go to kcup-go. PREFIX/share gets the manual page and the completions
install: install-go install-rust

# man, bash and fish look for a file with the name of the command.
$(addprefix install-,$(TWINS)): SHARE = $(DESTDIR)$(PREFIX)/share
$(addprefix install-,$(TWINS)): install-%:
	@[ -x bin/kcup-$* ] || { echo "make: bin/kcup-$* is not there: make build-$*" >&2; exit 1; }
	install -D bin/kcup-$* "$(DESTDIR)$(PREFIX)/bin/kcup-$*"
	ln -sf kcup-$* "$(DESTDIR)$(PREFIX)/bin/kcup"
	install -D -m 644 share/man/man1/kcup.1 "$(SHARE)/man/man1/kcup.1"
	ln -sf kcup.1 "$(SHARE)/man/man1/kcup-$*.1"
	install -D -m 644 share/completions/kcup.bash "$(SHARE)/bash-completion/completions/kcup"
	ln -sf kcup "$(SHARE)/bash-completion/completions/kcup-$*"
	install -D -m 644 share/completions/kcup.fish "$(SHARE)/fish/vendor_completions.d/kcup.fish"
	ln -sf kcup.fish "$(SHARE)/fish/vendor_completions.d/kcup-$*.fish"
	install -D -m 644 share/completions/_kcup "$(SHARE)/zsh/site-functions/_kcup"

## run [-rust|-go]              serve the sample policy on port 5000
run: run-rust

$(addprefix run-,$(TWINS)): run-%: build-%
	@echo "try: curl -i http://localhost:$${PORT:-5000}/.well-known/mta-sts.txt   (Ctrl-C stops)"
	@exec bin/kcup-$* --preset mta-sts deploy/examples/mta-sts.txt

## test [-rust|-go]             unit tests and the whole conformance suite
test: needs unit verdicts release-check stepped-clock share-set-up $(VENV)/conformance.ok
	$(PYTEST) release share --junitxml bin/junit/release.xml
	$(CONFORMANCE) --rust bin/kcup-rust --go bin/kcup-go

$(addprefix test-,$(TWINS)): test-%: needs-% unit-% build-% stepped-clock $(VENV)/conformance.ok
	$(CONFORMANCE) --$* bin/kcup-$*

# Tests of the manual page and the completions skip what cannot be installed.
.PHONY: share-set-up
SHARE_NEEDS := man mandoc zsh fish
share-set-up:
	@(for program in $(SHARE_NEEDS); do command -v $$program >/dev/null || exit 1; done) || { echo "installing $(SHARE_NEEDS), which try share/"; \
	  apt-get update -qq && apt-get install -y -qq --no-install-recommends $(SHARE_NEEDS:man=man-db) >/dev/null; } || true

# Cases that step the clock are skipped if these cannot be installed.
.PHONY: stepped-clock
stepped-clock:
	@command -v qemu-$(shell uname -m) >/dev/null && ls /usr/lib/*/faketime >/dev/null 2>&1 || { echo "installing qemu-user and libfaketime, which step the clock"; \
	  apt-get update -qq && apt-get install -y -qq --no-install-recommends qemu-user libfaketime >/dev/null; } || true

## unit [-rust|-go]             unit tests only
unit: unit-rust unit-go unit-bench

unit-rust: needs-rust
	cd kcup-rust && $(CARGO) test --locked

unit-go: needs-go
	cd kcup-go && go vet ./... && CGO_ENABLED=0 go test ./... && CGO_ENABLED=1 go test -race ./...

unit-bench: $(VENV)/bench.ok $(VENV)/conformance.ok
	$(PYTEST) bench

## race                         part of the suite against kcup-go with Go's race detector, about a minute
race: $(VENV)/conformance.ok
	cd kcup-go && CGO_ENABLED=1 go build -race -o ../bin/kcup-go-race .
	$(CONFORMANCE:conformance=) $(RACED:%=conformance/test_%.py) --go kcup-go/race -k "not signals_during_a_reload"

## soak                         faults of every kind while clients make requests, two minutes (QUICK=1: 25 s; ARGS="-k descriptors":
##                              only these); SOAK_SECONDS=3600: an hour of load, reloads and faults, which fails if resource use grows
soak: build stepped-clock $(VENV)/conformance.ok
	$(PYTHON) -m pytest -v -s -rs -m soak conformance/$(if $(SOAK_SECONDS),test_soak_hour.py,test_soak.py) $(ARGS)

## soak-readme                  regenerate the soaks in docs/reliability.md and their chart from conformance/results
soak-readme: $(VENV)/bench.ok
	$(PYTHON) bench reliability

## test-vm                      attacks in emulated machines under Debian's kernels with version 2 of control groups, two minutes
##                              (FULL=1: all attacks, also on nginx and lighttpd, for docs/reliability.md: vm/results.json; an hour)
test-vm: build vm-set-up $(VENV)/conformance.ok
	$(PYTHON) -m pytest vm

## vm ARGS="--scenario idle"    one attack (ARGS=--help lists them)
vm: build vm-set-up
	python3 vm $(ARGS)

## test-engine                  the Docker engine that containers/with-engine starts, in an emulated machine, half a minute
ENGINE_NEEDS := cpio docker.io iproute2 kmod qemu-system-x86
test-engine: build-go
	@dpkg-query --show $(ENGINE_NEEDS) >/dev/null 2>&1 || { echo "installing $(ENGINE_NEEDS)"; apt-get update -qq; \
	  DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends $(ENGINE_NEEDS) >/dev/null; }
	python3 vm/engine bin/kcup-go

VM_NEEDS := qemu-system-x86 cpio nginx-light lighttpd wrk
vm-set-up:
	@dpkg-query --show $(VM_NEEDS) >/dev/null 2>&1 || { echo "installing $(VM_NEEDS)"; apt-get update -qq; \
	  DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends $(VM_NEEDS) >/dev/null; }

## verdicts                     compare what both programs make of every fuzzing input in conformance/corpus
verdicts:
	@rm -rf bin/verdicts && mkdir -p bin/verdicts/rust bin/verdicts/go
	cd kcup-rust && $(CARGO) run --quiet --locked --example verdicts ../conformance/corpus ../bin/verdicts/rust
	cd kcup-go && VERDICTS=$(CURDIR)/bin/verdicts/go go test -count=1 -run '^TestVerdicts$$' ./internal/accesslog ./internal/respond ./internal/server/guard
	diff -r bin/verdicts/rust bin/verdicts/go

## lint [-rust|-go|-shared]     formatters and linters for every language here; all findings are errors
lint: lint-rust lint-go lint-bench lint-shared

lint-rust: needs-rust
	cd kcup-rust && $(CARGO) fmt --check && $(CARGO) clippy --locked --all-targets -- -D warnings

lint-go: needs-go
	@cd kcup-go && unformatted=$$(gofmt -l .) && { [ -z "$$unformatted" ] || { echo "gofmt -w: $$unformatted"; exit 1; }; }
	cd kcup-go && go vet ./... && go run $(STATICCHECK) ./...
	@cd containers/tools && [ -z "$$(gofmt -l .)" ] && go vet ./...

lint-bench:
	cd bench/baselines/rust && $(CARGO) fmt --check && $(CARGO) clippy --quiet --locked -- -D warnings
	@cd bench/baselines/go && unformatted=$$(gofmt -l .) && { [ -z "$$unformatted" ] || { echo "gofmt -w: $$unformatted"; exit 1; }; }
	cd bench/baselines/go && go vet ./... && go run $(STATICCHECK) ./...

lint-shared: $(VENV)/lint.ok
	python3 share/options.py --check
	$(VENV)/bin/ruff check
	$(VENV)/bin/shellcheck $(SHELL_FILES)
	$(VENV)/bin/hadolint --config lint/hadolint.yaml kcup-rust.Dockerfile kcup-go.Dockerfile
	$(VENV)/bin/yamllint --strict --config-file lint/yamllint.yaml $(YAML_FILES)
	$(VENV)/bin/check-jsonschema --builtin-schema vendor.gitlab-ci .gitlab-ci.yml
	$(VENV)/bin/check-jsonschema --builtin-schema vendor.renovate renovate.json
	$(VENV)/bin/check-jsonschema --builtin-schema vendor.compose-spec deploy/compose*.yaml deploy/swarm/stack.yaml
	$(PYTHON) lint/links.py $(MARKDOWN_FILES)

## audit [-rust|-go]            licences and sources of kcup-rust's dependencies; known vulnerabilities of both programs, whose
##                              databases are fetched
audit: audit-rust audit-go

audit-rust: audit-licences
	cd kcup-rust && $(CARGO) deny --locked check advisories

audit-licences:
	@[ "$$(cargo-deny --version 2>/dev/null)" = "cargo-deny $(CARGO_DENY)" ] \
	  || $(CARGO) install --quiet --locked cargo-deny --version $(CARGO_DENY)
	cd kcup-rust && $(CARGO) deny --locked check licenses bans sources

audit-go:
	cd kcup-go && go run $(GOVULNCHECK) ./...

## fuzz [-rust|-go]             each fuzz target for FUZZ_SECONDS (60); kcup-rust's need the toolchain NIGHTLY
fuzz: fuzz-rust fuzz-go

# No sanitizer, since the fuzzed code has no unsafe blocks. cargo-fuzz enables debug assertions, which catch overflows.
NIGHTLY ?= nightly
FUZZ_RUST = $(CARGO) +$(NIGHTLY) fuzz

fuzz-rust: fuzz-tool
	cd kcup-rust && $(FUZZ_RUST) build --sanitizer none && for target in $$($(FUZZ_RUST) list); do \
	  mkdir -p fuzz/corpus/$$target; [ $$target = codec ] && seeds=guard || seeds=$$target; \
	  $(FUZZ_RUST) run --sanitizer none $$target fuzz/corpus/$$target ../conformance/corpus/$$seeds -- \
	    -max_total_time=$(FUZZ_SECONDS) -max_len=17000 -print_final_stats=1; done

fuzz-go:
	cd kcup-go && go list ./... | while read -r package; do \
	  for target in $$(go test -list '^Fuzz' "$$package" | grep '^Fuzz'); do \
	    go test -run '^$$' -fuzz "^$$target\$$" -fuzztime $(FUZZ_SECONDS)s "$$package"; done; done

.PHONY: fuzz-tool
fuzz-tool:
	@[ "$$(cargo-fuzz --version 2>/dev/null)" = "cargo-fuzz $(CARGO_FUZZ)" ] \
	  || $(CARGO) install --quiet --locked cargo-fuzz --version $(CARGO_FUZZ)

## corpus                       merge the inputs that both programs' fuzzers found into the smallest set, in conformance/corpus
corpus: fuzz-tool
	cd kcup-rust && $(FUZZ_RUST) build --sanitizer none
	python3 conformance/runner/corpus.py

## mutants [-rust|-go|-suite]   make small changes to a program; for each one a unit test, or with -suite a case, must fail. Takes hours
##                              (ARGS="--re src/respond/": a part of kcup-rust; ROOM=internal/respond: a part of kcup-go)
mutants: mutants-rust mutants-go mutants-suite

# Both tools change a copy of the program, beside a link to ../conformance, which the unit tests read.
MUTANTS := $(CURDIR)/bin/mutants
# The part of the suite that takes only seconds.
MUTANTS_SUITE := http guard vectors
MUTATE = cd kcup-rust && TMPDIR=$(MUTANTS) CARGO_TARGET_DIR=$(MUTANTS)/target CARGO_PROFILE_DEV_DEBUG=0 PROPTEST_CASES=64 \
  SUITE="TMPDIR=/tmp $(CURDIR)/$(PYTHON) -m pytest -q -x $(MUTANTS_SUITE:%=$(CURDIR)/conformance/test_%.py)" $(CARGO) mutants $(ARGS)
ROOM ?= internal

# A change that no unit test finds is tried again with the suite.
mutants-rust: mutants-tool
	rm -rf $(MUTANTS)/rust
	$(MUTATE) --output $(MUTANTS)/rust -C --lib || [[ $$? = [23] ]]
	$(MUTATE) --output $(MUTANTS)/rust -C --test=suite --iterate || [[ $$? = [23] ]]
	@! grep . $(MUTANTS)/rust/mutants.out/missed.txt

# With the suite alone, as if there were no unit tests.
mutants-suite: mutants-tool
	$(MUTATE) --output $(MUTANTS)/suite --config .cargo/mutants-suite.toml -C --test=suite || [[ $$? = [23] ]]
	@! grep . $(MUTANTS)/suite/mutants.out/missed.txt

.PHONY: mutants-tool
mutants-tool: $(VENV)/conformance.ok
	@mkdir -p $(MUTANTS) && ln -sfn $(CURDIR)/conformance $(MUTANTS)
	@[ "$$(cargo-mutants --version 2>/dev/null)" = "cargo-mutants $(CARGO_MUTANTS)" ] \
	  || $(CARGO) install --quiet --locked cargo-mutants --version $(CARGO_MUTANTS)

mutants-go: $(PYTHON)
	@mkdir -p $(MUTANTS)
	GOBIN=$(CURDIR)/bin/tools go install $(GREMLINS)
	cd kcup-go && TMPDIR=$(MUTANTS) GOFLAGS="$${GOFLAGS:-} -exec=$(CURDIR)/kcup-go/mutated" CGO_ENABLED=0 \
	  ../bin/tools/gremlins unleash --output $(MUTANTS)/go.json ./$(ROOM)
	$(PYTHON) conformance/runner/mutants.py $(MUTANTS)/go.json $(ROOM)

## image [-rust|-go]            container images kcup-rust and kcup-go for every platform
image: image-rust image-go

$(addprefix image-,$(TWINS)): image-%:
	$(ENGINE) containers/build $* $(ARCHITECTURES)

## test-containers [-rust|-go]  test the images and all of deploy/ in a real Docker engine, which is started if none is running;
##                              without a suffix also ci-local and every benchmark
test-containers: containers-set-up ci-local-set-up
	$(ENGINE) bash -c '$(BUILD_IMAGES) && $(CONTAINERS) && $(PYTHON) -m pytest -q $(PIPELINE) \
	  && export QUICK=1 && make bench-install bench-all'

## test-images                  build images with the programs in bin/release, test them and all of deploy/, and save them in bin/images
test-images: containers-set-up
	cd bin/release && sha256sum --check --quiet $(TWINS:%=kcup-%.sha256)
	PREBUILT=bin/release $(ENGINE) bash -c '$(BUILD_IMAGES) && $(CONTAINERS) && containers/save bin/images'

$(addprefix test-containers-,$(TWINS)): test-containers-%: containers-set-up
	$(ENGINE) bash -c 'containers/build $* $(ARCHITECTURES) && $(CONTAINERS) --twin $*'

## e2e                          of these tests, those of a policy's whole path (DNS, TLS, Traefik, a sending mail server) and of
##                              docs/mta-sts.md
e2e: containers-set-up
	$(ENGINE) bash -c 'containers/build rust && containers/build go && $(PYTHON) -m pytest -q containers/test_e2e*.py'

CONTAINERS_NEED := curl iproute2 numactl systemd-container wrk
COMPOSE := github.com/docker/compose/v2
containers-set-up: $(VENV)/containers.ok bin/docker/cli-plugins/docker-compose bin/tools/manifests
	@dpkg-query --show $(CONTAINERS_NEED) >/dev/null 2>&1 || { echo "installing $(CONTAINERS_NEED)"; apt-get update -qq; \
	  DEBIAN_FRONTEND=noninteractive apt-get install -y -qq $(CONTAINERS_NEED) >/dev/null; }

bin/docker/cli-plugins/docker-compose: containers/tools/go.mod
	cd containers/tools && go build -ldflags "-s -w -X $(COMPOSE)/internal.Version=$$(go list -m -f '{{.Version}}' $(COMPOSE))" \
	  -o ../../$@ $(COMPOSE)/cmd

bin/tools/manifests: containers/tools/go.mod containers/tools/manifests/main.go
	cd containers/tools && go build -o ../../$@ ./manifests

## ci-local                     run .gitlab-ci.yml for a release branch, main and a tag, with a local git remote and registry
ci-local: ci-local-set-up
	$(ENGINE) bash -c '$(BUILD_IMAGES) && $(PYTHON) -m pytest -q $(PIPELINE)'

ci-local-set-up: $(VENV)/conformance.ok $(VENV)/release.ok release/node_modules

release/node_modules: release/package-lock.json
	@for program in npm rsync; do command -v $$program >/dev/null \
	  || { echo "installing $$program"; apt-get update -qq && apt-get install -y -qq $$program >/dev/null; }; done
	npm ci --prefix release --no-audit --no-fund --silent
	@touch $@

## newcomer                     follow README's "From source" on a bare Debian, as root (SUITE=trixie, bookworm; GOAL=run, test)
newcomer:
	.ci/newcomer $(or $(SUITE),trixie) $(or $(GOAL),run)

## get-version                  print the version, which both programs share
get-version:
	@echo $(VERSION)

## build-release [-rust|-go]    programs for every platform, with checksums, in bin/release
build-release: build-release-rust build-release-go

$(addprefix build-release-,$(TWINS)): build-release-%:
	$(foreach architecture,$(ARCHITECTURES),kcup-$*/build $(architecture) bin/release/kcup-$*-$(architecture) && ) true
	cd bin/release && sha256sum $(addprefix kcup-$*-,$(ARCHITECTURES)) | tee kcup-$*.sha256

## sbom [-rust|-go]             bills of materials in CycloneDX 1.5, bin/release/kcup-rust.cdx.json and kcup-go.cdx.json, and the licences
##                              of what they list
sbom: sbom-rust sbom-go

$(addprefix sbom-,$(TWINS)): sbom-%: $(VENV)/release.ok
	$(PYTHON) release/sbom.py $* bin/release/kcup-$*.cdx.json
	$(PYTHON) release/notices.py $* bin/release/kcup-$*.notices

## packages [-rust|-go]         archives, .deb, .rpm and .apk of what is in bin/release, with SHA256SUMS, in bin/packages
packages: packages-rust packages-go
	cd bin/packages && sha256sum kcup-* | tee SHA256SUMS

$(addprefix packages-,$(TWINS)): packages-%: bin/tools/nfpm
	release/package $*

bin/tools/nfpm: TOOL = $(NFPM)
bin/tools/cosign: TOOL = $(COSIGN)
bin/tools/nfpm bin/tools/cosign: Makefile
	GOBIN=$(CURDIR)/bin/tools go install -trimpath -ldflags "-s -w" $(TOOL)
	@touch $@

## test-packages                make them, install the .deb in a booted system, start its service, upgrade and remove it, as root
PACKAGES_NEED := curl man-db rpm systemd-container
test-packages: packages $(VENV)/containers.ok
	@dpkg-query --show $(PACKAGES_NEED) >/dev/null 2>&1 || { echo "installing $(PACKAGES_NEED)"; apt-get update -qq; \
	  DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends $(PACKAGES_NEED) >/dev/null; }
	$(PYTEST) $(PACKAGES)

## readme                       regenerate what is made from share/options.toml: --help of both programs, the table in README.md, the
##                              manual page and the completions
readme:
	python3 share/options.py

## release-check                check that versions, changelog, README's options and all figures agree
release-check: build $(VENV)/bench.ok $(VENV)/conformance.ok
	@python3 release/check.py
	@python3 share/options.py --check
	@$(PYTHON) -m pytest -q bench/tests/test_pages.py bench/tests/test_reliability.py -k "readme or page_says"
	@$(PYTHON) -m pytest -q vm/test_readme.py

## release-prep                 check that versions agree and that the changelog has a section for VERSION
release-prep:
	@python3 release/check.py --release

## release-publish              tag this commit vVERSION on GIT_REMOTE, unless the tag exists
release-publish:
	release/publish "$(GIT_REMOTE)"

## image-publish [-rust|-go]    push the images in bin/images as vX.Y.Z-COMMIT to the registry given by CI_REGISTRY, CI_REGISTRY_IMAGE,
##                              _USER and _PASSWORD
image-publish: image-publish-rust image-publish-go

$(addprefix image-publish-,$(TWINS)): image-publish-%: bin/tools/crane
	release/push $* v$(PRERELEASE)

## image-release [-rust|-go]    push them as vX.Y.Z, and as `latest` if it is the newest version tagged on BRANCH of GIT_REMOTE
image-release: image-release-rust image-release-go

$(addprefix image-release-,$(TWINS)): image-release-%: bin/tools/crane
	latest=$$(release/latest "$(GIT_REMOTE)" "$(BRANCH)") && release/push $* v$(VERSION) $$latest

## sign                         sign the images vX.Y.Z in that registry, their bills of materials, and SHA256SUMS in bin/packages
sign: bin/tools/crane bin/tools/cosign
	release/sign v$(VERSION)

## test-signing                 try that with a key and a registry; the first time it compiles cosign, nine minutes of a CPU
test-signing: bin/tools/crane bin/tools/cosign $(VENV)/containers.ok $(VENV)/release.ok
	$(PYTEST) $(SIGNING)

## gitlab-release               upload bin/packages and make the release vX.Y.Z, in a job of GitLab
gitlab-release:
	python3 release/gitlab.py

bin/tools/crane: release/tools/go.mod
	cd release/tools && go build -o ../../$@ github.com/google/go-containerregistry/cmd/crane

## bench                        list the benchmarks, and how long each takes
## bench-NAME, bench-all        run one or all, as root; results are in bench/results (QUICK=1: a smoke run)
bench: $(VENV)/bench.ok
	@$(PYTHON) bench list

$(SCENARIOS:%=bench-%): bench-%: bench-ready
	$(PYTHON) bench run $*

bench-all: bench-ready
	$(PYTHON) bench all

bench-ready: build bench-baselines bin/bench-floor $(VENV)/bench.ok $(VENV)/conformance.ok

bin/bench-floor: bench/floor.c
	@mkdir -p bin
	gcc -O2 -o $@ $<

# Static, since they also run in containers that contain nothing else.
bench-baselines:
	cd bench/baselines/go && CGO_ENABLED=0 go build -trimpath -ldflags "-s -w" -o ../../../bin/bench-go .
	cd bench/baselines/rust && RUSTFLAGS='-C target-feature=+crt-static' $(CARGO) build --quiet --release --locked --target $(GNU)
	@install -D bench/baselines/rust/target/$(GNU)/release/bench-rust bin/bench-rust

## bench-install                install absent competitors and tools. Debian (QUICK=1: only these): nginx-light lighttpd caddy
##                              busybox-static wrk slowhttptest linux-perf; Go: k6; cargo, 2 to 5 minutes each: miniserve
##                              static-web-server inferno
bench-install: $(VENV)/bench.ok
	$(PYTHON) bench install

## bench-readme                 regenerate the measurements in README.md and docs/benchmarks.md from the last full run
bench-readme: $(VENV)/bench.ok
	$(PYTHON) bench readme

## profile-rust, profile-go     draw a flame graph under load, beside the results of the last full run (QUICK=1)
$(TWINS:%=profile-%): profile-%: bin/profile/kcup-% $(VENV)/bench.ok
	$(PYTHON) bench profile $*

bin/profile/kcup-rust:
	cd kcup-rust && $(PROFILED_RUST) $(CARGO) build --release --locked --target $(MUSL) --target-dir target/profile
	@install -D kcup-rust/target/profile/$(MUSL)/release/kcup-rust $@

bin/profile/kcup-go:
	cd kcup-go && CGO_ENABLED=0 go build -trimpath -ldflags "-X main.version=$(VERSION)" -o ../$@ .

## bench-guard                  count kcup-rust's instructions per byte of a head and per response; kcup-go's guard must not allocate
bench-guard:
	@command -v valgrind >/dev/null || { echo "installing valgrind"; apt-get update -qq && apt-get install -y -qq valgrind >/dev/null; }
	cd kcup-rust && $(CARGO) build --release --locked --example guard_cost --example response_cost
	python3 bench/guard.py kcup-rust/target/release/examples
	cd kcup-go && go test -run '^$$' -bench '^BenchmarkGuard$$' -benchmem ./internal/server/guard | tee /dev/stderr | grep ' 0 allocs/op' >/dev/null

## clean                        remove what was built (the images of an engine started here stay in KCUP_ENGINE_DIR)
clean:
	rm -rf bin $(VENV) kcup-rust/target bench/baselines/rust/target release/node_modules .pytest_cache .ruff_cache

# Debian's python3 lacks ensurepip, so virtualenv or the package python3-venv is used.
$(PYTHON): | needs-python
	@python3 -m venv $(VENV) 2>/dev/null || python3 -m virtualenv --quiet $(VENV) 2>/dev/null \
	  || { echo "installing python3-venv"; apt-get update -qq && apt-get install -y -qq python3-venv >/dev/null && python3 -m venv --clear $(VENV); }

$(VENV)/%.ok: %/requirements.txt $(PYTHON)
	$(PYTHON) -m pip install --quiet --requirement $<
	@touch $@
