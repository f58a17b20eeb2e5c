"""BPOS1 terminals (Oschadbank, Ukrsibbank, Sense and others) as a driver."""
