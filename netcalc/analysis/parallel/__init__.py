"""Networks split over devices: the program of one rank, its memory, and the bytes that devices send."""
