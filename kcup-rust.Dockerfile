# kcup-rust: one static binary and nothing else. Same stages and comments in kcup-go.Dockerfile.
FROM rust:1.95-slim-bookworm AS build
RUN rustup target add "$(uname -m)-unknown-linux-musl"
WORKDIR /src/kcup-rust

# Dependencies are a layer of their own: fetched anew only when the lock file changes.
COPY kcup-rust/Cargo.toml kcup-rust/Cargo.lock ./
RUN mkdir src && touch src/main.rs && cargo fetch --locked

COPY kcup-rust ./
RUN target="$(uname -m)-unknown-linux-musl" \
    && cargo build --release --locked --target "$target" \
    && cp "target/$target/release/kcup-rust" /kcup

FROM scratch
ARG VERSION=unknown
ARG REVISION=unknown
ARG SOURCE=unknown
LABEL org.opencontainers.image.title="kcup-rust" \
      org.opencontainers.image.description="Puts one file on the web" \
      org.opencontainers.image.licenses="MIT" \
      org.opencontainers.image.version="$VERSION" \
      org.opencontainers.image.revision="$REVISION" \
      org.opencontainers.image.source="$SOURCE"
COPY --from=build /kcup /kcup
# Inside a container the loopback address is reachable by nobody else.
ENV HOST=0.0.0.0
EXPOSE 5000
# A number, so that Kubernetes' runAsNonRoot can tell that it is not root.
USER 65532:65532
STOPSIGNAL SIGTERM
# No HEALTHCHECK: Traefik hides a container until its first check has passed, and an image cannot know the container's arguments.
ENTRYPOINT ["/kcup"]
