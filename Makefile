# Each target installs what it needs first: a newcomer needs git, make and Node.js (20 or newer; hack/node brings 24).

NODE := hack/node
MODULES := node_modules/.package-lock.json
ARGS ?=
TESTS ?= quick

.DEFAULT_GOAL := help
.PHONY: help install check format generate test test-slow coverage build bundle demo bench e2e soak run clean

help: ## Show the targets.
	@awk 'BEGIN { FS = ":.*## " } /^[a-z0-9-]+:.*## / { printf "  make %-10s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

$(MODULES): package.json package-lock.json
	@echo 'Installing the dependencies of package-lock.json with npm ci; once, until they change ...'
	@npm ci --no-audit --no-fund --loglevel=error
	@touch $(MODULES)

install: $(MODULES) ## Install the dependencies (npm ci) and, where PATH has none, Node.js 24.
	@$(NODE) --prepare

check: $(MODULES) ## Format, lint, types, layers, dead exports, names, generated files, and whether pages say what is so. ARGS=facts for one.
	$(NODE) hack/check.ts $(ARGS)

format: $(MODULES) ## Format all sources.
	npm run --silent format

generate: $(MODULES) ## Write what is generated anew: parts of docs, README and charts, lists, and what pages show of commands.
	$(NODE) hack/generate.ts
	@UPDATE_DOCS=1 $(NODE) test/support/runner/main.ts pages

test: $(MODULES) ## Unit and integration tests; needs no root and no network but npm's. TESTS=file, ARGS="-g 'title'" for some.
	@$(NODE) test/support/runner/main.ts $(TESTS) $(ARGS)

test-slow: $(MODULES) ## Tests that pack, bundle, fuzz, or test the test tools.
	@$(NODE) test/support/runner/main.ts slow $(ARGS)

coverage: $(MODULES) ## Both with coverage and its thresholds.
	npm run --silent coverage

build: $(MODULES) ## JavaScript and declarations for importers (dist/).
	npm run --silent build

bundle: $(MODULES) ## One self-contained file a command (dist/bundle/).
	npm run --silent bundle

demo: $(MODULES) ## See the whole story in under a minute. ARGS=--keep leaves it running; KUBERNETES=real plays it on a real control plane.
	@echo 'Starting a cluster and the commands for the demo ...'
	@$(NODE) test/demo/main.ts $(if $(KUBERNETES),--kubernetes $(KUBERNETES)) $(ARGS)

bench: $(MODULES) ## Benchmarks side by side with a Go peer. ARGS=--quick for a short one.
	$(NODE) test/bench/main.ts $(ARGS)

e2e: $(MODULES) ## Real etcd, kube-apiserver, kube-controller-manager and kube-proxies; needs root, Go, iproute2 and nftables.
	@test/e2e/run $(SUITES) $(ARGS)

soak: $(MODULES) ## The long forms of the same. SUITES=chaos,scale for some, VERSIONS=all or 1.31,1.33, ARGS=--help.
	@test/e2e/soak $(if $(SUITES),--suites $(SUITES)) $(if $(VERSIONS),--versions $(VERSIONS)) $(ARGS)

run: $(MODULES) ## settings-reconciler against a cluster: make run KUBECONFIG=... CONFIG=... ARGS=--dry-run
	$(NODE) cmd/settings-reconciler/main.ts $(if $(KUBECONFIG),--kubeconfig $(KUBECONFIG)) $(if $(CONFIG),--config $(CONFIG)) $(ARGS)

clean: ## Remove what the targets made, except the downloads.
	rm -rf dist coverage .cache
