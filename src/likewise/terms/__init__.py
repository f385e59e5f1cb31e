"""Which terms are related, and by what?"""
