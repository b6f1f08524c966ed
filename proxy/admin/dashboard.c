/* dashboard.c - the page, put into the binary by the assembler: no generated file, no tool. */
#include "proxy/admin/dashboard.h"

__asm__(".pushsection .rodata\n"
	".global dashboard_html, dashboard_bytes\n"
	"dashboard_html: .incbin \"proxy/admin/dashboard.html\"\n"
	"1: .balign 8\n"
	"dashboard_bytes: .8byte 1b - dashboard_html\n"
	".popsection\n");
