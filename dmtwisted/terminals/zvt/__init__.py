"""ZVT terminals (Germany, Austria, Switzerland) as a driver."""
