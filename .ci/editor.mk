# Editors ask for one command per file, with the flags it is compiled with. The Makefile includes this file,
# which uses its CC, ALLFLAGS, PKG_CFLAGS and SOURCES.
#
#   make compile-commands                 build/compile_commands.json

comma := ,
define command_of
$(file >>$@.new,$(2){"directory": "$(CURDIR)"$(comma) "file": "$(1)"$(comma)
"command": "$(CC) $(ALLFLAGS) $(PKG_CFLAGS) -DTWICE_VERSION=\\\"\\\" -c $(1)"})
endef
.PHONY: compile-commands
compile-commands: build/compile_commands.json
build/compile_commands.json: FORCE
	@mkdir -p build
	$(file >$@.new,[)$(call command_of,proxy/cli/main.c)
	$(foreach f,$(filter-out proxy/cli/main.c,$(filter %.c,$(SOURCES))),$(call command_of,$(f),$(comma)))
	$(file >>$@.new,])
	@mv $@.new $@; echo $@
