"""Indexes of vectors that the papers measured: hashing, trees and graphs."""
