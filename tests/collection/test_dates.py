from __future__ import annotations

import datetime as dt

import pytest
from hypothesis import given
from hypothesis import strategies as st

from likewise.collection.dates import Interval, Order, possible_orders, read_date, write_date

DAY = 86_400_000_000


def moment(*parts, offset=0):
    """Microseconds since 1970, by the standard library."""
    zone = dt.timezone(dt.timedelta(minutes=offset))
    since = dt.datetime(*parts, tzinfo=zone) - dt.datetime(1970, 1, 1, tzinfo=dt.UTC)
    return since // dt.timedelta(microseconds=1)


@pytest.mark.parametrize(
    ("text", "start", "stop"),
    [
        ("2015", (2015, 1, 1), (2016, 1, 1)),
        ("2015-03", (2015, 3, 1), (2015, 4, 1)),
        ("2015-12", (2015, 12, 1), (2016, 1, 1)),
        ("2012/02", (2012, 2, 1), (2012, 3, 1)),
        ("2015-03-04", (2015, 3, 4), (2015, 3, 5)),
        ("2015/3/4", (2015, 3, 4), (2015, 3, 5)),
        ("20150304", (2015, 3, 4), (2015, 3, 5)),
        ("04.03.2015", (2015, 3, 4), (2015, 3, 5)),
        ("25/03/2015", (2015, 3, 25), (2015, 3, 26)),
        ("03-25-2015", (2015, 3, 25), (2015, 3, 26)),
        ("3/3/2015", (2015, 3, 3), (2015, 3, 4)),
        ("4 March 2015", (2015, 3, 4), (2015, 3, 5)),
        ("4th of March, 2015", (2015, 3, 4), (2015, 3, 5)),
        ("4-Mar-2015", (2015, 3, 4), (2015, 3, 5)),
        ("Mar 4, 2015", (2015, 3, 4), (2015, 3, 5)),
        ("  march 4 2015 ", (2015, 3, 4), (2015, 3, 5)),
        ("Sept. 4, 2015", (2015, 9, 4), (2015, 9, 5)),
        ("Wednesday, March 4, 2015", (2015, 3, 4), (2015, 3, 5)),
        ("March 2015", (2015, 3, 1), (2015, 4, 1)),
        ("2015-03-04T10:11", (2015, 3, 4, 10, 11), (2015, 3, 4, 10, 12)),
        ("2015-03-04 10:11:12", (2015, 3, 4, 10, 11, 12), (2015, 3, 4, 10, 11, 13)),
        ("2015-03-04T10:11:12Z", (2015, 3, 4, 10, 11, 12), (2015, 3, 4, 10, 11, 13)),
        ("2015-03-04T10:11:12+01:00", (2015, 3, 4, 9, 11, 12), (2015, 3, 4, 9, 11, 13)),
        ("2015-03-04T10:11:12-0330", (2015, 3, 4, 13, 41, 12), (2015, 3, 4, 13, 41, 13)),
        ("3/25/2015 12:11 AM", (2015, 3, 25, 0, 11), (2015, 3, 25, 0, 12)),
        ("3/25/2015 10:11 pm", (2015, 3, 25, 22, 11), (2015, 3, 25, 22, 12)),
        ("Wed, 04 Mar 2015 10:11:12 +0000", (2015, 3, 4, 10, 11, 12), (2015, 3, 4, 10, 11, 13)),
        ("Wed, 4 Mar 2015 22:00:00 -0800 (PST)", (2015, 3, 5, 6), (2015, 3, 5, 6, 0, 1)),
        ("Wed, 4 Mar 2015 22:00:00 EST", (2015, 3, 5, 3), (2015, 3, 5, 3, 0, 1)),
    ],
)
def test_dates_as_people_write_them(text, start, stop):
    assert read_date(text) == Interval(moment(*start), moment(*stop))


def test_the_last_year_and_digits_beyond_microseconds():
    assert read_date("9999").stop == moment(9999, 12, 31) + DAY
    start = moment(2015, 3, 4, 10, 11, 12, 123456)
    assert read_date("2015-03-04T10:11:12.123456789Z") == (start, start + 1)


@pytest.mark.parametrize(
    "text",
    [
        *("", " ", "x", "15", "215", "0000", "20151", "2015-13", "2015-00", "2015-02-30"),
        *("2015-3-4-5", "20151301", "32/01/2015", "13/13/2015", "04/03/15", "4 Marx 2015"),
        *("March", "March 4", "Mon 2015", "4 2015", "2015-03-04T24:00", "2015-03-04T10:60"),
        *("2015-03-04T10", "2015-03-04T10:11:61", "3/25/2015 13:00 pm", "3/25/2015 0:30 am"),
        *("2015-03-04T10:11+24:00", "2015-03-04T10:11 XYZ", "0001-01-01T00:00+01:00"),
        *("9999-12-31T23:30-01:00", "٢٠١٥", "2015-W10", "2015-03-04 and more", "4 March 2015" * 9),
    ],
)
def test_what_is_no_date(text):
    assert read_date(text) is None
    assert read_date(text, Order.DAY) is None


def test_what_comes_first_must_be_known():
    assert read_date("04/03/2015") is None
    assert write_date(read_date("04/03/2015", Order.DAY).start) == "2015-03-04"
    assert write_date(read_date("04/03/2015", Order.MONTH).start) == "2015-04-03"
    assert read_date("25/03/2015", Order.MONTH) is None
    assert possible_orders("04/03/2015") == {Order.DAY, Order.MONTH}
    assert possible_orders("25/03/2015 10:00") == {Order.DAY}
    assert possible_orders("03-25-2015") == {Order.MONTH}
    for text in ("2015-03-04", "03/03/2015", "04.03.2015", "13/13/2015", "x"):
        assert possible_orders(text) == set()


@given(st.datetimes(dt.datetime(2, 1, 1), timezones=st.just(dt.UTC)))
def test_what_is_written_reads_back(at):
    start = (at - dt.datetime(1970, 1, 1, tzinfo=dt.UTC)) // dt.timedelta(microseconds=1)
    assert read_date(write_date(start)).start == start
    assert read_date(at.isoformat()).start == start


@given(st.text(max_size=40) | st.text("0123456789-/.: TZ+", max_size=25), st.sampled_from(Order))
def test_any_text_is_a_date_or_none(text, order):
    found = read_date(text, order)
    assert found is None or found.start < found.stop
