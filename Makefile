# Everything a contributor does, each with one command. Needs Go, git and make;
# what else a target needs it fetches itself, or it names the command that does.

.DEFAULT_GOAL := help
.NOTPARALLEL:
.DELETE_ON_ERROR:

# Tests see neither the settings of the person who runs them nor, when they are
# run from a git hook, the repository of that hook.
$(foreach v,$(filter PI_WORKFLOWS_%,$(.VARIABLES)) GIT_DIR GIT_WORK_TREE GIT_INDEX_FILE,$(eval unexport $(v)))

PLATFORMS := linux/amd64 linux/arm64 darwin/amd64 darwin/arm64 windows/amd64
VERSION    = $(shell git describe --tags --always --dirty 2>/dev/null || echo dev)

# The version is stamped by us, so that a checkout owned by somebody else builds
# too: git refuses to describe it, and go build would stop there.
BUILD = CGO_ENABLED=0 go build -buildvcs=false -ldflags '-X main.version=$(VERSION)'

# vet has its own step with the flags of the tests, so that both share one
# compilation; -shuffle finds tests that lean on each other.
TEST = CGO_ENABLED=1 .tools/gotestsum --format pkgname-and-test-fails --format-hide-empty-pkg -- -race -vet=off -shuffle=on

.PHONY: help
help: ## Show this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-8s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

.PHONY: demo
demo: bin/pi-workflows ## Merge real Git branches through a controller; ARGS='--dir D' keeps the result
	bin/pi-workflows demo $(ARGS)

.PHONY: test
test: require-cc vet lint unit fuzz e2e ## Vet, lint, unit tests with the race detector, a little fuzzing, end-to-end tests

.PHONY: stress
stress: require-cc .tools/built ## The long runs: crashes at every durable step, faults, random operations, and fuzzing for FUZZTIME each (60s)
	PI_WORKFLOWS_STRESS=1 $(TEST) -count=1 -timeout 4h -run 'Stress|Crash|Faults|Model' ./...
	scripts/fuzz.sh $(FUZZTIME)

.PHONY: bench
bench: ## Run the Go benchmarks
	go test -run '^$$' -bench . -benchmem ./...

.PHONY: lint
lint: .tools/built ## golangci-lint, and go.mod is tidy
	CGO_ENABLED=0 .tools/golangci-lint run
	go mod tidy -diff

.PHONY: build
build: $(PLATFORMS) ## Cross-compile static binaries into dist/

.PHONY: clean
clean: ## Remove everything that make has made
	rm -rf bin dist .tools

# The steps of `make test`, for one at a time.

.PHONY: require-cc
require-cc:
	@scripts/require-cc.sh

.PHONY: vet
vet:
	CGO_ENABLED=1 go vet -race ./...

.PHONY: unit
unit: .tools/built
	$(TEST) -timeout 15m $$(go list ./... | grep -v '^piworkflows/test/')

.PHONY: fuzz
fuzz:
	CGO_ENABLED=0 scripts/fuzz.sh $(or $(FUZZTIME),3s)

.PHONY: e2e
e2e: .tools/built
	$(TEST) -timeout 20m ./test/...

# What they are made of.

.PHONY: bin/pi-workflows
bin/pi-workflows:
	$(BUILD) -o $@ ./cmd/pi-workflows

.PHONY: $(PLATFORMS)
$(PLATFORMS): os = $(@D)
$(PLATFORMS): arch = $(@F)
$(PLATFORMS):
	GOOS=$(os) GOARCH=$(arch) $(BUILD) -trimpath -o dist/pi-workflows_$(os)_$(arch)$(if $(filter windows,$(os)),.exe) ./cmd/pi-workflows

.tools/built: tools/go.mod tools/go.sum
	CGO_ENABLED=0 go build -C tools -buildvcs=false -o ../.tools/ tool
	@touch $@
