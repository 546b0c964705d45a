# Everything that make builds lies in .cache and can be deleted at any time.
# The machine needs git and make; `make` installs the rest of requirements/*.txt when it is root.

PYTHON  ?= /usr/bin/python3
CACHE   := $(CURDIR)/.cache
VENV    := $(CACHE)/venv
VENV_OK := $(VENV)/.complete
LINK    := $(CACHE)/collections/ansible_collections/hpcops/plumbline
CRYPTO  := $(CACHE)/collections/ansible_collections/community/crypto/MANIFEST.json

# ansible-lint and ansible-test start ansible by name.
export PATH := $(VENV)/bin:$(PATH)
export HYPOTHESIS_STORAGE_DIRECTORY := $(CACHE)/hypothesis
export PYTHONUNBUFFERED := 1
# Tests start thousands of processes: each would compile all that it imports anew.
unexport PYTHONDONTWRITEBYTECODE

# Tracked files and new ones, never what .gitignore names.
FILES  := git ls-files --cached --others --exclude-standard
CHECKS := $(wildcard checks/check_*)

.DEFAULT_GOAL := help
.PHONY: help venv collection programs check format test demo demo-down bench mutate clean constraints root \
	ruff mypy layers vermin yamllint ansible-lint shellcheck pytest pytest-quick \
	debian13 ordinary-user sanity units integration lab lab-debian12 test-el test-vm

help:  ## list the targets
	@grep -hE '^[a-z0-9-]+:.*## ' $(MAKEFILE_LIST) | sed 's/:[^#]*## /\t/' | expand -t 16

check: venv programs  ## lint, types, layers and the quick tests: no root, no lab, three minutes on two cores; the first run takes longer
	@.ci/steps ruff mypy layers vermin yamllint shellcheck pytest-quick --beside ansible-lint

format: venv  ## format the Python code and apply lint fixes
	@ruff check --quiet --fix --exit-zero
	@ruff format --quiet

# Steps of test that need no root, and those that build Debian systems.
STEPS      := ruff mypy layers vermin yamllint shellcheck pytest ansible-lint sanity units integration
ROOT_STEPS := debian13 ordinary-user lab-debian12 test-el --beside lab test-vm

test: venv programs  ## everything: check, Debian 13's Python, Ansible's sanity tests, the lab test (without root a part)
	@if .ci/root; then \
	   .ci/prerequisites requirements/root.txt && .ci/steps $(STEPS) $(ROOT_STEPS); \
	 else \
	   echo 'plumbline: left out: $(filter-out --%,$(ROOT_STEPS))' && .ci/steps $(STEPS); \
	 fi

demo: venv  ## start the lab, break it, show the alarm in Nagios, keep the lab; without root: probes, a recorded and a simulated site
	@if .ci/root; then $(VENV)/bin/python -m tests.lab.demo; \
	 else $(VENV)/bin/python -m tests.lab.without_root; fi

demo-down: root venv  ## remove every trace of the demo (root)
	@$(VENV)/bin/ansible-playbook -i inventories/lab playbooks/lab_down.yml

bench: venv programs  ## benchmarks: a check compared with Python's own start, and a site of 10,000
	@$(VENV)/bin/python tests/bench/checks.py
	@$(VENV)/bin/python -m tests.bench.evidence
	@$(VENV)/bin/python -m tests.bench.parallel
	@$(VENV)/bin/python tests/bench/fit_noise.py
	@$(VENV)/bin/python tests/bench/counters.py
	@$(VENV)/bin/python -m tests.bench.collecting
	@$(VENV)/bin/python -m tests.bench.judging
	@$(VENV)/bin/python -m tests.bench.reporting

mutate: venv programs  ## mutation tests of the judge's comparisons and numbers (MODULES="recursion weighing")
	@$(VENV)/bin/python -m pip install --quiet --constraint requirements/constraints.txt --group mutate
	@nice -n 19 $(VENV)/bin/python -m tests.bench.mutate_judge $(addprefix --module ,$(MODULES))

clean:  ## delete build products, except the lab's cache
	@rm -rf .ansible dist
	@find .cache -mindepth 1 -maxdepth 1 ! -name lab -exec rm -rf {} + 2>/dev/null || true
	@find . -path ./.cache -prune -o -name __pycache__ -type d -exec rm -rf {} +

constraints:  ## pin the newest versions of all tools
	@.ci/venv $(PYTHON) $(CACHE)/constraints /dev/null
	@$(CACHE)/constraints/bin/pip install --quiet --constraint /dev/null --group mutate
	@$(CACHE)/constraints/bin/pip install --quiet --constraint /dev/null --no-deps --group collections
	@{ echo '# Written by `make constraints`: what a clean installation of today gave.'; \
	   $(CACHE)/constraints/bin/pip freeze --all --exclude-editable --exclude setuptools; \
	 } > requirements/constraints.txt
	@rm -rf $(CACHE)/constraints

# --- what the targets above need

root:
	@.ci/root

venv: $(VENV_OK) collection $(CRYPTO)

$(VENV_OK): pyproject.toml requirements/constraints.txt .ci/venv
	@.ci/prerequisites requirements/debian.txt
	@.ci/venv $(PYTHON) $(VENV) requirements/constraints.txt $^

# Real daemons, browsers and tools that the tests use.
programs:
	@.ci/prerequisites requirements/tests.txt

# What the collection depends on, as galaxy.yml says.
$(CRYPTO): requirements/constraints.txt .ci/crypto | $(VENV_OK)
	@.ci/crypto $(VENV)/bin/python $(CACHE)/collections

# A link, so that a plug-in changed here is the plug-in that runs.
collection:
	@mkdir -p $(dir $(LINK))
	@ln -sfn ../../../.. $(LINK)

# --- the steps of check and test

ruff:
	@ruff check --quiet
	@ruff format --check --quiet

mypy:
	@mypy src tests roles plugins $(CHECKS)

layers:
	@lint-imports --no-logo --cache-dir $(CACHE)/import-linter

vermin:
	@vermin --target=3.9- --violations --no-tips --no-parse-comments src $(CHECKS)

yamllint:
	@$(FILES) '*.yml' '*.yaml' .yamllint .ansible-lint | xargs yamllint --strict

shellcheck:
	@$(FILES) ':!*.j2' ':!*.md' | xargs grep -lE -m1 '^#!/(usr/)?bin/(env )?(ba|da)?sh' | xargs shellcheck

# In the order of tests/conftest.py: files with few tests are not those that take least.
PYTEST := pytest --quiet -n 2 --dist loadfile --no-loadscope-reorder

pytest:
	@$(PYTEST)

pytest-quick:
	@$(PYTEST) -m 'not long and not slow'

# The tests that need no daemon and no browser on the other Python: requirements/debian13.txt says which are left out and why.
debian13: root venv  ## the quick tests on Debian 13 with Python 3.13 (root)
	@.ci/debian13 pytest-quick

# README promises that `make check` needs no root.
ordinary-user: root venv programs  ## make check on a clean clone of HEAD as a temporary user (root)
	@.ci/ordinary-user

ansible-lint:
	@ansible-lint -q --nocolor

# pylint needs half a minute and finds what ruff finds.
# The package's tests bring tools that pretend, which it would take for modules; what tools printed,
# or once broke a reader, need not be text.
sanity:
	@.ci/ansible-test sanity --skip-test pylint --exclude tests/package/ --exclude tests/data/

# The plug-ins as Ansible loads them, from the collection as it would be installed.
units integration:
	@.ci/ansible-test $@

# With folders of its own: pytest takes those that it shares from other users, whom tests beside it have let in.
lab:
	@pytest --verbose --durations=10 -o cache_dir=.cache/pytest-lab --basetemp $(CACHE)/lab-tests --ignore tests/lab/test_debian12.py tests/lab

# qemu needs no root; its image does.
test-vm: root venv  ## symptoms and probes on a real kernel: md, multipath, device-mapper, NVMe (root for the image)
	@.ci/prerequisites requirements/root.txt
	@tests/vm/image
	@pytest --verbose --durations=5 -o cache_dir=.cache/pytest-vm --basetemp $(CACHE)/vm-tests tests/vm

# A lab of its own, which stands beside the other one.
lab-debian12:
	@pytest --verbose --durations=10 -o cache_dir=.cache/pytest-lab-debian12 --basetemp $(CACHE)/lab-debian12-tests tests/lab/test_debian12.py

# A lab of its own, whose hosts become Enterprise Linux.
test-el: root venv  ## the roles on Enterprise Linux 8, 9 and 10: the real dnf with stub packages, in containers (root)
	@pytest --verbose --durations=5 -o cache_dir=.cache/pytest-el --basetemp $(CACHE)/el-tests tests/el
