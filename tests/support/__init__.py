"""What the tests know of the stack: containers, connections, waiting, metrics."""
