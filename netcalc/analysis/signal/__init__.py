"""Signal propagation: predictions of variances and gradients through a network, from its initializers."""
