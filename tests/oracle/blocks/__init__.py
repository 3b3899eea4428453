"""The shipped blocks against modules of torch and transformers."""
