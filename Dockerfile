# Tidelog with Spark, a Java and compiled kernels: `docker build -t tidelog .`, then `docker run --rm tidelog demo`.
# Kernels are compiled for any processor of the kind that builds, so that the image runs elsewhere, too.
FROM python:3.12-slim

RUN apt-get update \
 && apt-get install --yes --no-install-recommends openjdk-21-jre-headless \
 && rm -rf /var/lib/apt/lists/*

WORKDIR /opt/tidelog
COPY pyproject.toml constraints.txt README.md LICENSE ./
COPY src src
RUN pip install --no-cache-dir --constraint constraints.txt --build-constraint constraints.txt '.[spark,rdf]'

# Numba reads compiled kernels only from a folder that it may write to.
ENV NUMBA_CACHE_DIR=/opt/tidelog/kernels NUMBA_CPU_NAME=generic
RUN tidelog warm && chmod -R a+rwX "$NUMBA_CACHE_DIR"

RUN useradd tidelog && mkdir /work && chown tidelog /work
USER tidelog
WORKDIR /work
ENTRYPOINT ["tidelog"]
CMD ["--help"]
