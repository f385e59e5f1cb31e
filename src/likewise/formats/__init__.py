"""What is the text of a file, whatever its format?"""
