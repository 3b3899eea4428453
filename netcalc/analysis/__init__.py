"""What a program costs: shapes, parameters, work and memory, with the working shown."""
