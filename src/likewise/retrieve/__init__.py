"""Which documents match these words?"""

from likewise.retrieve.models import BM25, TFIDF, JelinekMercer, QueryLikelihood, read_model
from likewise.retrieve.search import Retriever

__all__ = ["BM25", "TFIDF", "JelinekMercer", "QueryLikelihood", "Retriever", "read_model"]
