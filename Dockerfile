# An image of twice, from this tree and Debian's packages alone.
#
#   make image                                        # docker build --build-arg VERSION="$(.ci/version)" -t twice .
#   git archive HEAD | docker build -t twice -        # the same of a commit, which needs no VERSION
#   docker run -p 8080:8080 -v twice-cache:/var/cache/twice twice run --origin https://www.example.com --cache /var/cache/twice
#   docker run -p 8080:8080 -v ./twice.yaml:/etc/twice.yaml:ro -v twice-cache:/var/cache/twice twice
#
# Metrics from outside: in packaging/docker.yaml, which is /etc/twice.yaml, take away the # of the two lines with admin, and
# mount a file with a token where they say. Whoever scrapes sends "Authorization: Bearer TOKEN".
#
#   openssl rand -hex 32 >token
#   docker run -p 8080:8080 -p 9180:9180 -v ./twice.yaml:/etc/twice.yaml:ro -v ./token:/run/secrets/twice-admin-token:ro twice
#   curl -H "Authorization: Bearer $(cat token)" http://127.0.0.1:9180/metrics
#
# It runs as the user twice (uid 8080). SIGTERM finishes open requests: docker stop -t 15.
FROM debian:12-slim AS build
RUN apt-get update && apt-get install -y --no-install-recommends \
	gcc libc6-dev make pkg-config ca-certificates libevent-dev libcurl4-openssl-dev libnghttp2-dev \
	libssl-dev libyaml-dev libxxhash-dev libjansson-dev libhiredis-dev libzstd-dev libbrotli-dev liblzma-dev zlib1g-dev
COPY . /src
# The context has no .git. Without VERSION, and from no `git archive`, .ci/version takes the times of the files.
ARG VERSION=
RUN if [ -n "$VERSION" ]; then echo "$VERSION" >/src/.version; fi && \
	make -C /src -j"$(nproc)" build/twice && strip /src/build/twice

FROM debian:12-slim
RUN apt-get update && apt-get install -y --no-install-recommends \
	ca-certificates libevent-core-2.1-7 libevent-extra-2.1-7 libcurl4 libnghttp2-14 libssl3 \
	libyaml-0-2 libxxhash0 libjansson4 libhiredis0.14 libzstd1 libbrotli1 liblzma5 zlib1g && \
	rm -rf /var/lib/apt/lists/* && \
	groupadd --system --gid 8080 twice && useradd --system --uid 8080 --gid twice --no-create-home twice && \
	install -d -o twice -g twice -m 700 /var/cache/twice && \
	install -d -o twice -g twice -m 755 /run/twice
COPY --from=build /src/build/twice /usr/bin/twice
COPY packaging/docker.yaml /etc/twice.yaml
COPY --from=build /src/LICENSE /usr/share/doc/twice/copyright
USER twice
VOLUME /var/cache/twice
EXPOSE 8080
STOPSIGNAL SIGTERM
# The admin server answers: at the start a large cache is read first. The socket of the image's own configuration needs
# no token; one that is mounted over it may have none.
HEALTHCHECK --interval=10s --timeout=5s --start-period=60s --retries=3 \
	CMD twice stats --json --admin unix:/run/twice/admin.sock || twice stats --json
ENTRYPOINT ["twice"]
CMD ["run", "-c", "/etc/twice.yaml"]
