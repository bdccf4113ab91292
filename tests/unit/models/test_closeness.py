"""Closeness: cosines of each model on one scale, for functions that were trained with one model's."""

import pytest

from streams.models.inference.repository import model_info, parameters_of, read_config
from streams.models.protocols import RELATED
from streams.settings import Settings

LOCAL = Settings().models_path / "local"


@pytest.mark.parametrize(
    ("model", "cosine", "closeness", "why"),
    [
        ("sbert", 0.4, 0.4, "the functions were trained with this model's cosines"),
        ("e5", 0.2, 0.0, "texts without relation have this cosine, which is more than nothing by another model"),
        ("e5", 0.63, RELATED, "a question and its answer"),
        ("e5", 0.415, RELATED / 2, "between both"),
    ],
)
def test_a_cosine_is_on_the_common_scale(model: str, cosine: float, closeness: float, why: str) -> None:
    info = model_info(parameters_of(read_config(LOCAL / model)), model)
    assert info.closeness(cosine) == pytest.approx(closeness), why
