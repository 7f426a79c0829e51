# make demo and make test need Go 1.26 or later and nothing else.

.DEFAULT_GOAL := help
.PHONY: help demo build suites examples harnesses test test-race lint fmt bench fuzz cover vuln clean go-version tiny-model frameworks verdicts gateway-bench gateway-soak gateway-clients columns

FUZZTIME ?= 10s
TOOLBIN  ?= $(or $(XDG_CACHE_HOME),$(HOME)/.cache)/agentbound/tools-$(shell cksum <tools/go.sum | cut -d' ' -f1)

demo: build ## run the built-in suite with the reference agents; no key, no network
	bin/agentbound demo

build: go-version ## build bin/agentbound
	CGO_ENABLED=0 go build -o bin/agentbound ./cmd/agentbound

suites: go-version ## build the embedded suites again from suites/core
	go run ./cmd/agentbound suite build suites/core --out suites/core.suite
	go run ./cmd/agentbound suite build suites/core --draw 100 --name core-small --out suites/core-small.suite

test: go-version ## gofmt, go vet and all tests; ends with how many passed
	@unformatted=$$(gofmt -l .) || exit 1; \
	if [ -n "$$unformatted" ]; then printf 'not formatted (make fmt):\n%s\n' "$$unformatted"; exit 1; fi
	go vet ./...
	go -C tools vet ./testsum
	go -C tools test ./testsum
	@go -C tools build -o ../bin/testsum ./testsum
	bin/testsum -timeout 20m ./...

# The packages that start goroutines or import sync; the others would only be slow.
EXAMPLES := $(or $(XDG_CACHE_HOME),$(HOME)/.cache)/agentbound/examples

examples: $(EXAMPLES)/node_modules/.package-lock.json ## the compiler that tests of the TypeScript example need on Node before 22.18

$(EXAMPLES)/node_modules/.package-lock.json: examples/exec/package.json examples/exec/package-lock.json
	mkdir -p $(EXAMPLES)
	cp $^ $(EXAMPLES)
	npm ci --prefix $(EXAMPLES) --no-audit --no-fund

HARNESSES ?= codex openclaw deepseek-harness claude-code gemini-cli qwen-code opencode

harnesses: build ## install the agent programs (2.8 GB, minutes; HARNESSES="codex": 0.4 GB) and play them against a scripted model (docs/harnesses.txt)
	bin/agentbound harness install $(HARNESSES)
ifeq ($(origin HARNESSES),file)
	scripts/harnesses.sh $(HARNESSES) >docs/harnesses.txt.new || { cat docs/harnesses.txt.new; rm docs/harnesses.txt.new; exit 1; }
	mv docs/harnesses.txt.new docs/harnesses.txt
	cat docs/harnesses.txt
else
	scripts/harnesses.sh $(HARNESSES)
endif

verdicts: go-version ## all of core-small through each protocol's peer gives the same verdicts (ten minutes)
	go test ./model/modeltest -run TestVerdicts -families 100 -timeout 100m

columns: go-version ## all columns on core-small beside scripted subjects: Tables 3 and 4 (docs/columns.md; a quarter of an hour)
	go test ./cmd/agentbound -run TestColumnsDocument -columns "$(CURDIR)/docs/columns.md" -timeout 100m

FRAMEWORKS := $(or $(XDG_CACHE_HOME),$(HOME)/.cache)/agentbound/frameworks

frameworks: go-version ## outside frameworks join through MCP, and the official tools check our server; fetches them (docs/frameworks.txt)
	scripts/frameworks.sh $(FRAMEWORKS) >docs/frameworks.txt.new || { cat docs/frameworks.txt.new; rm docs/frameworks.txt.new; exit 1; }
	mv docs/frameworks.txt.new docs/frameworks.txt
	cat docs/frameworks.txt

gateway-bench: go-version ## what the gateway adds beside a bare reverse proxy (docs/gateway-bench.txt; some minutes, quiet machine)
	scripts/gateway-bench.sh bench 5s >docs/gateway-bench.txt.new || { cat docs/gateway-bench.txt.new; rm docs/gateway-bench.txt.new; exit 1; }
	mv docs/gateway-bench.txt.new docs/gateway-bench.txt
	cat docs/gateway-bench.txt

gateway-soak: go-version ## ten minutes of load on the gateway: memory and files do not grow (docs/gateway-soak.txt)
	scripts/gateway-bench.sh soak 10m >docs/gateway-soak.txt.new || { cat docs/gateway-soak.txt.new; rm docs/gateway-soak.txt.new; exit 1; }
	mv docs/gateway-soak.txt.new docs/gateway-soak.txt
	cat docs/gateway-soak.txt

GATEWAY_CLIENTS := $(or $(XDG_CACHE_HOME),$(HOME)/.cache)/agentbound/gateway-clients

gateway-clients: go-version ## the official OpenAI and Anthropic clients behind the gateway; fetches them (docs/gateway-clients.txt)
	scripts/gateway-clients.sh $(GATEWAY_CLIENTS) >docs/gateway-clients.txt.new || { cat docs/gateway-clients.txt.new; rm docs/gateway-clients.txt.new; exit 1; }
	mv docs/gateway-clients.txt.new docs/gateway-clients.txt
	cat docs/gateway-clients.txt

test-race: go-version ## tests of the concurrent packages under the race detector, without the longest (needs a C compiler)
	@packages=$$(grep -rlE '^[[:space:]]+go [a-zA-Z]|"(golang.org/x/)?sync[/"]' --include '*.go' --exclude-dir tools . | sed "s,/[^/]*$$,," | sort -u); \
	if [ -z "$$packages" ]; then echo 'no package is concurrent yet'; exit 0; fi; \
	set -x; CGO_ENABLED=1 go test -race -short -timeout 30m $$packages

lint: $(TOOLBIN)/golangci-lint ## golangci-lint with .golangci.yml; the first time builds it, some minutes
	$< run ./...

fmt: ## gofmt everything
	gofmt -w .

MODEL ?= qwen-1.5b
TASKS ?= --suite core-small --limit 4 --splits eb,cm,hb --form react --repeats 1 --max-steps 12 --max-tokens 400 --temperature 0.7 --concurrency 1

tiny-model: build ## a real, tiny language model on the first tasks of core-small (fetches 1.1 GB, builds llama.cpp; MODEL=, TASKS=)
	scripts/tiny-model.sh $(MODEL) -- $(TASKS)

bench: go-version ## all benchmarks
	go test -run '^$$' -bench . -benchmem ./...

fuzz: go-version ## every fuzz target for FUZZTIME each (10s)
	@for package in $$(go list ./...); do \
	  for target in $$(go test -list '^Fuzz' "$$package" | grep '^Fuzz'); do \
	    echo "== $$package $$target"; \
	    go test -run '^$$' -fuzz "^$$target\$$" -fuzztime $(FUZZTIME) "$$package" || exit 1; \
	  done; \
	done

cover: go-version ## coverage by function, the total last; coverage.out for go tool cover -html
	go test -coverpkg ./... -coverprofile coverage.out ./...
	go tool cover -func coverage.out

vuln: $(TOOLBIN)/govulncheck ## known vulnerabilities in what we call
	scripts/vuln.sh $<

clean: ## remove what make built here
	rm -rf bin coverage.out

help: ## this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## /{printf "make %-15s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

go-version:
	@command -v go >/dev/null || { echo 'agentbound needs Go 1.26 or later; no go is on PATH. See https://go.dev/dl/'; exit 1; }
	@v=$$(go env GOVERSION); case $$v in \
	go1.2[6-9]* | go1.[3-9][0-9]* | go[2-9]* | devel*) ;; \
	*) echo "agentbound needs Go 1.26 or later; this is $$v. See https://go.dev/dl/"; exit 1 ;; esac

$(TOOLBIN)/golangci-lint:
	GOBIN=$(TOOLBIN) go -C tools install github.com/golangci/golangci-lint/v2/cmd/golangci-lint

$(TOOLBIN)/govulncheck:
	GOBIN=$(TOOLBIN) go -C tools install golang.org/x/vuln/cmd/govulncheck
