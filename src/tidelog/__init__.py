"""Tidelog keeps Datalog materialisations true while facts and rules come and go."""
