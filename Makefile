# Every target runs in .venv, which the first one makes.
# `make test EXTRAS=all,dev` installs and tests everything; `make test PYTHON=python3.12` picks a Python.
PYTHON ?= $(shell python3.11 -c 'print("python3.11")' 2>/dev/null || echo python3)
# pybullet has wheels for Linux only, and none for Pythons after 3.11.
PHYSICS := $(shell $(PYTHON) -c 'import sys; print(",physics" if sys.platform == "linux" and sys.version_info < (3, 12) else "")')
EXTRAS ?= dev,train,teachers,video,bench,data,memory,sql,llm,screen,studio$(PHYSICS)

VENV := .venv
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip install --disable-pip-version-check -c constraints.txt
comma := ,
STAMP := $(VENV)/.installed-$(subst $(comma),-,$(EXTRAS))
DOCS_STAMP := $(VENV)/.installed-docs
RAY_STAMP := $(VENV)/.installed-ray
NEEDS_TORCH := $(filter all semantic train,$(subst $(comma), ,$(EXTRAS)))

# ray[rllib] pins another gymnasium than the tested set.
RLLIB := .venv-rllib
RLLIB_PIP := $(RLLIB)/bin/python -m pip install --disable-pip-version-check -c $(RLLIB)/constraints.txt

OLDEST := .venv-oldest
RLIABLE := .venv-rliable
ALFWORLD := .venv-alfworld
ORIGINALS := .venv-originals

# Each of these libraries gets an environment of its own, in .venv-clients/<library>.
CLIENTS := agilerl benchmarl cleanrl epymarl harnesses ipykernel minari tianshou torchrl trl
NEEDS_cleanrl := tensorboard tyro
# EPyMARL's checkout imports smaclite, which is on PYTHONPATH; sacred wants pkg_resources.
NEEDS_epymarl := pygame-ce pyyaml Rtree sacred scikit-learn "setuptools<81" tensorboard-logger
NEEDS_harnesses := langchain-core "mcp<2" openai openai-agents pydantic-ai-slim smolagents
NEEDS_minari := 'minari[hdf5]' sb3-contrib stable-baselines3
NEEDS_trl := datasets jmespath trl
TESTS_harnesses := tests/agents/test_own_harness.py
TESTS_ipykernel := tests/core/test_notebooks.py
TESTS_trl := tests/runs/test_fine_tuning.py

PEERS := .venv-peers

.PHONY: install demo test test-oldest test-ray test-rliable test-alfworld test-originals test-rllib test-clients lint types bench speed peers docs

install: $(STAMP)

demo: $(STAMP)
	$(BIN)/python examples/demo.py

# The tests run in two processes; JOBS=0 runs them in this one.
JOBS ?= 2

# They start hundreds of further processes, which must not compile every module again.
test: export PYTHONDONTWRITEBYTECODE :=
test: $(STAMP)
	$(BIN)/python -m pytest -n $(JOBS) --dist loadfile --no-loadscope-reorder

# Starts Ray clusters of two nodes on this machine, and kills one of them: jobs, collecting, curricula, RLlib and Tune.
test-ray: $(RAY_STAMP) $(RLLIB)/.installed
	PIASE_RAY=1 $(BIN)/python -m pytest tests/jobs/test_ray.py
	PIASE_RAY=1 $(RLLIB)/bin/python -m pytest tests/adapters/test_rllib_cluster.py

# The oldest versions that pyproject.toml allows; but for torch, whose old builds bring gigabytes.
test-oldest: $(OLDEST)/.installed
	$(OLDEST)/bin/python -m pytest -n $(JOBS) --dist loadfile --no-loadscope-reorder

test-rllib: $(RLLIB)/.installed
	$(RLLIB)/bin/python -m pytest tests/adapters/test_rllib.py tests/adapters/test_learners.py

# Holds our statistics to rliable's, whose intervals are slow: give it half an hour.
test-rliable: $(RLIABLE)/.installed
	$(RLIABLE)/bin/python -m pytest tests/benchmarks/test_rliable.py

# Plays homes in ALFWorld's own engine, which pip compiles, and in ours.
test-alfworld: $(ALFWORLD)/.installed
	$(ALFWORLD)/bin/python -m pytest tests/adapters/test_real_alfworld.py

# Plays games and levels in Axelrod and MiniGrid, and in ours; nashpy computes equilibria.
test-originals: $(ORIGINALS)/.installed
	$(ORIGINALS)/bin/python -m pytest tests/agents/test_axelrod.py tests/worlds/grid_world/test_minigrid.py

# CLEANRL and EPYMARL name checkouts; without them their tests are skipped. `make test-client-tianshou` tests one library.
test-clients: $(CLIENTS:%=test-client-%)

test-client-%: .venv-clients/%/.installed
	.venv-clients/$*/bin/python -m pytest -rs $(or $(TESTS_$*),tests/adapters/test_learners.py -k 'recipes_run and $*')

lint: $(STAMP)
	$(BIN)/python -m ruff check .
	$(BIN)/python -m ruff format --check .

types: $(STAMP)
	$(BIN)/python -m mypy

# `make bench BENCH=standard` plays the whole suite; the report is bench/report.html.
BENCH ?= smoke

bench: $(STAMP)
	$(BIN)/piase bench $(BENCH) --out bench
	$(BIN)/piase bench throughput --out bench
	$(BIN)/python -m piase_gym.benchmarks.speed --out bench/speed.json

# Measures what docs/speed.md tells, on this machine, and writes its tables anew.
speed: $(STAMP)
	$(BIN)/python -m piase_gym.benchmarks.speed
	$(BIN)/python docs/make_pages.py

# What `make bench` and `make speed` compare our worlds with, if it is there.
peers: $(PEERS)/.installed $(PEERS)-jax/.installed

docs: $(DOCS_STAMP)
	$(BIN)/python -m sphinx -W --keep-going -q -b html docs docs/_build/html
	@echo "The pages are in docs/_build/html/index.html"

$(BIN)/pip:
	@$(PYTHON) -c 'import sys; sys.exit(not (3, 11) <= sys.version_info[:2] < (3, 15))' \
		|| { echo "piase_gym needs Python 3.11, 3.12, 3.13 or 3.14; try: make PYTHON=/path/to/python3.11"; exit 1; }
	$(PYTHON) -m venv $(VENV)

# torch goes first and alone, so that the pinned build is the one every other package finds.
$(STAMP): pyproject.toml constraints.txt | $(BIN)/pip
	$(if $(NEEDS_TORCH),$(PIP) torch)
	$(PIP) -e '.[$(EXTRAS)]'
	@touch $@

$(DOCS_STAMP): $(STAMP)
	$(PIP) -e '.[docs]'
	@touch $@

$(RAY_STAMP): $(STAMP)
	$(PIP) -e '.[ray]'
	@touch $@

$(RLLIB)/.installed: pyproject.toml constraints.txt
	$(PYTHON) -m venv $(RLLIB)
	grep -v '^gymnasium==' constraints.txt > $(RLLIB)/constraints.txt
	$(RLLIB_PIP) torch
	$(RLLIB_PIP) -e '.[rllib,dev]'
	@touch $@

# Later releases of these two warn of how the oldest Typer and Matplotlib use them.
$(OLDEST)/.installed: pyproject.toml
	$(PYTHON) -m venv $(OLDEST)
	$(OLDEST)/bin/python -m pip install --disable-pip-version-check uv
	$(OLDEST)/bin/uv pip install --python $(OLDEST)/bin/python --resolution lowest-direct \
		-e '.[dev,teachers,video,bench,data,memory,sql,llm,screen,studio$(PHYSICS)]' 'click>=8.3.1,<8.5' 'pyparsing>=3.2,<3.3'
	@touch $@

# arch, on which rliable stands, needs a pandas before 3.
$(RLIABLE)/.installed: pyproject.toml constraints.txt
	$(PYTHON) -m venv $(RLIABLE)
	$(RLIABLE)/bin/python -m pip install --disable-pip-version-check -e '.[dev]' rliable 'pandas<3'
	@touch $@

$(ALFWORLD)/.installed: pyproject.toml constraints.txt
	$(PYTHON) -m venv $(ALFWORLD)
	$(ALFWORLD)/bin/python -m pip install --disable-pip-version-check -e '.[dev]' alfworld
	@touch $@

$(ORIGINALS)/.installed: pyproject.toml constraints.txt
	$(PYTHON) -m venv $(ORIGINALS)
	$(ORIGINALS)/bin/python -m pip install --disable-pip-version-check -c constraints.txt -e '.[dev]' axelrod minigrid nashpy
	@touch $@

.PRECIOUS: .venv-clients/%/.installed
.venv-clients/%/.installed: pyproject.toml constraints.txt
	$(PYTHON) -m venv .venv-clients/$*
	grep '^torch==' constraints.txt > .venv-clients/$*/constraints.txt
	.venv-clients/$*/bin/python -m pip install --disable-pip-version-check -c .venv-clients/$*/constraints.txt torch
	.venv-clients/$*/bin/python -m pip install --disable-pip-version-check -c .venv-clients/$*/constraints.txt \
		-e '.[dev]' $(or $(NEEDS_$*),$*)
	@touch $@

$(PEERS)/.installed:
	$(PYTHON) -m venv $(PEERS)
	$(PEERS)/bin/python -m pip install --disable-pip-version-check \
		envpool lbforaging minigrid mpe2 panda-gym rware textworld
	@touch $@

$(PEERS)-jax/.installed:
	$(PYTHON) -m venv $(PEERS)-jax
	$(PEERS)-jax/bin/python -m pip install --disable-pip-version-check \
		gymnax jaxmarl jumanji six xminigrid
	@touch $@
