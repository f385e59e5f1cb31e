"""Changes of a plain file, with every precaution and with one left out, to try the harness on."""

from __future__ import annotations

import os
from contextlib import suppress

from crash.change import Change

from likewise.errors import StorageError

BEFORE, AFTER, NEXT = b"before" * 10, b"after" * 10, b"next" * 10


def begin(folder):
    folder.mkdir()
    (folder / "state").write_bytes(BEFORE)


def look(folder):
    return (folder / "state").read_bytes()


def go_on(folder):
    careful(folder, NEXT)
    assert look(folder) == NEXT


def strays(folder):
    return [path.name for path in folder.iterdir() if path.name != "state"]


def put(path, data, *, synced=True):
    with path.open("wb") as file:
        file.write(data)
        file.flush()
        if synced:
            os.fsync(file.fileno())


def sync_folder(folder):
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def careful(folder, data=AFTER):
    try:
        let_errors_through(folder, data)
    except OSError as error:
        raise StorageError(f"refused: {error.strerror}") from error


def let_errors_through(folder, data=AFTER):
    put(folder / "state.new", data)
    (folder / "state.new").replace(folder / "state")
    sync_folder(folder)


def hide_errors(folder):
    with suppress(StorageError):
        careful(folder)


def write_in_place(folder):
    put(folder / "state", AFTER)


def leave_files(folder):
    aside = folder / f"{os.getpid()}.new"
    put(aside, AFTER)
    aside.replace(folder / "state")
    sync_folder(folder)


def do_not_sync_the_file(folder):
    put(folder / "state.new", AFTER, synced=False)
    (folder / "state.new").replace(folder / "state")
    sync_folder(folder)


def do_not_sync_the_folder(folder):
    put(folder / "state.new", AFTER)
    (folder / "state.new").replace(folder / "state")


def undo_for_a_moment(folder):
    careful(folder)
    careful(folder, BEFORE)
    careful(folder)


def make_every_call(folder):
    """Call the functions of the system by which Python alters files."""
    (folder / "a").mkdir()
    inside = os.open(folder / "a", os.O_RDONLY)
    one = os.open("one", os.O_RDWR | os.O_CREAT, dir_fd=inside)
    os.write(one, b"abcdef" * 3)
    os.pwrite(one, b"0123", 16)
    os.writev(one, [b"ghi", b"", b"jklmnopq", b"r"])
    os.pwritev(one, [b"89", b"AB"], 2)
    os.posix_fallocate(one, 0, 50)
    os.fdatasync(one)
    two = os.open(folder / "a" / "two", os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
    os.copy_file_range(one, two, 20, 1)
    os.copy_file_range(one, two, 10, 0, 40)
    os.sendfile(two, one, 0, 8)
    os.ftruncate(two, 45)
    os.fsync(two)
    os.truncate(folder / "a" / "two", 60)
    os.link(folder / "a" / "one", folder / "a" / "three")
    os.link("one", "four", src_dir_fd=inside, dst_dir_fd=inside)
    os.rename("four", "five", src_dir_fd=inside, dst_dir_fd=inside)
    os.rename(folder / "a" / "three", folder / "six")
    os.replace(folder / "a" / "five", folder / "state")
    os.mkdir("b", dir_fd=inside)
    os.rmdir("b", dir_fd=inside)
    os.unlink("two", dir_fd=inside)
    (folder / "a" / "one").unlink()
    (folder / "state").open("wb").close()
    unnamed = os.open(folder, os.O_WRONLY | os.O_TMPFILE)
    os.write(unnamed, AFTER)
    # With a folder's descriptor Python asks for links to be followed, as this one has to be.
    os.link(f"/proc/self/fd/{unnamed}", "seven", src_dir_fd=inside, dst_dir_fd=inside)
    for handle in (inside, one, two, unnamed):
        os.close(handle)


CHANGES = {
    make.__name__: Change(begin, make, look, go_on, strays)
    for make in (
        careful,
        let_errors_through,
        hide_errors,
        write_in_place,
        leave_files,
        do_not_sync_the_file,
        do_not_sync_the_folder,
        undo_for_a_moment,
        make_every_call,
    )
}
