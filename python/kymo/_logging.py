"""Records of ``logging`` as messages of the capture."""

from __future__ import annotations

import logging
import threading

from kymo import _record

__all__ = ["LogHandler"]


class LogHandler(logging.Handler):
    """
    Makes messages of log records: level, name of the logger, text.

    Never raises; what cannot be formatted is reported as logging reports it. A record that is logged while one is being
    handled on the same thread is left out, so nothing goes round in circles. Costs next to nothing while nothing is
    recorded. A message has 4,096 bytes at most.

    Parameters
    ----------
    level
        Records below it are left out.

    Examples
    --------
    >>> import logging
    >>> handler = LogHandler(logging.WARNING)
    >>> logging.getLogger().addHandler(handler)
    >>> logging.getLogger("train").warning("loss is %s", 0.5)
    >>> logging.getLogger().removeHandler(handler)
    """

    def __init__(self, level: int | str = logging.NOTSET) -> None:
        super().__init__(level)
        self.setFormatter(logging.Formatter("%(levelname)s %(name)s: %(message)s"))
        self._here = threading.local()

    def emit(self, record: logging.LogRecord) -> None:
        """
        Record a message.

        Parameters
        ----------
        record
            What was logged.
        """
        if getattr(self._here, "is_busy", False):
            return
        self._here.is_busy = True
        try:
            if _record.is_recording():
                # Halves of surrogate pairs have no place in a capture's text.
                _record.message(self.format(record).encode("utf-8", "backslashreplace").decode())
        except Exception:  # whatever the arguments' own code throws
            self.handleError(record)
        finally:
            self._here.is_busy = False
