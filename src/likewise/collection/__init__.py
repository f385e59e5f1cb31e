"""What is stored, and how does it stay whole?"""
