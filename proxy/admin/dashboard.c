/* dashboard.c - the page, put into the binary by the assembler: no generated file, no tool. */
#include "proxy/admin/dashboard.h"

__asm__(".pushsection .rodata\n"
	".global dashboard_html, dashboard_html_end\n"
	"dashboard_html: .incbin \"proxy/admin/dashboard.html\"\n"
	"dashboard_html_end: .byte 0\n"
	".popsection\n");
