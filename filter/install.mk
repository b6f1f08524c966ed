# The filter library for programs outside of twice: headers, archive, shared library, pkg-config
# file. Included by the Makefile, whose B, PREFIX, DESTDIR and COMPILE it uses.
#
#   make install-filter                   to PREFIX (/usr/local)
#   make install-filter DESTDIR=/tmp/x    to a folder that a package is made from

FILTER_VERSION := 0.1.0
FILTER_SONAME  := libtwice-filter.so.0
FILTER_PRIVATE := $(addprefix filter/,hash_equal.h mix.h pair_inner.h pair_key.h pair_line.h) \
	filter/pattern.h $(addprefix filter/family/,counters.h filter_ops.h generations.h packed.h)
FILTER_HEADERS := $(filter-out $(FILTER_PRIVATE),$(wildcard filter/*.h))
FAMILY_HEADERS := $(filter-out $(FILTER_PRIVATE),$(wildcard filter/family/*.h))
FILTER_PIC     := $(patsubst %.c,$(B)/pic/%.o,$(wildcard filter/*.c filter/family/*.c))
FILTER_MAP     := filter/install/twice-filter.map
FILTER_LIBDIR   = $(DESTDIR)$(PREFIX)/lib
FILTER_INCLUDE  = $(DESTDIR)$(PREFIX)/include/twice

.PRECIOUS: $(B)/pic/%.o
$(B)/pic/%.o: %.c
	$(COMPILE) -Wconversion -fPIC -fno-semantic-interposition -c -o $@ $<
$(B)/lib/libtwice-filter.a: $(FILTER_PIC)
	@mkdir -p $(@D) && rm -f $@ && $(AR) rcs $@ $^
$(B)/lib/libtwice-filter.so: $(FILTER_PIC) $(FILTER_MAP)
	@mkdir -p $(@D); echo "$(CC) $@"
	@$(CC) $(OPT) $(CFLAGS) $(LDFLAGS) -shared -Wl,-soname,$(FILTER_SONAME) \
		-Wl,--version-script,$(FILTER_MAP) -Wl,-z,defs -Wl,-z,relro -Wl,-z,now \
		-o $@ $(FILTER_PIC) -lm -pthread

install: install-filter
.PHONY: install-filter
install-filter: $(B)/lib/libtwice-filter.a $(B)/lib/libtwice-filter.so
	install -D -m 644 $(B)/lib/libtwice-filter.a $(FILTER_LIBDIR)/libtwice-filter.a
	install -D -m 644 $(B)/lib/libtwice-filter.so $(FILTER_LIBDIR)/libtwice-filter.so.$(FILTER_VERSION)
	ln -sf libtwice-filter.so.$(FILTER_VERSION) $(FILTER_LIBDIR)/$(FILTER_SONAME)
	ln -sf $(FILTER_SONAME) $(FILTER_LIBDIR)/libtwice-filter.so
	install -D -m 644 -t $(FILTER_INCLUDE)/filter $(FILTER_HEADERS)
	install -D -m 644 -t $(FILTER_INCLUDE)/filter/family $(FAMILY_HEADERS)
	install -D -m 644 -t $(FILTER_INCLUDE) filter/install/twice_filter.h
	install -d $(FILTER_LIBDIR)/pkgconfig
	sed -e 's|@PREFIX@|$(abspath $(PREFIX))|' -e 's|@VERSION@|$(FILTER_VERSION)|' \
		filter/install/twice-filter.pc.in > $(FILTER_LIBDIR)/pkgconfig/twice-filter.pc
	@[ -n "$(DESTDIR)" ] || ldconfig 2>/dev/null || true

uninstall: uninstall-filter
.PHONY: uninstall-filter
uninstall-filter:
	rm -f $(addprefix $(FILTER_LIBDIR)/,libtwice-filter.a libtwice-filter.so libtwice-filter.so.* \
		pkgconfig/twice-filter.pc)
	rm -rf $(FILTER_INCLUDE)
