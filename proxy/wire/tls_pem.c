/* tls_pem.c - reads files; what they hold is told apart by the words of PEM. */
#include "proxy/wire/tls_pem.h"

#include "proxy/base/buf.h"
#include "proxy/base/mem.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <openssl/err.h>
#include <openssl/pem.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <xxhash.h>

enum { FILE_MOST = 1 << 20, DEPTH_MOST = 3, FILES_MOST = 20000, TEXT_BYTES = 1024 };

void
tls_problems_tell(struct tls_problems *p, unsigned of, const char *fmt, ...)
{
	char text[TEXT_BYTES];
	va_list args;
	va_start(args, fmt);
	vsnprintf(text, sizeof text, fmt, args);
	va_end(args);
	p->told++;
	p->tell(p->ctx, of, text);
}

void
tls_problems_warn(struct tls_problems *p, unsigned of, const char *fmt, ...)
{
	char text[TEXT_BYTES];
	va_list args;
	if (!p->warn)
		return;
	va_start(args, fmt);
	vsnprintf(text, sizeof text, fmt, args);
	va_end(args);
	p->warn(p->ctx, of, text);
}

/* ---- one file ------------------------------------------------------------------------------ */

static uint64_t
id_of(EVP_PKEY *key)
{
	unsigned char *der = NULL;
	int n = key ? i2d_PUBKEY(key, &der) : 0;
	uint64_t id = n > 0 ? XXH3_64bits(der, (size_t)n) : 0;
	OPENSSL_free(der);
	return id;
}

/* The whole of it; false: told, or it is too large to be PEM. */
static bool
read_file(int fd, size_t bytes, struct buf *out)
{
	char *to = buf_room(out, bytes + 1);
	ssize_t n;
	while (out->n < bytes && (n = read(fd, to + out->n, bytes - out->n)) != 0) {
		if (n > 0)
			buf_added(out, (size_t)n);
		else if (errno != EINTR)
			return false;
	}
	return true;
}

static bool
ends_with(const char *text, const char *with)
{
	size_t n = strlen(text), k = strlen(with);
	return n >= k && strcmp(text + n - k, with) == 0;
}

/* Says what is wrong with this part of a file, or NULL. */
static const char *
take_part(struct tls_pem_file *f, const char *name, const char *header, const unsigned char *der,
	  long n)
{
	const unsigned char *at = der;
	if (strcmp(name, PEM_STRING_X509) == 0 || strcmp(name, PEM_STRING_X509_OLD) == 0) {
		X509 *x = d2i_X509(NULL, &at, n);
		if (!x)
			return "a certificate in it is damaged; copy the file anew";
		sk_X509_push(f->certificates, x);
		return NULL;
	}
	if (!ends_with(name, "PRIVATE KEY"))
		return NULL;
	if (strcmp(name, PEM_STRING_PKCS8) == 0 || strstr(header, "ENCRYPTED"))
		return "its private key is encrypted; write it without a passphrase "
		       "(openssl pkey -in FILE -out NEW)";
	if (f->key)
		return "it holds two private keys; keep one";
	f->key = d2i_AutoPrivateKey(NULL, &at, n);
	return f->key ? NULL : "the private key in it is damaged; copy the file anew";
}

static void
take_text(struct tls_pem_file *f, const struct buf *text, struct tls_problems *problems)
{
	BIO *b = BIO_new_mem_buf(text->p, (int)text->n);
	char *name, *header;
	unsigned char *der;
	long n;
	const char *wrong = NULL;
	while (b && !wrong && PEM_read_bio(b, &name, &header, &der, &n)) {
		wrong = take_part(f, name, header, der, n);
		OPENSSL_free(name);
		OPENSSL_free(header);
		OPENSSL_cleanse(der, (size_t)n);
		OPENSSL_free(der);
	}
	unsigned long e = ERR_peek_last_error();
	if (!wrong && ERR_GET_REASON(e) != PEM_R_NO_START_LINE)
		wrong = "it is cut or damaged; copy the file anew";
	ERR_clear_error();
	BIO_free(b);
	if (wrong)
		tls_problems_tell(problems, f->of, "%s cannot be used: %s", f->path, wrong);
}

static void
free_file(struct tls_pem_file *f)
{
	sk_X509_pop_free(f->certificates, X509_free);
	EVP_PKEY_free(f->key);
	free(f->path);
}

/* The text of one file becomes an entry, if there is PEM in it. True: there was. */
static bool
add_text(struct tls_pem *p, const char *path, unsigned of, const struct buf *text,
	 struct tls_problems *problems)
{
	unsigned before = problems->told;
	if (!memmem(text->p, text->n, "-----BEGIN ", 11))
		return false;
	struct tls_pem_file f = {
		.path = mem_strdup(path), .of = of, .certificates = sk_X509_new_null()};
	take_text(&f, text, problems);
	bool empty = !f.key && sk_X509_num(f.certificates) == 0;
	if (empty || problems->told > before) {
		free_file(&f);
		return problems->told > before;
	}
	f.key_id = id_of(f.key);
	if (sk_X509_num(f.certificates))
		f.leaf_id = id_of(X509_get0_pubkey(sk_X509_value(f.certificates, 0)));
	p->v = mem_realloc(p->v, (p->n + 1) * sizeof *p->v);
	p->v[p->n++] = f;
	return true;
}

/* True: it holds PEM, or what is wrong with it was told. */
static bool
add_file(struct tls_pem *p, const char *path, unsigned of, struct tls_problems *problems)
{
	struct buf text = {0};
	struct stat st;
	bool found = true;
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	if (fd < 0 || fstat(fd, &st))
		tls_problems_tell(problems, of, "cannot read %s: %s", path, strerror(errno));
	else if (!S_ISREG(st.st_mode) || st.st_size > FILE_MOST)
		found = false;
	else if (!read_file(fd, (size_t)st.st_size, &text))
		tls_problems_tell(problems, of, "cannot read %s: %s", path, strerror(errno));
	else
		found = text.n && add_text(p, path, of, &text, problems);
	if (fd >= 0)
		close(fd);
	if (text.p)
		OPENSSL_cleanse(text.p, text.n);
	buf_fini(&text);
	return found;
}

/* ---- directories --------------------------------------------------------------------------- */

static int
is_shown(const struct dirent *d)
{
	return d->d_name[0] != '.';
}

static void
add_directory(struct tls_pem *p, const char *dir, unsigned of, int depth,
	      struct tls_problems *problems)
{
	struct dirent **names = NULL;
	int n = scandir(dir, &names, is_shown, alphasort);
	if (n < 0)
		tls_problems_tell(problems, of, "cannot read %s: %s", dir, strerror(errno));
	for (int i = 0; i < n; i++) {
		char path[4096];
		struct stat st;
		int len = snprintf(path, sizeof path, "%s/%s", dir, names[i]->d_name);
		free(names[i]);
		if (len >= (int)sizeof path || p->n >= FILES_MOST)
			continue;
		if (stat(path, &st))
			tls_problems_tell(problems, of, "cannot read %s: %s", path,
					  strerror(errno));
		else if (S_ISDIR(st.st_mode) && depth < DEPTH_MOST)
			add_directory(p, path, of, depth + 1, problems);
		else if (S_ISREG(st.st_mode))
			add_file(p, path, of, problems);
	}
	free(names);
}

/* ---- the key beside a certificate ---------------------------------------------------------- */

/* path with what follows the last dot of its name, or its whole name, replaced. */
static bool
beside(const char *path, bool whole, const char *by, char out[4096])
{
	const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;
	const char *dot = strrchr(name, '.');
	size_t n = whole ? (size_t)(name - path) : dot ? (size_t)(dot - path) : strlen(path);
	return snprintf(out, 4096, "%.*s%s", (int)n, path, by) < 4096 && access(out, F_OK) == 0 &&
	       strcmp(out, path) != 0;
}

static bool
find_key_beside(const char *path, char out[4096])
{
	static const struct {
		bool whole;
		const char *by;
	} ways[] = {{false, ".key"}, {true, "privkey.pem"}, {true, "key.pem"}};
	if (snprintf(out, 4096, "%s.key", path) < 4096 && access(out, F_OK) == 0)
		return true;
	for (size_t i = 0; i < sizeof ways / sizeof ways[0]; i++)
		if (beside(path, ways[i].whole, ways[i].by, out))
			return true;
	return false;
}

void
tls_pem_read(struct tls_pem *p, const char *path, unsigned of, struct tls_problems *problems)
{
	struct stat st;
	char key[4096];
	if (stat(path, &st) == 0 && S_ISDIR(st.st_mode)) {
		add_directory(p, path, of, 1, problems);
		return;
	}
	size_t before = p->n;
	if (!add_file(p, path, of, problems))
		tls_problems_tell(problems, of,
				  "%s holds no certificate and no key; name a file in PEM form, "
				  "which begins with -----BEGIN",
				  path);
	if (p->n > before)
		p->v[before].named = true;
	if (p->n > before && !p->v[before].key && find_key_beside(path, key))
		add_file(p, key, of, problems);
}

void
tls_pem_fini(struct tls_pem *p)
{
	for (size_t i = 0; i < p->n; i++)
		free_file(&p->v[i]);
	free(p->v);
	*p = (struct tls_pem){0};
}
