"""A Kubernetes cluster of one node, made here: `make cluster-check` installs Riffle on it by docs/operate/install.md.

It is run by hand, as root, on Debian 12 or newer. All of it is in a network namespace that leads nowhere: etcd, the
control plane, containerd, the kubelet, its pods, and, in place of other people's servers, a Kafka, a Cassandra, a
Qdrant and a web site. No plugin enforces network policies there.
"""
