"""The sentence encoder as a Triton model. The work is in `streams.stores.inference`."""

from streams.stores.inference.triton_backend import TritonPythonModel as TritonPythonModel
