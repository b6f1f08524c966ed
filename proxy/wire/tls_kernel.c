/* tls_kernel.c - the kernel's TLS, as linux/tls.h has it. */
#include "proxy/wire/tls_kernel.h"

#include <errno.h>
#include <linux/tls.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <openssl/opensslconf.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#ifndef SOL_TLS
#define SOL_TLS 282
#endif
#ifndef TCP_ULP
#define TCP_ULP 31
#endif

static const char name[] = "tls";

bool
tls_kernel_is_there(const char **why)
{
#ifdef OPENSSL_NO_KTLS
	*why = "OpenSSL was built without it";
	return false;
#else
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	int r = fd < 0 ? -1 : setsockopt(fd, SOL_TCP, TCP_ULP, name, sizeof name);
	/* It is for connected sockets: what misses the connection has been found. */
	bool there = fd >= 0 && (r == 0 || errno == ENOTCONN);
	*why = errno == ENOENT ? "this kernel has none, or its module is not loaded (modprobe tls)"
			       : "the kernel refuses it";
	if (fd >= 0)
		close(fd);
	return there;
#endif
}

/* Of the kernel's struct for a cipher; 0: we do not know it. */
static size_t
bytes_of(const struct tls_crypto_info *info)
{
	switch (info->cipher_type) {
	case TLS_CIPHER_AES_GCM_128:
		return sizeof(struct tls12_crypto_info_aes_gcm_128);
	case TLS_CIPHER_AES_GCM_256:
		return sizeof(struct tls12_crypto_info_aes_gcm_256);
#ifdef TLS_CIPHER_CHACHA20_POLY1305
	case TLS_CIPHER_CHACHA20_POLY1305:
		return sizeof(struct tls12_crypto_info_chacha20_poly1305);
#endif
	default:
		return 0;
	}
}

bool
tls_kernel_start(int fd, const void *given)
{
	const struct tls_crypto_info *info = given;
	size_t n = bytes_of(info);
	return n && (info->version == TLS_1_2_VERSION || info->version == TLS_1_3_VERSION) &&
	       setsockopt(fd, SOL_TCP, TCP_ULP, name, sizeof name) == 0 &&
	       setsockopt(fd, SOL_TLS, TLS_TX, info, (socklen_t)n) == 0;
}

bool
tls_kernel_send_record(int fd, unsigned char kind, const char *p, size_t n)
{
	union {
		struct cmsghdr head;
		char bytes[CMSG_SPACE(sizeof kind)];
	} control;
	struct iovec iov = {(void *)(uintptr_t)p, n};
	struct msghdr m = {.msg_iov = &iov,
			   .msg_iovlen = 1,
			   .msg_control = control.bytes,
			   .msg_controllen = sizeof control.bytes};
	struct cmsghdr *c = CMSG_FIRSTHDR(&m);
	ssize_t sent;
	memset(&control, 0, sizeof control);
	c->cmsg_level = SOL_TLS;
	c->cmsg_type = TLS_SET_RECORD_TYPE;
	c->cmsg_len = CMSG_LEN(sizeof kind);
	memcpy(CMSG_DATA(c), &kind, sizeof kind);
	do
		sent = sendmsg(fd, &m, MSG_NOSIGNAL);
	while (sent < 0 && errno == EINTR);
	return sent == (ssize_t)n;
}
