"""What else could a query say, and at what risk?"""
