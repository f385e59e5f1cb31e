"""Which documents are like this one?"""
