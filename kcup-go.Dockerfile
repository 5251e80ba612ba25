# kcup-go: one static binary and nothing else. kcup-rust.Dockerfile has the same stages and comments.
# Built for $TARGETARCH on any machine, by cross-compiling and not by emulation.
FROM --platform=$BUILDPLATFORM golang:1.26.8-bookworm AS build
WORKDIR /src
COPY VERSION ./
COPY kcup-go kcup-go
ARG TARGETARCH
# Without the time of the build, so that the same program makes the same layer.
RUN --mount=type=cache,target=/go/pkg/mod --mount=type=cache,target=/cache/go-build \
    GOCACHE=/cache/go-build kcup-go/build "$TARGETARCH" /kcup && touch --date=@0 /kcup

FROM scratch
ARG VERSION=unknown
ARG REVISION=unknown
ARG CREATED=1970-01-01T00:00:00Z
ARG SOURCE=unknown
ARG DOCUMENTATION=unknown
LABEL org.opencontainers.image.title="kcup-go" \
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
