# twice - a caching HTTP reverse proxy that writes to disk only what was seen before
#
#   make run            build, then `twice demo`: the main job on a CDN-like mix, with a report
#   make run ORIGIN=U   build, then front the origin U instead
#   make test           all tests (T=name: one unit test or scenario)
#   make bench          measurements; see bench/README.md
#   make lint           layers, purity, format, shape of the code
#   make install        to PREFIX (/usr/local): twice, and the filter library with header and .pc
#   make deps           install what is missing (Debian/Ubuntu, as root)
#   make clean | help
#
#   MODE=release|asan|tsan|fuzz   WERROR=1   CC=gcc|clang

MODE    ?= release
PREFIX  ?= /usr/local
B       := build/$(MODE)
ROOMS   := filter proxy/base proxy/http proxy/cache proxy/origin proxy/edge proxy/admin proxy/cli config
LIBROOMS := $(filter-out proxy/cli,$(ROOMS))

WARN := -Wall -Wextra -Wshadow -Wundef -Wvla -Wformat=2 -Wwrite-strings -Wstrict-prototypes \
        -Wmissing-prototypes -Wpointer-arith -Wcast-qual $(if $(WERROR),-Werror)
OPT_release := -O2
OPT_asan    := -O1 -fsanitize=address,undefined -fno-sanitize-recover=undefined -fno-omit-frame-pointer
OPT_tsan    := -O1 -fsanitize=thread -fno-omit-frame-pointer
OPT_fuzz    := -O1 -fsanitize=fuzzer-no-link,address,undefined -fno-sanitize-recover=undefined
OPT := $(OPT_$(MODE))
VERSION := $(shell git describe --tags --always --dirty 2>/dev/null || echo unknown)

PKGS := libevent_core libcurl openssl libcyaml libxxhash jansson
# Only where something is compiled: `make help`, `make deps` work on a bare machine.
PKG_CFLAGS = $(shell pkg-config --cflags $(PKGS) check)
PKG_LIBS   = $(shell pkg-config --libs $(PKGS)) -lm -pthread
CFLAGS  ?= -g
ALLFLAGS = -std=c11 -D_GNU_SOURCE -I. $(WARN) $(OPT) $(CFLAGS) -pthread -MMD -MP
PURE     = -Wconversion

src  = $(wildcard $(1)/*.c)
obj  = $(patsubst %.c,$(B)/%.o,$(call src,$(1)))
lib  = $(B)/lib/lib$(notdir $(1)).a
# Link order: a room before those it uses.
ORDER := config proxy/admin proxy/edge proxy/origin proxy/cache proxy/http proxy/base filter
LIBS  := $(foreach r,$(ORDER),$(call lib,$(r)))

.DEFAULT_GOAL := build/twice
.PHONY: run test unit scenario lint bench install deps clean help all
.SECONDEXPANSION:

build/twice: $(B)/bin/twice
	@mkdir -p build && cp -f $< $@
$(B)/bin/twice: $(call obj,proxy/cli) $(LIBS)
	@mkdir -p $(@D)
	$(CC) $(ALLFLAGS) -o $@ $(call obj,proxy/cli) $(LIBS) $(PKG_LIBS)

define room_lib
$(call lib,$(1)): $$(call obj,$(1))
	@mkdir -p $$(@D) && rm -f $$@ && ar rcs $$@ $$^
endef
$(foreach r,$(ROOMS),$(eval $(call room_lib,$(r))))

$(B)/filter/%.o $(B)/proxy/http/%.o: EXTRA = $(PURE)
$(B)/proxy/cli/%.o: EXTRA = -DTWICE_VERSION='"$(VERSION)"'
$(B)/%.o: %.c
	@mkdir -p $(@D)
	$(CC) $(ALLFLAGS) $(EXTRA) $(PKG_CFLAGS) -c -o $@ $<

# A unit test names the rooms it may link in its first lines: "rooms: http base".
rooms_of = $(foreach r,$(shell sed -n '1,5s/.*rooms: *\([a-z ]*\).*/\1/p' $(1)),$(B)/lib/lib$(r).a)
UNITS := $(patsubst tests/unit/%.c,$(B)/tests/%,$(wildcard tests/unit/test_*.c))
$(B)/tests/test_%: tests/unit/test_%.c tests/kit/unit.h $$(call rooms_of,tests/unit/test_$$*.c)
	@mkdir -p $(@D)
	$(CC) $(ALLFLAGS) $(PKG_CFLAGS) -o $@ $< $(call rooms_of,$<) $(shell pkg-config --libs check) $(PKG_LIBS)

unit: $(if $(T),$(wildcard $(B)/tests/test_$(T)) $(B)/tests/test_$(T),$(UNITS))
	@for t in $(sort $^); do $$t || exit 1; done

# Programs of bench/: clients and yardsticks, no room of the proxy but the ones clients need; filters.
BENCHES := $(patsubst bench/%.c,$(B)/bench/%,$(wildcard bench/*.c))
BENCHLIBS := $(call lib,proxy/cli) $(call lib,proxy/http) $(call lib,proxy/base) $(call lib,filter)
$(B)/bench/%: bench/%.c $(BENCHLIBS)
	@mkdir -p $(@D)
	$(CC) $(ALLFLAGS) -o $@ $< $(BENCHLIBS) $(shell pkg-config --libs libxxhash) -lm

bench: build/twice $(BENCHES)
	bench/mix.sh 50000
	bench/hit.sh 3 2
	bench/miss.sh 3 30000
	bench/idle.sh 10000 2000 20000
	bench/slow.sh 5 1073741824
# A scenario is a program of its own: tests/kit, the real proxy (build/twice, or TWICE=), no room.
KIT := $(patsubst %.c,$(B)/%.o,$(wildcard tests/kit/*.c))
SCENARIOS := $(patsubst tests/scenario/%.c,$(B)/scenario/%,$(wildcard tests/scenario/*.c))
$(B)/scenario/%: $(B)/tests/scenario/%.o $(KIT)
	@mkdir -p $(@D)
	$(CC) $(ALLFLAGS) -o $@ $^ -ljansson $(shell pkg-config --libs openssl) -pthread

scenario: build/twice $(if $(T),$(patsubst tests/scenario/%.c,$(B)/scenario/%,$(wildcard tests/scenario/$(T).c)),$(SCENARIOS))
	@bad=0; for t in $(sort $(filter $(B)/scenario/%,$^)); do $$t || bad=1; done; exit $$bad

clean:
	rm -rf build
help:
	@sed -n '1,/^$$/s/^# \{0,1\}//p' Makefile

-include $(shell find build -name '*.d' 2>/dev/null)
