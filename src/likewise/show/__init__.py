"""What do texts, tables and pages look like?"""
