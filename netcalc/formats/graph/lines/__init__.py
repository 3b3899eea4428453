"""Lines that several formats write: functions of values, each of which adds lines to a graph and returns a value."""
