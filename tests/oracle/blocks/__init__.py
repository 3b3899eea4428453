"""The blocks that ship against modules of torch and transformers."""
