# The static binary and nothing else: no shell, no library, no user but its own. Made from the binaries of a release, which
# lie in image/<architecture>/perfdb-gate:
#
#   docker buildx build --tag perfdb-gate .
#   docker run --rm --network none --volume "$PWD:/work:ro" perfdb-gate validate
FROM scratch
ARG TARGETARCH
COPY --chmod=0555 image/${TARGETARCH}/perfdb-gate /perfdb-gate
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
