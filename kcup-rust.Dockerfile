# kcup-rust: one static binary and nothing else. kcup-go.Dockerfile has the same stages and comments.
# Built for $TARGETARCH on any machine, by cross-compiling and not by emulation.
FROM --platform=$BUILDPLATFORM rust:1.95.0-slim-bookworm AS build
RUN rustup target add x86_64-unknown-linux-musl aarch64-unknown-linux-musl
WORKDIR /src
COPY VERSION ./
COPY kcup-rust kcup-rust
ARG TARGETARCH
# Without the time of the build, so that the same program makes the same layer.
RUN --mount=type=cache,target=/usr/local/cargo/registry --mount=type=cache,target=/src/kcup-rust/target \
    kcup-rust/build "$TARGETARCH" /kcup && touch --date=@0 /kcup

FROM scratch
ARG VERSION=unknown
ARG REVISION=unknown
ARG CREATED=1970-01-01T00:00:00Z
ARG SOURCE=unknown
ARG DOCUMENTATION=unknown
LABEL org.opencontainers.image.title="kcup-rust" \
      org.opencontainers.image.description="Puts one file on the web" \
      org.opencontainers.image.authors="The kcup authors" \
      org.opencontainers.image.licenses="MIT" \
      org.opencontainers.image.version="$VERSION" \
      org.opencontainers.image.revision="$REVISION" \
      org.opencontainers.image.created="$CREATED" \
      org.opencontainers.image.url="$SOURCE" \
      org.opencontainers.image.source="$SOURCE" \
      org.opencontainers.image.documentation="$DOCUMENTATION"
COPY --from=build /kcup /kcup
# A container's loopback address cannot be reached from outside.
ENV HOST=0.0.0.0
EXPOSE 5000
# A number, so that Kubernetes' runAsNonRoot can see that it is not root.
USER 65532:65532
STOPSIGNAL SIGTERM
# No HEALTHCHECK: Traefik ignores a container until its first check has passed, and an image cannot know the container's arguments.
ENTRYPOINT ["/kcup"]
