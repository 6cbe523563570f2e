"""Records of ``logging`` as messages of the capture."""

from __future__ import annotations

import logging
import threading

from kymograph import _record

__all__ = ["LogHandler"]


class LogHandler(logging.Handler):
    """
    Turns log records into messages: level, name of the logger, text.

    Never raises; formatting errors are reported in logging's own way. A record logged while another one is being
    handled on the same thread is left out, which prevents endless recursion. The cost is negligible while nothing is
    recorded. A message has at most 4,096 bytes.

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
            The log record.
        """
        if getattr(self._here, "is_busy", False):
            return
        self._here.is_busy = True
        try:
            if _record.is_recording():
                # A capture's text cannot hold lone surrogates.
                _record.message(self.format(record).encode("utf-8", "backslashreplace").decode())
        except Exception:  # the arguments' own code may raise anything
            self.handleError(record)
        finally:
            self._here.is_busy = False
