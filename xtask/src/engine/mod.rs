//! Turns a job into a command line for docker, podman or the host, and runs it.
