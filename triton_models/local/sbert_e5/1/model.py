"""The sentence encoder as a Triton model. The work is in `streams.models.inference`."""

from streams.models.inference.triton_backend import TritonPythonModel as TritonPythonModel
