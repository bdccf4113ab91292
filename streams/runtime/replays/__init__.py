"""Events that an operator has a stage handle again: dead letters, and past events of its inputs."""
