"""Which vectors are near?"""
