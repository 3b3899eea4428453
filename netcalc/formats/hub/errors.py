"""Errors of the Hub as diagnostics."""

from __future__ import annotations

from netcalc.diagnostics import Diagnostic
from netcalc.formats.hub.names import HubName

_LOG_IN = "log in with `hf auth login`, or set HF_TOKEN"
_DENIED = 401, 403


def diagnosed(error: Exception, name: HubName) -> Diagnostic:
    """Return the diagnostic (E008) of an error that the library raises, or the transport below it."""
    from huggingface_hub import constants
    from huggingface_hub import errors as known

    match error:
        case known.GatedRepoError():
            message = f"{name} is gated, and access to it is not granted"
            hint = f"ask for it at {constants.ENDPOINT}/{name.repository}; then {_LOG_IN}"
        case known.RepositoryNotFoundError():
            message = f"{name}: the Hub has no such model, or it is private"
            hint = f"check the name; for a private model {_LOG_IN}"
        case known.RevisionNotFoundError():
            message = f"{name.repository} has no revision {name.revision or 'main'!r}"
            hint = "a revision is a branch, a tag or a commit"
        case known.LocalEntryNotFoundError() if isinstance(error.__cause__, Exception):
            return diagnosed(error.__cause__, name)
        case known.OfflineModeIsEnabled() | known.LocalEntryNotFoundError():
            message = f"{name} is not in the cache, and HF_HUB_OFFLINE forbids to ask the Hub"
            hint = "unset HF_HUB_OFFLINE, or download the files first, with `hf download`"
        case known.HfHubHTTPError() if error.response.status_code in _DENIED:
            message, hint = f"access to {name} is denied ({error.response.status_code})", _LOG_IN
        case known.HfHubHTTPError():
            message = f"{name}: {constants.ENDPOINT} answers with status {error.response.status_code}"
            hint = "try again later" if error.response.status_code >= 429 else "HF_ENDPOINT should name a Hub"
        case known.FileMetadataError():
            message = f"{name}: {constants.ENDPOINT} does not answer as the Hub does"
            hint = "HF_ENDPOINT should name a Hub"
        case OSError() if error.strerror:
            message = f"{name} cannot be stored in the cache: {error.strerror}"
            hint = f"the cache is {constants.HF_HUB_CACHE}; HF_HOME names another folder"
        case _:
            message = f"{name}: {constants.ENDPOINT} cannot be reached: {error or type(error).__name__}"
            hint = "check the connection; HF_HUB_OFFLINE=1 takes what is in the cache"
    return Diagnostic("E008", message, hint=hint)
