"""Analysis of programs: shapes, parameters, work and memory, with the working shown."""
