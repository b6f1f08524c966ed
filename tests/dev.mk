# Targets for who works on the program, rather than with it. Included by the Makefile.

.PHONY: gdb attach
# By MODE=debug, or by the sanitizer that MODE names.
DEBUG_MODE := $(if $(filter release,$(MODE)),debug,$(MODE))
DEBUG_B    := build/$(DEBUG_MODE)$(if $(findstring clang,$(CC)),-clang)
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
