# The filter library for programs outside of twice: archive, headers, pkg-config file.
# Included by the Makefile, whose B, PREFIX and DESTDIR it uses. Static only: a program
# that links it runs without ldconfig or a path to set.

FILTER_PRIVATE := $(addprefix filter/,mix.h short.h pair_inner.h pair_line.h pattern.h) \
	$(addprefix filter/family/,counters.h filter_ops.h generations.h packed.h)
FILTER_HEADERS := $(filter-out $(FILTER_PRIVATE),$(wildcard filter/*.h))
FAMILY_HEADERS := $(filter-out $(FILTER_PRIVATE),$(wildcard filter/family/*.h))

install: install-filter
.PHONY: install-filter
install-filter: $(B)/lib/libfilter.a
	install -D -m 644 $< $(DESTDIR)$(PREFIX)/lib/libtwice-filter.a
	install -D -m 644 -t $(DESTDIR)$(PREFIX)/include/twice/filter $(FILTER_HEADERS)
	install -D -m 644 -t $(DESTDIR)$(PREFIX)/include/twice/filter/family $(FAMILY_HEADERS)
	install -D -m 644 -t $(DESTDIR)$(PREFIX)/include/twice filter/install/twice_filter.h
	install -d $(DESTDIR)$(PREFIX)/lib/pkgconfig
	sed -e 's|@PREFIX@|$(abspath $(PREFIX))|' -e 's|@VERSION@|0.1.0|' filter/install/twice-filter.pc.in \
		> $(DESTDIR)$(PREFIX)/lib/pkgconfig/twice-filter.pc

uninstall: uninstall-filter
.PHONY: uninstall-filter
uninstall-filter:
	rm -f $(DESTDIR)$(PREFIX)/lib/libtwice-filter.a $(DESTDIR)$(PREFIX)/lib/pkgconfig/twice-filter.pc
	rm -rf $(DESTDIR)$(PREFIX)/include/twice
