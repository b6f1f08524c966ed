# The filter library for programs outside of twice: archive, headers, pkg-config file.
# Included by the Makefile, whose B, PREFIX and DESTDIR it uses. Static only: a program
# that links it runs without ldconfig or a path to set.

FILTER_PRIVATE := $(addprefix filter/,grid.h memory_ops.h mix.h packed.h pair_inner.h pair_line.h pattern.h twin.h)
FILTER_HEADERS := $(filter-out $(FILTER_PRIVATE) filter/twice_filter.h,$(wildcard filter/*.h))

install: install-filter
.PHONY: install-filter
install-filter: $(B)/lib/libfilter.a
	install -D -m 644 $< $(DESTDIR)$(PREFIX)/lib/libtwice-filter.a
	install -D -m 644 -t $(DESTDIR)$(PREFIX)/include/twice/filter $(FILTER_HEADERS)
	install -D -m 644 -t $(DESTDIR)$(PREFIX)/include/twice filter/twice_filter.h
	install -d $(DESTDIR)$(PREFIX)/lib/pkgconfig
	sed -e 's|@PREFIX@|$(abspath $(PREFIX))|' -e 's|@VERSION@|0.1.0|' filter/twice-filter.pc.in \
		> $(DESTDIR)$(PREFIX)/lib/pkgconfig/twice-filter.pc
