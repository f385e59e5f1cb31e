"""What was worked out of the documents, and how does it keep up with them?"""
