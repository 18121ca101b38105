//! The logger's own code on a model of the chip, in virtual time. Everything it prints is a simulation, never a measurement.
