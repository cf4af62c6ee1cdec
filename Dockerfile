# The program and nothing else: no shell, no library, no user but its own.
#
#   docker build --tag perfdb-gate .
#   docker run --rm --network none --volume "$PWD:/work:ro" perfdb-gate validate
#
# compiles this clone, which takes some minutes. The image of a release has the binaries of the release, which are in
# image/<architecture>/perfdb-gate:
#
#   docker buildx build --target release --tag perfdb-gate .
FROM scratch AS base
COPY LICENSE /LICENSE
# A mounted repository belongs to whoever runs the container, not to the image's user: git's rule on owners, which libgit2
# follows, would refuse it.
COPY <<GITCONFIG /etc/gitconfig
[safe]
	directory = *
GITCONFIG
# Reports are put together beside their files.
ENV HOME=/tmp
USER 65532:65532
WORKDIR /work
ENTRYPOINT ["/perfdb-gate"]

FROM base AS release
ARG TARGETARCH
COPY --chmod=0555 image/${TARGETARCH}/perfdb-gate /perfdb-gate

# Rust on Alpine compiles for musl, so the binary is static; the last line fails if it is not.
FROM rust:1-alpine AS build
RUN apk add --no-cache binutils gcc make musl-dev
WORKDIR /source
COPY . .
ENV LIBZ_SYS_STATIC=1
RUN cargo install --locked --profile dist --path . --root /built
RUN ! readelf --program-headers /built/bin/perfdb-gate | grep INTERP

# The last stage is the one that `docker build .` makes.
FROM base
COPY --from=build --chmod=0555 /built/bin/perfdb-gate /perfdb-gate
