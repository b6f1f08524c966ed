# twice - a caching HTTP reverse proxy that writes to disk only what was seen before
#
#   make                build/twice
#   make run            build, then `twice demo`: the main job on a CDN-like mix, with a report
#   make run ORIGIN=U   build, then front the origin U instead
#   make test           all tests (T=name: one unit test, scenario or fuzz corpus)
#   make test-slow      what is about the machine's own time; nothing depends on it
#   make by-tls         the scenarios once more, where proxies and clients speak TLS; by-h2: HTTP/2
#   make coverage       what the tests reach, by room and file (T=name: what that test reaches), in build/coverage
#   make gdb T=name     gdb on a unit test; make attach S=name KIT_ONLY=words: on the proxy of a scenario
#   make bench          measurements; see bench/README.md. make bench-smoke: each of them once, small
#   make lint           layers, purity, names, unused exports, circles, gates, pages, form of commits, shape, format
#                       (make format mends that)
#   make fuzz F=name    fuzz one parser for SECONDS=60 with clang's libFuzzer
#   make man            manual pages and completions of shells, in build/MODE/manual
#   make deb            packages for Debian, in build/deb; tests/deb.sh tries them in a fresh system. DEB_HOST_ARCH=arm64
#                       for another machine, with Debian's cross compiler
#   make image          the image of Dockerfile, named twice
#   make install        to PREFIX (/usr/local): twice, and the filter library with header and .pc
#   make uninstall      removes what install put there
#   make compile-commands   build/compile_commands.json, for editors
#   make deps           install missing packages (Debian/Ubuntu, as root); run and test do it too
#   make clean | help
#
#   MODE=release|debug|coverage|asan|tsan|fuzz   WERROR=1   CC=gcc|clang   CPPFLAGS CFLAGS LDFLAGS as a distribution
#   sets them (dpkg-buildflags)   HARDEN= for a build without hardening, to measure what it costs
#   CC AR PKG_CONFIG for another machine: aarch64-linux-gnu-gcc, and so on
#   LTO= for one that is not optimized as a whole: links build/twice sooner

MODE    ?= release
PREFIX  ?= /usr/local
PKG_CONFIG ?= pkg-config
SECONDS ?= 60
# Sanitizers and fuzzers are clang's; a build by the other compiler has a folder of its own.
by_clang := $(filter asan tsan fuzz,$(MODE))
ifeq ($(origin CC),default)
CC      := $(if $(by_clang),clang,cc)
endif
folder   = build/$(1)$(if $(findstring clang,$(CC)),$(if $(by_clang),,-clang),$(if $(by_clang),-gcc))
B       := $(call folder,$(MODE))
ROOMS   := filter proxy/base proxy/http proxy/coding proxy/cache proxy/origin proxy/fleet proxy/wire proxy/serve proxy/node proxy/admin proxy/simulate proxy/cli config

WARN := -Wall -Wextra -Wshadow -Wundef -Wvla -Wformat=2 -Wwrite-strings -Wstrict-prototypes \
        -Wmissing-prototypes -Wpointer-arith -Wcast-qual $(if $(WERROR),-Werror) \
        $(if $(findstring clang,$(CC)),,-Wno-format-truncation)
OPT_release := -O2
# -Og inlines little: xxHash must not insist on it, and gcc sees less of what is set.
OPT_debug   := -Og -g3 -fno-omit-frame-pointer -DXXH_NO_INLINE_HINTS=1 -Wno-maybe-uninitialized
OPT_coverage := $(OPT_debug)
OPT_asan    := -O1 -fsanitize=address,undefined -fno-sanitize-recover=undefined -fno-omit-frame-pointer
OPT_tsan    := -O1 -fsanitize=thread -fno-omit-frame-pointer
OPT_fuzz    := -O1 -fsanitize=fuzzer-no-link,address,undefined -fno-sanitize-recover=undefined
OPT := $(OPT_$(MODE))

PKGS := libevent_core libevent_extra libcurl libnghttp2 openssl yaml-0.1 libxxhash jansson hiredis libzstd libbrotlienc libbrotlidec liblzma zlib
# Asked once, and only where something is compiled: `make help`, `make deps` work on a bare machine.
once = $(eval $(1) := $(2))$($(1))
PKG_CFLAGS = $(call once,PKG_CFLAGS,$(shell $(PKG_CONFIG) --cflags $(PKGS)))
PKG_LIBS   = $(call once,PKG_LIBS,$(shell $(PKG_CONFIG) --libs $(PKGS)) -lm -pthread $(if $(filter coverage,$(MODE)),-lgcov))
CHECK_LIBS = $(call once,CHECK_LIBS,$(shell $(PKG_CONFIG) --cflags --libs check))
CFLAGS  ?= -g

# Hardening of release builds: what the compiler knows of this list. The sanitizers have their own.
HARDEN  ?= $(if $(filter release,$(MODE)),yes)
wanted  := -fstack-protector-strong -fstack-clash-protection -fcf-protection -mbranch-protection=standard
fortify := -U_FORTIFY_SOURCE -D_FORTIFY_SOURCE
knows    = echo '\#include <stdio.h>' | $(CC) -O2 -Werror $(1) -x c -c -o /dev/null - 2>/dev/null
known    = $(call once,known,$(shell for f in $(wanted); do $(call knows,$$f) && echo $$f; done; \
	   $(if $(findstring _FORTIFY_SOURCE,$(CPPFLAGS) $(CFLAGS)),,\
	   $(call knows,$(fortify)=3) && echo "$(fortify)=3" || echo "$(fortify)=2")))
HARDEN_CFLAGS  = $(if $(HARDEN),-fPIE $(known))
# Release builds by gcc optimize the program as a whole; tests link the ordinary code of the same
# objects. Measured: 11% fewer instructions of ours per hit and per miss.
LTO     ?= $(if $(filter release,$(MODE)),$(if $(findstring clang,$(CC)),,yes))
LTO_CFLAGS = $(if $(LTO),$(if $(filter proxy/% filter/% config/%,$<),-flto=auto -ffat-lto-objects))
bind_now := -pie -Wl,-z,relro -Wl,-z,now -Wl,-z,noexecstack

ALLFLAGS = -std=c11 -D_GNU_SOURCE -I. $(WARN) $(OPT) $(HARDEN_CFLAGS) $(CPPFLAGS) $(CFLAGS) -pthread
COMPILE  = @mkdir -p $(@D); echo "$(CC) $@"; $(CC) $(ALLFLAGS) -MMD -MP
LINKFLAGS = $(if $(HARDEN),$(bind_now)) $(LDFLAGS)
LINK     = $(COMPILE) -fno-lto $(LINKFLAGS)

obj  = $(patsubst %.c,$(B)/%.o,$(filter-out tests/kit/preload/%,$(wildcard $(1)/*.c $(1)/*/*.c)))
lib  = $(B)/lib/lib$(notdir $(1)).a
# Link order: a room before those it uses; there are no circles.
LIBS := $(foreach r,proxy/simulate proxy/node proxy/wire proxy/serve config proxy/admin proxy/fleet proxy/origin proxy/cache proxy/coding proxy/http proxy/base filter,$(call lib,$(r)))

.DEFAULT_GOAL := build/twice
.PHONY: run test unit scenario test-slow by-tls by-h2 test-programs fuzzers lint format fuzz bench man deb image install uninstall deps clean help FORCE
.SECONDEXPANSION:
.PRECIOUS: $(B)/%.o

build/twice: $(B)/bin/twice FORCE
	@cmp -s $< $@ || cp -f $< $@
$(B)/bin/twice: $(call obj,proxy/cli) $(LIBS)
	$(COMPILE) $(if $(LTO),-flto=auto) $(LINKFLAGS) -o $@ $(call obj,proxy/cli) $(LIBS) $(PKG_LIBS)

define room_lib
$(call lib,$(1)): $$(call obj,$(1))
	@mkdir -p $$(@D) && rm -f $$@ && $$(AR) rcs $$@ $$^
endef
$(foreach r,$(ROOMS),$(eval $(call room_lib,$(r))))

$(B)/filter/%.o $(B)/proxy/http/%.o: EXTRA = -Wconversion
$(B)/proxy/admin/dashboard.o: proxy/admin/dashboard.html proxy/admin/dashboard.css proxy/admin/dashboard.js
$(B)/proxy/admin/dashboard.o: EXTRA = -fno-lto # its symbols are the assembler's
$(B)/proxy/cli/version.o: EXTRA = -DTWICE_VERSION='"$(shell cat build/version)"'
$(B)/proxy/cli/version.o: build/version
build/version: FORCE
	@mkdir -p build; v=$$(.ci/version) || exit 1; echo "$$v" | cmp -s - $@ || echo "$$v" > $@
# A change of flags compiles everything anew.
FLAGS = $(CC) $(filter-out -Werror,$(ALLFLAGS) $(PKG_CFLAGS) $(LINKFLAGS)) LTO=$(LTO)
$(B)/flags: FORCE
	@mkdir -p $(@D); echo '$(FLAGS)' | cmp -s - $@ || echo '$(FLAGS)' > $@
$(B)/%.o: %.c $(B)/flags
	$(COMPILE) $(LTO_CFLAGS) $(EXTRA) $(PKG_CFLAGS) -c -o $@ $<

# A unit test names the rooms it may link in its first lines: "rooms: http base", users first.
rooms_of = $(foreach r,$(shell sed -n '1,5s/.*rooms: *\([a-z ]*\).*/\1/p' $(1)),$(B)/lib/lib$(r).a)
$(B)/tests/test_%: tests/unit/test_%.c $$(call rooms_of,tests/unit/test_$$*.c)
	$(LINK) $(PKG_CFLAGS) -o $@ $< $(call rooms_of,$<) $(CHECK_LIBS) $(PKG_LIBS)

# test_work counts steps: what it tests is compiled once more, with a call in each basic block.
COUNTED := $(patsubst %.c,$(B)/counted/%.o,$(wildcard proxy/http/*.c proxy/serve/outgoing/outgoing*.c proxy/serve/outgoing/header_rules.c proxy/serve/outgoing/rewrite.c) proxy/base/buf.c proxy/base/pattern_match.c)
WRAPPED := -Wl,--wrap=memchr,--wrap=memcmp,--wrap=strncasecmp,--wrap=memcpy,--wrap=memmove,--wrap=memset
$(B)/counted/%.o: %.c
	$(COMPILE) -fsanitize-coverage=trace-pc -fno-builtin -U_FORTIFY_SOURCE $(PKG_CFLAGS) -c -o $@ $<
$(B)/tests/test_work: tests/unit/test_work.c $(COUNTED) $(B)/lib/libbase.a
	$(COMPILE) $(PKG_CFLAGS) -o $@ $< $(COUNTED) $(B)/lib/libbase.a $(WRAPPED) $(CHECK_LIBS) $(PKG_LIBS)

# A scenario is a program of its own: tests/kit, the real proxy (TWICE), no room.
KIT := $(call obj,tests/kit)
$(B)/scenario/%: $(B)/tests/scenario/%.o $(KIT) | $(B)/kit/clock.so
	$(LINK) -o $@ $^ $(PKG_LIBS)
# A program of tests/fleet is one too, with several nodes and a real Redis, where that is installed.
$(B)/fleet/%: $(B)/tests/fleet/%.o $(KIT) $(call obj,tests/fleet/kit) | $(B)/kit/clock.so $(B)/kit/cut.so
	$(LINK) -o $@ $^ $(PKG_LIBS)
# A program of tests/slow is one too, about the machine's own time: a landing does not depend on it.
$(B)/slow/%: $(B)/tests/slow/%.o $(KIT) | $(B)/kit/clock.so
	$(LINK) -o $@ $^ $(PKG_LIBS)
# The test's clock, loaded into proxies before the C library; the sanitizers are in the proxy itself.
$(B)/kit/clock.so: tests/kit/preload/clock.c tests/kit/preload/clock.map $(B)/flags
	@mkdir -p $(@D); echo "$(CC) $@"; $(CC) -std=c11 -D_GNU_SOURCE -I. $(WARN) -O2 $(CPPFLAGS) $(CFLAGS) \
		-U_FORTIFY_SOURCE -fPIC -MMD -MP -shared -Wl,--version-script=tests/kit/preload/clock.map -o $@ $<

# A network that comes apart, in the same way.
$(B)/kit/cut.so: tests/kit/preload/cut.c $(B)/flags
	@mkdir -p $(@D); echo "$(CC) $@"; $(CC) -std=c11 -D_GNU_SOURCE -I. $(WARN) -O2 $(CPPFLAGS) $(CFLAGS) \
		-U_FORTIFY_SOURCE -fPIC -pthread -MMD -MP -shared -o $@ $<

# It reads nothing that is foreign, and a filter's size is sought in so many steps that their coverage is nine tenths of the
# time of fuzzers that make some filters for each input.
build/fuzz/filter/sizing.o: EXTRA := -fno-sanitize=all -O2

# A fuzzer names its rooms too; its main is replay.c with the corpus, or (MODE=fuzz) libFuzzer's.
FUZZ_MAIN := $(if $(filter fuzz,$(MODE)),-fsanitize=fuzzer,$(B)/tests/fuzz/replay.o)
$(B)/fuzz/%: $(B)/tests/fuzz/%.o $(filter %.o,$(FUZZ_MAIN)) $$(call rooms_of,tests/fuzz/$$*.c)
	$(LINK) -o $@ $< $(FUZZ_MAIN) $(call rooms_of,tests/fuzz/$*.c) $(PKG_LIBS)

# Programs of bench/ may use any room; the archives give each what it names.
$(B)/bench/%: bench/%.c $(call lib,proxy/cli) $(LIBS)
	$(LINK) $(PKG_CFLAGS) -o $@ $< $(call lib,proxy/cli) $(LIBS) $(PKG_LIBS)

programs  = $(patsubst $(1)/%.c,$(B)/$(2)/%,$(wildcard $(1)/$(3)$(or $(T),*).c))
UNITS     := $(call programs,tests/unit,tests,test_)
SCENARIOS := $(call programs,tests/scenario,scenario,) $(call programs,tests/fleet,fleet,)
# A sanitizer watches the proxy: the scenarios' own programs are those of the release build.
ifneq ($(filter asan tsan,$(MODE)),)
SCENARIOS := $(patsubst $(B)/%,build/release/%,$(SCENARIOS))
$(SCENARIOS): by-release ;
.PHONY: by-release
by-release: ; @$(MAKE) -s --no-print-directory MODE=release $(SCENARIOS)
endif
FUZZERS   := $(call programs,tests/fuzz,fuzz,fuzz_)
SLOW      := $(call programs,tests/slow,slow,)
# ThreadSanitizer finds nothing in a program that cannot begin a thread, and counted steps are the same in
# any build. Whether one begins threads is read from the release build, where that is made.
begins = $(shell for p in $(1); do r=build/release/$$(echo $$p | cut -d / -f 3-); \
	 { [ -x $$r ] && ! nm -D $$r 2>/dev/null | grep -q pthread_create; } || echo $$p; done)
ifeq ($(MODE)$(T),tsan)
UNITS      := $(call begins,$(UNITS))
FUZZERS    := $(call begins,$(FUZZERS))
endif
ifneq ($(by_clang),)
UNITS      := $(filter-out $(B)/tests/test_work,$(UNITS))
endif
# Test programs at once: most of them wait.
JOBS       ?= $(shell expr $$(nproc) '*' 4)
# The guard against hangs is a minute for a scenario (KIT_TIME=1), and wider where many run at once or all is slower.
RUN        = JOBS=$(JOBS) TWICE=$(B)/bin/twice tests/kit/run.sh
export KIT_TIME ?= $(if $(by_clang),$(if $(T),4,8),$(if $(T),1,4))
unit: $(UNITS) ; @$(RUN) $^
scenario: $(SCENARIOS) $(B)/bin/twice ; @$(RUN) $(SCENARIOS)
test-slow: $(SLOW) $(B)/bin/twice ; @$(RUN) $(SLOW)

# Installing packages may change the lists above, so these two begin anew.
AGAIN = $(MAKE) --no-print-directory -j$(shell nproc)
run:
	@.ci/deps build && $(AGAIN) build/twice
	@build/twice $(if $(ORIGIN),run --origin $(ORIGIN),demo)
test:
	@.ci/deps $(if $(by_clang),all,test) && $(AGAIN) test-programs
	@$(RUN) $(if $(T),,$(CHECKS)) $(SCENARIOS) $(UNITS) $(FUZZERS)
# The scenarios once more, by TLS or HTTP/2.
by-tls: $(SCENARIOS) $(B)/bin/twice ; @KIT_TLS=1 $(RUN) $(SCENARIOS)
by-h2: $(SCENARIOS) $(B)/bin/twice ; @KIT_H2=1 $(RUN) $(SCENARIOS)
CHECKS = $(addprefix tests/lint/,layers.sh pure.sh pages.sh version.sh $(if $(HARDEN),hardened.sh install.sh)) tests/install_filter.sh \
	 $(if $(filter release debug,$(MODE)),tests/kit/debugger.sh)
test-programs: $(UNITS) $(FUZZERS) $(SCENARIOS) $(if $(SCENARIOS),$(B)/bin/twice)
fuzzers: $(FUZZERS)

SOURCES := $(wildcard $(addsuffix /*.[ch],$(ROOMS) filter/family filter/install tests/unit tests/kit tests/kit/preload tests/scenario tests/fleet tests/fleet/kit tests/slow tests/fuzz bench))
# Tables of rows (headers without a guard) are aligned by hand.
FORMATTED = $(filter %.c,$(SOURCES)) $(shell grep -l '^\#ifndef .*_H$$' $(filter %.h,$(SOURCES)))
lint: $(LIBS) $(call obj,proxy/cli)
	@.ci/deps all
	@B=$(B) tests/lint/all.sh $(FORMATTED)
format:
	@clang-format -i $(FORMATTED)
fuzz:
	@.ci/deps all && $(AGAIN) MODE=fuzz build/fuzz/fuzz/fuzz_$(F)
	@tests/fuzz/run.sh $(F) $(SECONDS)

bench: build/twice $(patsubst bench/%.c,$(B)/bench/%,$(wildcard bench/*.c))
	bench/mix.sh 50000
	bench/hit.sh 3 2
	bench/miss.sh 3 30000
	bench/workers.sh 2 20000
	bench/idle.sh 10000 2000 20000
	bench/slow.sh 5 1073741824
	$(B)/bench/filter_course
	bench/simulate.sh 60000 600000
# Manual pages and completions come from the tables of the program itself.
PAPERS := $(addprefix $(B)/manual/,twice.1 twice.yaml.5 bash zsh)
$(PAPERS): $(B)/bin/twice
	@mkdir -p $(@D); $< manual $(@F) > $@.new && mv -f $@.new $@
man: $(PAPERS)
deb: ; @packaging/deb.sh build/deb
# The image is built without .git, so that its version is told here. DOCKER=podman or another.
DOCKER ?= docker
image: ; $(DOCKER) build --build-arg VERSION="$$(.ci/version)" -t twice .
install: $(B)/bin/twice $(PAPERS)
	install -D -m 755 $< $(DESTDIR)$(PREFIX)/bin/twice
	install -D -m 644 $(B)/manual/twice.1 $(DESTDIR)$(PREFIX)/share/man/man1/twice.1
	install -D -m 644 $(B)/manual/twice.yaml.5 $(DESTDIR)$(PREFIX)/share/man/man5/twice.yaml.5
	install -D -m 644 $(B)/manual/bash $(DESTDIR)$(PREFIX)/share/bash-completion/completions/twice
	install -D -m 644 $(B)/manual/zsh $(DESTDIR)$(PREFIX)/share/zsh/vendor-completions/_twice
	install -D -m 644 -t $(DESTDIR)$(PREFIX)/share/doc/twice/examples config/examples/*.yaml
	install -D -m 644 -t $(DESTDIR)$(PREFIX)/share/doc/twice config/twice.yaml config/alerts.yaml config/grafana.json README.md CHANGELOG.md LICENSE
	install -D -m 644 -t $(DESTDIR)$(PREFIX)/share/doc/twice/docs docs/*
uninstall:
	rm -f $(addprefix $(DESTDIR)$(PREFIX)/,bin/twice share/man/man1/twice.1 share/man/man5/twice.yaml.5 \
		share/bash-completion/completions/twice share/zsh/vendor-completions/_twice)
	rm -rf $(DESTDIR)$(PREFIX)/share/doc/twice

deps:
	@.ci/deps all
clean:
	rm -rf build
help:
	@sed -n '1,/^$$/s/^# \{0,1\}//p' Makefile

include filter/install.mk .ci/editor.mk tests/dev.mk
-include $(shell find $(B) -name '*.d' 2>/dev/null)
