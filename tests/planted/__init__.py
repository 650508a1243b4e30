"""Derivative rules planted on purpose: wrong ones that must be caught, and right ones that must not be."""
