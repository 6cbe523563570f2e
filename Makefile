# The front door. Every target first installs what it needs (scripts/bootstrap.sh does nothing where it is there).
JOBS ?= $(shell nproc)

.PHONY: help demo test soak test-arm64 build-macos bench format lint release

help:
	@echo "make demo        build, measure a real multi-threaded program, show what was recorded"
	@echo "make test        build everything with warnings as errors and run every test"
	@echo "make soak        record programs that do their worst for SECONDS=1800, with forks, signals, jumps and kills"
	@echo "make test-arm64  cross-compile it for arm64 Linux and run the tests under qemu-user"
	@echo "make build-macos cross-compile and link it for macOS, arm64 and x86-64, and look at what it links"
	@echo "make bench       build the benchmarks and print each figure beside its goal"
	@echo "make format      put all sources into the house's style"
	@echo "make release     build VERSION=x.y.z and put together what is given away of it, with checksums and notes"
	@echo "make lint        clang-format, clang-tidy, ruff and the browser's C++ subset, without changing anything"
	@echo "JOBS=n sets how many jobs run at once ($(JOBS)); CONFIGURE=-DOPTION=VALUE configures what make test builds"

demo:
	@scripts/bootstrap.sh build
	@scripts/demo.sh $(JOBS)

test:
	@scripts/bootstrap.sh build test
	@scripts/peers.sh || echo "peers: not installed; the tests that compare kymo with them are left out"
	@scripts/test.sh dev $(JOBS) $(CONFIGURE)

soak:
	@scripts/bootstrap.sh build test
	@scripts/soak.sh $(or $(SECONDS),1800) $(JOBS) $(CONFIGURE)

test-arm64:
	@scripts/bootstrap.sh build arm64
	@scripts/test-arm64.sh $(JOBS)

build-macos:
	@scripts/bootstrap.sh build web
	@scripts/test-macos.sh $(JOBS)

bench:
	@scripts/bootstrap.sh build bench
	@scripts/bench.sh $(JOBS)

format:
	@scripts/bootstrap.sh lint
	@scripts/format.sh

lint:
	@scripts/bootstrap.sh lint test
	@scripts/peers.sh || echo "peers: not installed; Python is not looked at"
	@scripts/lint.sh $(JOBS)

release:
	@scripts/bootstrap.sh build web test
	@cmake --preset release
	@cmake --build --preset release -j $(JOBS)
	@JOBS=$(JOBS) scripts/release.sh $(VERSION)
