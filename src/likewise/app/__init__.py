"""How do people reach it?"""
