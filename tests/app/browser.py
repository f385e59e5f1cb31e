"""What a browser sees of a page."""

from html.parser import HTMLParser


class Reader(HTMLParser):
    """The text and the tags of a page, as a browser sees them."""

    def __init__(self, source):
        super().__init__()
        self.text, self.tags, self.open = "", [], []
        self.feed(source)
        self.close()

    def handle_starttag(self, tag, attributes):
        self.tags.append((tag, dict(attributes)))
        if tag not in ("meta", "br"):
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.text += data
