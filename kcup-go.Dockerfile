# kcup-go: one static binary and nothing else. Same stages and comments in kcup-rust.Dockerfile.
FROM golang:1.26-bookworm AS build
WORKDIR /src/kcup-go

# Dependencies are a layer of their own: fetched anew only when the lock file changes.
COPY kcup-go/go.mod kcup-go/go.sum ./
RUN go mod download

COPY VERSION /src/
COPY kcup-go ./
RUN CGO_ENABLED=0 go build -trimpath -ldflags "-s -w -X main.version=$(cat /src/VERSION)" -o /kcup .

FROM scratch
ARG VERSION=unknown
ARG REVISION=unknown
ARG SOURCE=unknown
LABEL org.opencontainers.image.title="kcup-go" \
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
