from ...like.conftest import themes

__all__ = ["themes"]
