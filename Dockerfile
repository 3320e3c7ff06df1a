# docker build -t lockstead .
#
# dev/test-packaging.sh runs these steps and knows only simple ones: RUN changes nothing
# but the working directory, and the final stage has no RUN.
FROM rust:1.95-slim-bookworm AS build
WORKDIR /src
COPY Cargo.toml Cargo.lock ./
COPY .cargo .cargo
COPY src src
COPY benches benches
# Cargo reads the manifests of the whole workspace.
COPY tests/model tests/model
COPY tests/support tests/support
COPY xtask xtask
# The program includes this file.
COPY config/lockstead.toml config/
RUN cargo install --locked --path . --root out
RUN strip out/bin/lockstead && mkdir state

FROM debian:bookworm-slim
COPY --from=build /src/out/bin/lockstead /usr/local/bin/lockstead
# A new volume gets the owner of this directory.
COPY --from=build --chown=65532:65532 /src/state /var/lib/lockstead
ENV STATE_DIRECTORY=/var/lib/lockstead
ENV LOCKSTEAD_LISTEN=0.0.0.0:6033
ENV LOCKSTEAD_HTTP=0.0.0.0:6080
USER 65532:65532
VOLUME ["/var/lib/lockstead"]
EXPOSE 6033 6080
STOPSIGNAL SIGTERM
# This tests liveness only: a proxy that waits for a lease grants no locks, and must not be restarted for that.
HEALTHCHECK --interval=10s --timeout=3s --start-period=10s CMD ["bash", "-c", "exec 3<>/dev/tcp/127.0.0.1/${LOCKSTEAD_HTTP##*:} && printf 'GET /livez HTTP/1.0\\r\\n\\r\\n' >&3 && grep -q '^HTTP/1.. 200' <&3"]
ENTRYPOINT ["/usr/local/bin/lockstead"]
CMD ["serve"]
