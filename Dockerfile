# Tidelog with Spark, a Java and compiled kernels: `docker build -t tidelog .`, then `docker run --rm tidelog demo`.
FROM python:3.12-slim

RUN apt-get update \
 && apt-get install --yes --no-install-recommends openjdk-21-jre-headless \
 && rm -rf /var/lib/apt/lists/*

WORKDIR /opt/tidelog
COPY pyproject.toml hatch_build.py constraints.txt README.md LICENSE ./
COPY src src
RUN pip install --no-cache-dir --constraint constraints.txt pip \
 && pip install --no-cache-dir --constraint constraints.txt --build-constraint constraints.txt '.[spark,rdf]'

# Kernels for every processor of the kind that builds, in the package, where every user reads them and nobody writes.
RUN tidelog warm --portable

RUN useradd --create-home tidelog && mkdir /work && chown tidelog /work
USER tidelog
WORKDIR /work
ENTRYPOINT ["tidelog"]
CMD ["--help"]
