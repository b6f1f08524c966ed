#!/bin/bash
# first_hour.sh [FOLDER] - five tasks of a new user, each done in a fresh Debian with the packages of `make deb` (in FOLDER,
# build/deb) and with what README.md and docs/ say: a web site with TLS, a blog with sessions and purges by tag, a bucket, a
# mirror of packages, and last week's logs. It prints the transcript, which is kept in bench/results/first_hour.txt, and ends
# with "N passed, N failed". Origins are nginx in the same system, on a network of its own. It needs root, debootstrap and a
# mirror of Debian, so it is no part of `make test`. DEB_BASE names a folder in which the fresh system is kept for the next time.
cd "$(dirname "$0")/.." || exit 1
if [ "$1" != inside ]; then
	debs=$(realpath "${1:-build/deb}")
	skip() { echo "skipped: $1: 0 passed, 0 failed"; exit 0; }
	[ "$(id -u)" = 0 ] || skip "only root can make a fresh system"
	command -v debootstrap >/dev/null || skip "debootstrap is not installed"
	[ -n "$(find "$debs" -name 'twice_*.deb' 2>/dev/null)" ] || skip "there are no packages in $debs: make deb"
	work=$(mktemp -d)
	root=$work/root
	trap 'umount "$root/proc" 2>/dev/null; rm -rf --one-file-system "$work"' EXIT
	suite=$(. /etc/os-release && echo "$VERSION_CODENAME")
	base=${DEB_BASE:-$work/base}
	[ -e "$base/bin/sh" ] || debootstrap --variant=minbase "$suite" "$base" >"$work/out" 2>&1 ||
		{ tail -3 "$work/out"; skip "no fresh system can be had"; }
	cp -a "$base" "$root"
	cp /etc/resolv.conf "$root/etc/"
	mount -t proc proc "$root/proc" || skip "proc cannot be mounted"
	mkdir "$root/debs"
	cp "$debs"/twice_*.deb "$debs"/libtwice-filter0_*.deb "$root/debs/"
	rm -f "$root"/debs/*dbgsym*
	# The services of the packages are not started here.
	printf '#!/bin/sh\nexit 101\n' >"$root/usr/sbin/policy-rc.d"
	chmod 755 "$root/usr/sbin/policy-rc.d"
	chroot "$root" sh -c 'apt-get update -q && DEBIAN_FRONTEND=noninteractive apt-get install -y -q --no-install-recommends \
		curl openssl nginx-light iproute2 procps /debs/*.deb' >"$work/out" 2>&1 || { tail -3 "$work/out"; skip "the packages cannot be installed"; }
	cp tests/first_hour.sh "$root/tasks.sh"
	unshare --net --pid --fork --kill-child chroot "$root" bash /tasks.sh inside
	exit
fi

# ---- inside -------------------------------------------------------------------------------------
cd / || exit 1
export LC_ALL=C
passed=0 failed=0
task() { printf '\n==== %s\n' "$1"; }
run() { # a command, as it is typed
	echo "\$ $1"
	eval "$1" >/said 2>&1
	sed 's/^/  /' /said
}
says() { # what must be so, and a pattern that the last command printed
	if grep -qE -- "$2" /said; then
		passed=$((passed + 1))
	else
		failed=$((failed + 1))
		echo "FAIL: $1"
	fi
}
write() { # a file, from standard input
	echo "# $1"
	tee "$1" | sed 's/^/  /'
}
start() { # the service, by the configuration of the package
	echo '$ systemctl restart twice'
	: >/var/log/twice/messages
	twice run -c /etc/twice.yaml 2>>/var/log/twice/messages &
	twice=$!
	until grep -q 'listening on' /var/log/twice/messages || ! kill -0 $twice 2>/dev/null; do sleep 0.05; done
	sed 's/^/  /' /var/log/twice/messages
}
stop() { kill -TERM $twice && wait $twice; }
ip link set lo up
echo '127.0.0.1 www.example.com blog.example.com assets.example.com mirror.example.com' >>/etc/hosts
echo "twice $(dpkg-query -W -f '${Version}' twice), Debian $(cat /etc/debian_version)"

# The origins. Each knows its own name alone, as most do.
mkdir -p /srv/www /srv/blog /srv/bucket /srv/mirror/dists /srv/mirror/pool
echo '<h1>A web site</h1>' >/srv/www/index.html
echo 'h1 { color: green }' >/srv/www/style.css
echo '<h1>A post</h1>' >/srv/blog/post
echo '<h1>Another</h1>' >/srv/blog/other
echo 'an image' >/srv/bucket/logo.png
echo 'Packages' >/srv/mirror/dists/Release
head -c 3000000 /dev/zero | tr '\0' x >/srv/mirror/pool/a.deb
touch -d '20 days ago' /srv/*/* /srv/mirror/*/*
cat >/etc/nginx/sites-enabled/default <<'N'
log_format seen '$remote_addr - - [$time_local] "$request" $status $body_bytes_sent "-" "-"';
server { listen 127.0.0.1:8000 default_server; return 404; }
server { listen 127.0.0.1:8000; server_name www.example.com; root /srv/www; add_header Cache-Control max-age=600; access_log /var/log/nginx/www.log seen; }
server {
	listen 127.0.0.1:8000; server_name blog.example.com; root /srv/blog;
	location / { add_header Cache-Control max-age=600; add_header Surrogate-Key "news $uri"; }
	location /login { add_header Set-Cookie session=1; add_header Cache-Control no-store; return 200 "welcome\n"; }
}
server {
	listen 127.0.0.1:8000; server_name assets.example.com; root /srv/bucket;
	location = / { return 403; }
	location / { if ($arg_X-Amz-Signature = bad) { return 403; } }
}
server { listen 127.0.0.1:8000; server_name mirror.example.com; root /srv/mirror; }
N
nginx || exit 1

task "1. a web site with TLS, and a redirect from http (README: A site with TLS in six lines)"
mkdir -p /etc/twice/certs
run "openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 30 -subj /CN=www.example.com -addext subjectAltName=DNS:www.example.com -keyout /etc/twice/certs/site.key -out /etc/twice/certs/site.pem 2>/dev/null"
run "chgrp -R twice /etc/twice/certs; chmod -R g+rX /etc/twice/certs"
write /etc/twice.yaml <<'Y'
user: twice
listen: [ "http://0.0.0.0:80", "https://0.0.0.0:443" ]
origins: [ { url: "http://127.0.0.1:8000", host: www.example.com } ]
tls:
  certificates: [ /etc/twice/certs ]
  redirect: https
access_log: /var/log/twice/access.log
Y
run "twice check -c /etc/twice.yaml >/dev/null && echo well"
says "check finds something" well
start
run "curl -sI http://www.example.com/ | grep -iE '^(HTTP|Location)'"
says "http is not sent to https" 'Location: https://www.example.com/'
for i in first-sight hit; do
	run "curl -s --cacert /etc/twice/certs/site.pem -o /dev/null -D- https://www.example.com/style.css | grep -iE '^(HTTP|Cache-Status)'"
	says "no $i" "200|$i"
	says "the cache does not say $i" "$i"
done
run "twice purge https://www.example.com/style.css"
says "nothing is purged" purged
run "twice stats | head -n 3"
stop

task "2. a blog with sessions, purged by tag from a script (docs/purging.md)"
write /etc/twice.yaml <<'Y'
user: twice
listen: [ "http://0.0.0.0:80" ]
origins: [ { url: "http://127.0.0.1:8000", host: blog.example.com } ]
routes:
  - { path: /login, pass: on }
  - { path: /, pass_cookies: [ session ] }
Y
start
run "curl -s -o /dev/null -D- http://blog.example.com/post | grep -i Cache-Status"
run "curl -s -o /dev/null -D- http://blog.example.com/post | grep -i Cache-Status"
says "a reader does not get a hit" 'hit'
run "curl -s -o /dev/null -D- -H 'Cookie: session=1' http://blog.example.com/post | grep -i Cache-Status"
says "somebody who is logged in is answered from the cache" 'fwd=bypass|fwd=request'
run "curl -s -o /dev/null -D- http://blog.example.com/login | grep -iE 'Cache-Status|Set-Cookie'"
says "the cookie does not arrive" 'session=1'
write /usr/local/bin/published <<'S'
#!/bin/sh
# Called by the blog with the path of a post that has changed.
curl -sf -X POST "http://127.0.0.1:9180/purge?tag=$1"
S
run "chmod 755 /usr/local/bin/published; published /post"
says "the purge is not answered" 'durable.*true'
run "curl -s -o /dev/null -D- http://blog.example.com/post | grep -i Cache-Status"
says "the post is still cached" 'fwd=uri-miss'
stop

task "3. a bucket whose list is private (config/examples/s3.yaml)"
run "sed -e 's,https://assets.s3.eu-central-1.amazonaws.com,http://127.0.0.1:8000,; s,host: assets.*,host: assets.example.com,; s/0.0.0.0:8080/0.0.0.0:80/; s/500GiB/10GiB/; s/2GiB/256MiB/' /usr/share/doc/twice/examples/s3.yaml >/etc/twice.yaml; echo 'user: twice' >>/etc/twice.yaml; grep -v '#' /etc/twice.yaml"
start
run "curl -s -o /dev/null -D- http://assets.example.com/ | grep -iE '^HTTP|Cache-Status'"
says "the list is not refused" 403
run "curl -s -o /dev/null -D- http://assets.example.com/ | grep -iE '^HTTP|Cache-Status'"
says "the refusal is cached" 'fwd=uri-miss'
run "curl -s -o /dev/null http://assets.example.com/logo.png; curl -s -o /dev/null -D- http://assets.example.com/logo.png | grep -iE '^HTTP|Cache-Status'"
says "an object is not cached" hit
run "curl -s -o /dev/null 'http://assets.example.com/logo.png?X-Amz-Signature=good'; curl -s -o /dev/null -D- 'http://assets.example.com/logo.png?X-Amz-Signature=bad' | grep -iE '^HTTP|Cache-Status'"
says "a bad signature gets the object" 403
stop

task "4. a mirror of packages (docs/configuration.md: Routes; docs/faq.md: How long is an answer kept?)"
write /etc/twice.yaml <<'Y'
user: twice
listen: [ "http://0.0.0.0:80" ]
origins: [ { url: "http://127.0.0.1:8000", host: mirror.example.com } ]
cache:
  dir: /var/cache/twice
  disk: 10GiB
routes:
  - { path: /pool/, admit: always, cache: { heuristic_max: 30d } }
  - { path: /dists/, cache: { heuristic_max: 1m } }
Y
run "twice route -c /etc/twice.yaml http://mirror.example.com/pool/a.deb"
says "the route is another one" 'admit: always'
start
run "curl -s -o /dev/null -D- http://mirror.example.com/pool/a.deb | grep -i Cache-Status"
run "curl -s -o /dev/null -D- -H 'Range: bytes=2000000-2000999' http://mirror.example.com/pool/a.deb | grep -iE '^HTTP|Cache-Status'"
says "a range of it is no hit" hit
run "curl -s -o /dev/null http://mirror.example.com/dists/Release; curl -s -o /dev/null -D- http://mirror.example.com/dists/Release | grep -i Cache-Status"
says "the index lives for more than a minute" 'hit; ttl=[0-9]{1,2};'
run "twice explain http://mirror.example.com/pool/a.deb | head -n 4"
stop

task "5. last week's logs, and a recommendation (docs/simulate.md)"
awk 'BEGIN { for (i = 0; i < 20000; i++) { d = 21 + int(i * 7 / 20000); id = i % 4 ? int(i * 0.618) % 9000 : i % 50;
	printf "192.0.2.%d - - [%d/Nov/2026:%02d:%02d:%02d +0000] \"GET /o/%d HTTP/1.1\" 200 %d \"-\" \"-\"\n", i % 200 + 1, d, (i * 7 / 834) % 24, (i / 14) % 60, i % 60, id, 2000 + id * 97 % 60000 } }' |
	sort -s -k 4,4 >/var/log/nginx/access.log
run "twice simulate --policies all,2,bound /var/log/nginx/access.log"
says "there is no table" '^ *2 '
says "nothing is recommended" 'sightings|admission|cache'

nginx -s stop 2>/dev/null
echo
echo "$passed passed, $failed failed"
[ "$failed" -eq 0 ]
