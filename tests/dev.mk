# Targets for who works on the program, rather than with it. Included by the Makefile.

.PHONY: gdb attach
# By MODE=debug, or by the sanitizer that MODE names.
DEBUG_MODE := $(if $(filter release,$(MODE)),debug,$(MODE))
DEBUG_B    := $(call folder,$(DEBUG_MODE))
gdb:
	@test -n "$(T)" || { echo "make gdb T=name: a unit test, as in tests/unit/test_name.c" >&2; exit 2; }
	@.ci/deps debug && $(AGAIN) MODE=$(DEBUG_MODE) $(DEBUG_B)/tests/test_$(T)
	@CK_FORK=no gdb $(GDBFLAGS) $(DEBUG_B)/tests/test_$(T)
attach:
	@test -n "$(S)" || { echo "make attach S=name [KIT_ONLY=words]: a scenario, as in tests/scenario/name.c" >&2; exit 2; }
	@.ci/deps debug && $(AGAIN) MODE=$(DEBUG_MODE) $(DEBUG_B)/scenario/$(S) $(DEBUG_B)/bin/twice
	@TWICE=$(DEBUG_B)/bin/twice KIT_ONLY="$(KIT_ONLY)" tests/kit/attach.sh $(DEBUG_B)/scenario/$(S) $(GDBFLAGS)

# Each bench once, small (about a minute and a half): bench/smoke.sh. T=name: one of them.
.PHONY: bench-smoke
bench-smoke:
	@.ci/deps all && $(AGAIN) $(B)/bin/twice $(patsubst bench/%.c,$(B)/bench/%,$(wildcard bench/*.c))
	@BIN=$(B)/bench TWICE=$(B)/bin/twice bench/smoke.sh $(T)

# Coverage by the tests: the program is built with counters, the tests are run, and tests/coverage.sh tells. T=name:
# what that test reaches. The program alone has counters, so that tests of steps and allocations count as ever.
.PHONY: coverage coverage-run
ifeq ($(MODE),coverage)
$(B)/proxy/%.o $(B)/filter/%.o $(B)/config/%.o $(B)/proxy/http/%.o: EXTRA += --coverage -fprofile-update=atomic
endif
coverage:
	@.ci/deps test && $(AGAIN) MODE=coverage test-programs
	@$(MAKE) --no-print-directory MODE=coverage coverage-run
# A proxy that gave up being root writes its counters too, so whoever runs may write there.
coverage-run:
	@find $(B) -name '*.gcda' -delete; rm -f $(B)/errors; find $(B) -type d -exec chmod a+rwx {} +
	@umask 0; GCOV_ERROR_FILE=$(CURDIR)/$(B)/errors; export GCOV_ERROR_FILE; \
		$(RUN) $(SCENARIOS) $(UNITS) $(FUZZERS); code=$$?; tests/coverage.sh $(B) && exit $$code
