"""Operators: one per file, a frozen spec and a running class. They pass Arrow record batches and promises."""
