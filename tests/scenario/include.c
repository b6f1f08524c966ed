/* include.c - a configuration of several files: what they say together is in effect, and a reload reads all
 * of them again. */
#include "tests/kit/kit.h"

#include <sys/stat.h>

static void
put(const char *name, const char *yaml)
{
	FILE *f = fopen(text("%s/%s", kit_dir(), name), "w");
	expect(f != NULL);
	fputs(yaml, f);
	fclose(f);
}

static struct output
reload(void)
{
	return program(edge_binary(), "reload", "--admin", text("127.0.0.1:%u", edge_admin_port()));
}

SCENARIO("a reload reads the files of a directory again, and says what is wrong in which of them")
{
	origin_says("*", .body = "hello");
	expect_int(mkdir(text("%s/conf.d", kit_dir()), 0755), 0);
	put("conf.d/a.yaml", "routes: [ { path: /x, answer: { status: 410 } } ]\n");
	edge_start_yaml("include: %D/conf.d\nroutes: [ { path: /y, answer: 404 } ]\n");
	expect_int(get("/x").status, 410);
	expect_int(get("/y").status, 404);
	put("conf.d/a.yaml", "# one\nroutes: [ { path: /x, answer: { status: 403 } } ]\n");
	put("conf.d/b.yml", "routes: [ { path: /z, answer: { status: 418 } } ]\n");
	expect_int(reload().status, 0);
	expect_int(get("/x").status, 403);
	expect_int(get("/z").status, 418);
	put("conf.d/b.yml", "\nroutes: [ { path: z }, { paht: /z } ]\n");
	struct output o = reload();
	expect_int(o.status, 2);
	expect_that(strstr(o.err, "conf.d/b.yml:2: routes.path: z is not") &&
			    strstr(o.err, "conf.d/b.yml:2: there is no setting \"routes.paht\""),
		    "%s", o.err);
	expect_int(get("/z").status, 418);
}

SCENARIO("check prints the settings of all files together, and reads them back to the same")
{
	put("more.yaml", "cache: { default_ttl: 1h }\nadmin: off\n");
	put("t.yaml", text("include: more.yaml\ncache: { dir: none }\nlisten: '127.0.0.1:0'\n"
			   "origins: \"${NO_SUCH_ORIGIN:-http://127.0.0.1:9}\"\n"));
	struct output o = program(edge_binary(), "check", "-c", text("%s/t.yaml", kit_dir()));
	expect_that(o.status == 0, "%s", o.err);
	expect(strstr(o.out, "\n  default_ttl: 1h ") && strstr(o.out, "\nadmin: off ") &&
	       strstr(o.out, "url: http://127.0.0.1:9 ") && !strstr(o.out, "include:"));
	put("again.yaml", o.out);
	struct output again =
		program(edge_binary(), "check", "-c", text("%s/again.yaml", kit_dir()));
	expect_that(again.status == 0, "%s", again.err);
	expect_text(again.out, o.out);
}
