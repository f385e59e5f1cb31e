"""What is this document made of?"""
