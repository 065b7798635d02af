"""Settings that every test shares."""

from hypothesis import settings

# An example may be slow on a busy machine; that says nothing about the code.
settings.register_profile("patient", deadline=None)
settings.load_profile("patient")
