# The whole project by a few words: run, dev, check, test, lint, demo, deep, crash, disk, outages, chaos, tax-chaos, contract, attacks, mutants, ratchet, fuzz, soak, bench, figures, docs, site, changelog, wheel, deb, deb-try, windows-env, windows-test, windows-setup, windows-try, reproducible, pins, audit, clean. Needs Python >= 3.11, pip and make.

PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin
# The port and the folder of `make run`.
PORT   ?= 3939
STATE  ?= var
WINDOWS := build/windows
# CI takes pinned libraries, so that what has passed passes again; everybody else takes the newest.
PINNED  := $(if $(filter true,$(CI)),--constraint packaging/pins-test.txt)

.PHONY: run dev check test lint docs site changelog demo deep crash simulate-days disk outages chaos tax-chaos contract attacks mutants ratchet fuzz soak bench figures wheel deb deb-try windows-env windows-test windows-setup windows-try reproducible pins audit venv clean

run: $(VENV)/.installed          ## serve on port 3939 in training mode
	$(BIN)/dmtwisted run --training --port $(PORT) --state $(STATE)

dev: $(VENV)/.tested             ## all that a contributor needs, and checks before each commit
	$(BIN)/pre-commit install

check: $(VENV)/.tested           ## what changed since main: lint, types and the tests of its rooms
	$(BIN)/python -m tools.check

test: lint $(if $(filter true,$(CI)),$(WINDOWS)/.ready) ## lint, types and the whole suite
	$(BIN)/python -m tests.suite

lint: $(VENV)/.tested            ## ruff and strict mypy
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

docs: $(VENV)/.tested            ## the pages that are made from the code
	$(BIN)/python -m tools.config_page > docs/configuration.md
	$(BIN)/python -m tools.config_page uk > docs/uk/configuration.md
	$(BIN)/python -m tools.result_page > docs/result-codes.md
	$(BIN)/python -m tools.result_page uk > docs/uk/result-codes.md
	$(BIN)/python -m tools.roles_page
	$(BIN)/python -m tools.accounts_schema
	$(BIN)/python -m tools.law_page > docs/law.md
	$(BIN)/python -m tests.traceability
	$(BIN)/python -m tests.terminal_matrix
	$(BIN)/python -m tests.conformance_levels
	$(BIN)/python -m tests.browser.faults
	$(BIN)/python -m tests.example_day
	$(BIN)/python -m tests.demo --quiet --pictures docs/img
	DMTWISTED_PICTURES=docs/img $(BIN)/python -m twisted.trial tests.browser.pictures

site: $(VENV)/.documented        ## the pages as a site in build/site; a dead link or missing anchor stops it
	$(BIN)/python -m tests.site

changelog: $(VENV)/.documented   ## move the news fragments into CHANGELOG.md; VERSION=0.2.0
	$(BIN)/towncrier build --yes --version $(VERSION)

wheel:                           ## our wheel, its pins, bill of materials and checksums in dist/, for any system that has Python
	PYTHON="$(PYTHON)" packaging/wheels.sh dist
	PYTHON="$(PYTHON)" packaging/windows.sh dist

demo: $(VENV)/.tested            ## a day in the shop: 40 sales of all kinds, X, Z, and the books beside them
	$(BIN)/python -m tests.demo

deep: $(VENV)/.tested            ## a million random receipts against the oracle, a thousand batches with faults
	DMTWISTED_DEEP=1 $(BIN)/python -m twisted.trial tests.test_oracle tests.test_oracle_more tests.test_history \
		tests.test_batch_faults tests.test_lost_online tests.test_offline_histories tests.test_cabinet_histories

crash: $(VENV)/.tested           ## kill -9 at every crash point once and at random, on both protocols, by power cuts, on PostgreSQL, under load, in batches, under our client; a line cut in frames; an hour and a half
	$(BIN)/dmtwisted crashlab --rounds 1 --random 200 --jobs 2
	$(BIN)/dmtwisted crashlab --protocol b --rounds 1 --random 100 --away --jobs 2
	$(BIN)/dmtwisted crashlab --rounds 1 --random 50 --power
	$(BIN)/python -m tests.crash.lab_on_postgres --rounds 1 --random 50
	$(BIN)/python -m tests.crash.cut_frames --cuts 100
	$(BIN)/python -m tests.crash.kill_rounds --rounds 30
	$(BIN)/python -m tests.crash.kill_batches --rounds 30
	$(BIN)/python -m tests.crash.kill_clients --rounds 30

# A budget of shop days, or of seconds; `make simulate-days DAYS=5000`.
simulate-days: $(VENV)/.tested   ## shop days from seeds, with every fault, in one process; every interleaving of the models
	$(BIN)/python -m tests.life_model
	$(BIN)/python -m tests.simulated_days $(if $(DAYS),--days $(DAYS),--seconds $(SECONDS)) --jobs 2

disk: $(VENV)/.tested            ## errors, a full and a slow disk under load, by strace and a small file system
	$(BIN)/python -m tests.crash.disk_rounds --rounds 80

outages: $(VENV)/.tested         ## a PostgreSQL server restarted, killed, robbed of its disk under load; takeovers
	$(BIN)/python -m tests.crash.postgres_rounds --rounds 60 --takeovers 2

chaos: $(VENV)/.tested           ## 2,100 payments with faults over every terminal's wire, each line cut at every byte; 2,000 tasks at each hardware register
	$(BIN)/python -m tests.chaos --payments 2100
	$(BIN)/python -m tests.iron_chaos --receipts 2000 --seed 1
	DMTWISTED_SLOW=1 $(BIN)/python -m twisted.trial tests.test_terminal_faults

contract: $(VENV)/.tested        ## schemathesis against the real service: no answer but those of the document
	$(BIN)/python -m tests.contract_run

attacks: $(VENV)/.tested         ## every attack of tests/attacks against a real service, then sales beside them; ten minutes
	$(BIN)/python -m tests.attacks
	$(BIN)/python -m tests.attacks.sales

mutants: $(VENV)/.tested         ## break each rule of the specification on purpose: its tests have to fail; seven minutes
	$(BIN)/python -m tests.mutants

ratchet: $(VENV)/.tested         ## change single places of the code that keeps the books: tests have to fail; hours, and goes on where it was interrupted
	$(BIN)/python -m tests.ratchet

tax-chaos: $(VENV)/.tested       ## 5,000 receipts with faults at the tax service, 2,000 offline, tills without tags, and excise marks
	$(BIN)/python -m tests.tax_chaos --receipts 5000 --seed 1
	$(BIN)/python -m tests.tax_chaos --receipts 5000 --seed 1 --protocol b
	$(BIN)/python -m tests.untagged_chaos --rounds 2000 --seed 1
	$(BIN)/python -m tests.untagged_chaos --rounds 2000 --seed 1 --repeat return
	$(BIN)/python -m tests.mark_chaos --kills 1000 --seed 1
	$(BIN)/python -m tests.mail_chaos --kills 1000 --seed 1

figures: $(VENV)/.tested         ## what docs/performance.md tells, in twelve minutes on a machine that does nothing else
	$(BIN)/dmtwisted bench idle
	$(BIN)/dmtwisted bench start
	$(BIN)/dmtwisted bench peers
	$(BIN)/dmtwisted bench sales
	$(BIN)/dmtwisted bench commits
	$(BIN)/dmtwisted bench steps
	$(BIN)/dmtwisted bench open --rates 100,500,1000,1500 --seconds 4
	$(BIN)/dmtwisted bench look-ups --seconds 3
	$(BIN)/dmtwisted bench busy --seconds 3
	$(BIN)/dmtwisted bench payments --seconds 3
	$(BIN)/dmtwisted bench tls --seconds 4
	$(BIN)/dmtwisted bench tax
	$(BIN)/dmtwisted bench tax --both

# Seconds of all processes together; `make fuzz SECONDS=3600`.
SECONDS ?= 600

fuzz: $(VENV)/.fuzzing           ## coverage-guided fuzzing of every reader, shared out evenly
	$(BIN)/python -m tests.fuzz.run --seconds $(SECONDS)

MINUTES ?= 30

soak: $(VENV)/.installed         ## hours of ordinary work: does memory grow, do descriptors leak
	$(BIN)/dmtwisted soak --minutes $(MINUTES)

bench: $(VENV)/.tested           ## what a sale costs, also beside the same written with other frameworks
	$(BIN)/dmtwisted bench sales --connections 1,8,64
	$(BIN)/dmtwisted bench peers

deb:                             ## the package for Debian and Ubuntu, in dist/
	PYTHON="$(PYTHON)" packaging/debian/build.sh dist

deb-try: deb                     ## the package in an empty Debian tree: needs root, debootstrap and a mirror of Debian
	packaging/debian/try.sh "$$(ls -t dist/dmtwisted_*.deb | head -1)"

windows-env: $(WINDOWS)/.ready   ## a Python for Windows with our libraries and a Wine prefix, in build/windows

windows-test: $(VENV)/.tested $(WINDOWS)/.ready ## the suite by that Python under Wine
	$(BIN)/python -m tests.windows_suite

windows-setup:                   ## the installer for Windows, in dist/; SIGN is a command that signs the file behind it
	PYTHON="$(PYTHON)" packaging/windows/build.sh dist

windows-try: $(VENV)/.tested     ## the installer in a fresh Wine prefix: sales, kills, upgrade, rollback, uninstall; see docs/windows.md
	PYTHON="$(PYTHON)" $(BIN)/python -m tests.windows_try

reproducible:                    ## the wheel and the package twice in two folders: the same bytes, or it fails
	PYTHON="$(PYTHON)" packaging/reproducible.sh

pins: $(VENV)/.releasing         ## the newest versions that setup.cfg allows, with hashes, into packaging/pins*.txt
	$(BIN)/python -m tools.pins

audit: $(VENV)/.releasing        ## known holes in what is pinned; Error 1: there are some, Error 2: nobody could be asked
	@$(BIN)/python -m tools.audit

venv: $(VENV)/.installed

# pip of the machine fills the environment: the module that brings pip along (ensurepip) is not everywhere.
$(BIN)/python:
	$(PYTHON) -m venv --without-pip $(VENV)

$(VENV)/.installed: $(BIN)/python setup.cfg pyproject.toml
	$(PYTHON) -m pip --python $(BIN)/python install --quiet --disable-pip-version-check $(PINNED) --editable .
	touch $@

$(VENV)/.tested: $(VENV)/.installed
	$(PYTHON) -m pip --python $(BIN)/python install --quiet --disable-pip-version-check $(PINNED) --editable '.[test]'
	touch $@

$(VENV)/.documented: $(VENV)/.installed
	$(PYTHON) -m pip --python $(BIN)/python install --quiet --disable-pip-version-check $(PINNED) --editable '.[docs]'
	touch $@

$(VENV)/.releasing: $(VENV)/.installed
	$(PYTHON) -m pip --python $(BIN)/python install --quiet --disable-pip-version-check --editable '.[release]'
	touch $@

$(VENV)/.fuzzing: $(VENV)/.tested
	$(PYTHON) -m pip --python $(BIN)/python install --quiet --disable-pip-version-check --editable '.[fuzz]'
	touch $@

$(WINDOWS)/.ready: packaging/pins.txt tools/windows.py
	mkdir -p $(WINDOWS)
	PYTHON="$(PYTHON)" packaging/wheels.sh $(WINDOWS)/wheels
	$(PYTHON) -m tools.windows $(WINDOWS)/python $(WINDOWS)/wheels --wine
	WINEPREFIX="$(abspath $(WINDOWS))/prefix" WINEDEBUG=-all wineboot --init
	# COM does not work until the first session of a prefix has ended.
	WINEPREFIX="$(abspath $(WINDOWS))/prefix" sh -c 'timeout 60 wineserver --wait || wineserver --kill'
	ln -sfn "$(CURDIR)" $(WINDOWS)/prefix/dosdevices/d:
	touch $@

clean:                           ## everything that was made, but not the data in var/
	rm -rf $(VENV) build dist *.egg-info _trial_temp* .mypy_cache .ruff_cache .hypothesis
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
