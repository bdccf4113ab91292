"""Groups of settings: each is frozen, and strict about names."""

from pydantic import BaseModel, ConfigDict


class SettingsGroup(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", use_attribute_docstrings=True)
