"""Models of Keras as specs: ``.keras`` files, and the JSON of ``Model.to_json()``."""
