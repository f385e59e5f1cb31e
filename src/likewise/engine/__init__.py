"""What can be asked of a collection, and what does it answer?"""
