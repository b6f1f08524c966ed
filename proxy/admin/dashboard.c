/* dashboard.c - the page, put into the binary by the assembler: no generated file, no tool. */
#include "proxy/admin/dashboard.h"

#include <string.h>

extern const char dashboard_html[], dashboard_css[], dashboard_js[];
extern const uint64_t dashboard_html_bytes, dashboard_css_bytes, dashboard_js_bytes;

#define FILE_OF(kind)                                                              \
	__asm__(".pushsection .rodata\n"                                           \
		"dashboard_" kind ": .incbin \"proxy/admin/dashboard." kind "\"\n" \
		"1: .balign 8\n"                                                   \
		"dashboard_" kind "_bytes: .8byte 1b - dashboard_" kind "\n"       \
		".popsection\n")

FILE_OF("html");
FILE_OF("css");
FILE_OF("js");

const char dashboard_policy[] =
	"default-src 'none'; connect-src 'self'; script-src 'self'; style-src 'self'; img-src data:; base-uri "
	"'none'; form-action 'none'; frame-ancestors 'none'";

const struct dashboard_file *
dashboard_find(const char *path)
{
	static const struct dashboard_file page = {"/", "text/html; charset=utf-8", dashboard_html,
						   &dashboard_html_bytes};
	static const struct dashboard_file others[] = {
		{"/dashboard.css", "text/css; charset=utf-8", dashboard_css, &dashboard_css_bytes},
		{"/dashboard.js", "text/javascript; charset=utf-8", dashboard_js,
		 &dashboard_js_bytes},
	};
	for (size_t i = 0; i < sizeof others / sizeof *others; i++)
		if (strcmp(others[i].path, path) == 0)
			return &others[i];
	return &page;
}
