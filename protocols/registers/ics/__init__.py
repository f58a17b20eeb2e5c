"""Registers of ICS: IKC-A8800, E260T, E810T, E07."""
