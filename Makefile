# Everything that make builds lies in .cache and can be deleted at any time.
# The machine needs git, make and Python with venv; root gets the programs of requirements/*.txt installed.

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
.PHONY: help venv collection programs demo-programs builders check format test test-all test-changed \
	demo demo-down bench mutate clean constraints root \
	ruff mypy layers vermin yamllint ansible-lint shellcheck pytest pytest-quick pytest-long \
	debian13 ordinary-user sanity units integration lab lab-more lab-debian12 test-el test-vm

help:  ## list the targets
	@grep -hE '^[a-z0-9-]+:.*## ' $(MAKEFILE_LIST) | sed 's/:[^#]*## /\t/' | expand -t 16

# A step has its usual minutes on two cores behind its name, and what it protects: CONTRIBUTING shows them,
# and CI begins only what still fits into its hour.
LINT      := ruff mypy layers vermin yamllint shellcheck
# What test-all adds to test, the most important first; the second line builds Debian systems.
LONG      := pytest-long integration units sanity
ROOT_LONG := debian13 ordinary-user lab-debian12 test-el --beside lab-more test-vm

check: venv  ## lint, types, layers and the quick tests (PART=report: of that part alone): no root, no lab, three minutes on two cores; the first run takes longer
	@.ci/steps $(LINT) pytest-quick --beside ansible-lint

format: venv  ## format the Python code and apply lint fixes
	@ruff check --quiet --fix --exit-zero
	@ruff format --quiet

test: venv programs  ## lint, types, all tests but the longest and, as root, the product in a lab: about ten minutes on two cores
	@if .ci/root; then \
	   .ci/steps $(LINT) pytest --beside lab ansible-lint; \
	 else \
	   echo 'plumbline: left out: lab' && .ci/steps $(LINT) pytest ansible-lint; \
	 fi

test-all: test  ## make test, then the rest: other releases, a virtual machine, ansible-test; an hour more (without root a part)
	@if .ci/root; then \
	   $(MAKE) --no-print-directory builders && .ci/steps $(LONG) $(ROOT_LONG) && .ci/changed --tested; \
	 else \
	   echo 'plumbline: left out: $(filter-out --%,$(ROOT_LONG))' && .ci/steps $(LONG); \
	 fi

# For .ci/run: the part of the rest that the changes ask for, in so many minutes.
test-changed: root venv programs builders
	@steps=$$(.ci/changed $(LONG) $(ROOT_LONG)) && .ci/steps --minutes $(MINUTES) $$steps

demo: demo-programs venv  ## start the lab, break it, show the alarm in Nagios, keep the lab; without root: probes, a recorded and a simulated site
	@if .ci/root 2>/dev/null; then $(VENV)/bin/python -m tests.lab.demo; \
	 else $(VENV)/bin/python -m tests.lab.without_root; fi

demo-down: root venv  ## remove every trace of the demo (root)
	@$(VENV)/bin/ansible-playbook -i inventories/lab playbooks/lab_down.yml

bench: venv programs  ## benchmarks: each check compared with Python's own start, and a site of 10,000
	@$(VENV)/bin/python -m tests.bench.checks
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

# Real daemons, browsers and tools that the tests use; a test without its own is skipped with the reason.
programs:
	@.ci/prerequisites requirements/tests.txt

# Said before the tools are installed. A user without these programs sees the scenes that need none; the lab brings its own.
demo-programs:
	@.ci/root || .ci/prerequisites requirements/debian.txt requirements/demo.txt

# What makes Debian systems and virtual machines.
builders:
	@.ci/prerequisites requirements/root.txt

# What the collection depends on, as galaxy.yml says.
$(CRYPTO): requirements/constraints.txt .ci/crypto | $(VENV_OK)
	@.ci/crypto $(VENV)/bin/python $(CACHE)/collections

# A link, so that a plug-in changed here is the plug-in that runs.
collection:
	@mkdir -p $(dir $(LINK))
	@ln -sfn ../../../.. $(LINK)

# --- the steps of check and test

ruff:  # 0.1 min: style and common errors
	@ruff check --quiet
	@ruff format --check --quiet

mypy:  # 0.3 min: types, as the nodes' Python 3.9 has them; cold one minute more
	@mypy src tests roles plugins $(CHECKS)

layers:  # 0.1 min: rooms import only rooms before them
	@lint-imports --no-logo --cache-dir $(CACHE)/import-linter

vermin:  # 0.1 min: the package and the checks run on Python 3.9
	@vermin --target=3.9- --violations --no-tips --no-parse-comments src $(CHECKS)

yamllint:  # 0.1 min: the form of YAML files
	@$(FILES) '*.yml' '*.yaml' .yamllint .ansible-lint | xargs yamllint --strict

shellcheck:  # 0.1 min: shell scripts
	@$(FILES) ':!*.j2' ':!*.md' | xargs grep -lE -m1 '^#!/(usr/)?bin/(env )?(ba|da)?sh' | xargs shellcheck

# In the order of tests/conftest.py: files with few tests are not those that take least. The probes of a lab beside it have the
# lowest priority of all, and pytest, with that of .ci/steps, the next.
PYTEST := nice -n 13 pytest --quiet --dist loadfile --no-loadscope-reorder

# More processes than cores, as tests wait for MPI, browsers and timeouts.
pytest:  # 10 min: all tests without a lab but those of pytest-long: with real MPI, browser, NRPE, playbooks
	@$(PYTEST) -n 4 -m 'not daemon'

pytest-quick:  # 1.5 min: the tests of less than half a second; make test has them in pytest
	@$(PYTEST) -n 2 -m 'not long and not slow and not daemon' $(PART:%=tests/package/parts/%)

pytest-long:  # 3 min: what waits for the clock of Nagios, and statistical studies
	@$(PYTEST) -n 4 -m daemon
	@$(PYTEST) -n 4 tests/studies

# The tests that need no daemon and no browser on the other Python: requirements/debian13.txt says which are left out and why.
debian13: root venv builders  # 5 min: the quick tests with Debian 13's Python 3.13 and programs
	@.ci/debian13 pytest-quick

# README promises that `make check` needs no root, and no program that root would have to install.
ordinary-user: root venv  # 6 min: make check on a clean clone of HEAD as a user, without the programs of requirements/tests.txt
	@.ci/ordinary-user

ansible-lint:  # 0.8 min: roles and playbooks
	@ansible-lint -q --nocolor

# pylint needs half a minute and finds what ruff finds.
sanity:  # 2 min: the rules of Ansible for collections
	@.ci/ansible-test sanity --skip-test pylint

# The plug-ins as Ansible loads them, from the collection as it would be installed.
units:  # 0.6 min: the plug-ins as Ansible loads them, from the collection as it would be installed
integration:  # 1.2 min: the plug-ins in playbooks, from the same collection
units integration:
	@.ci/ansible-test $@

# With folders of its own: pytest takes those that it shares from other users, whom tests beside it have let in.
LAB := pytest --verbose --durations=10

lab: root venv  # 10 min: hosts that boot and a real Nagios: slow disk, cable, slow link, upgrade, death of a run, pages once, idempotence, removal
	@$(LAB) -o cache_dir=.cache/pytest-lab --basetemp $(CACHE)/lab-tests -m story tests/lab/test_lab.py

lab-more: root venv  # 11 min: in the same lab: rights, a broken disk, all targets at once, profiles, delayed ranks
	@$(LAB) -o cache_dir=.cache/pytest-lab --basetemp $(CACHE)/lab-tests -m 'not story' tests/lab/test_lab.py

# A lab of its own, which stands beside the other one.
lab-debian12: root venv  # 13 min: the roles, checks and Nagios on Debian 12, a shared uplink, Prometheus
	@$(LAB) -o cache_dir=.cache/pytest-lab-debian12 --basetemp $(CACHE)/lab-debian12-tests tests/lab/test_debian12.py

# qemu needs no root; its image does.
test-vm: root venv builders  # 12 min: symptoms and probes on a real kernel: md, multipath, device-mapper, NVMe, SELinux
	@tests/vm/image
	@$(LAB) -o cache_dir=.cache/pytest-vm --basetemp $(CACHE)/vm-tests tests/vm

# A lab of its own, whose hosts become Enterprise Linux.
test-el: root venv  # 10 min: the roles on Enterprise Linux 8, 9 and 10: the real dnf with stub packages, in containers
	@$(LAB) -o cache_dir=.cache/pytest-el --basetemp $(CACHE)/el-tests tests/el
