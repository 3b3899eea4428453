"""Models on the Hub, which a small server on the loopback interface stands for."""
