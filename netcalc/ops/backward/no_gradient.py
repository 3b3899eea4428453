"""Operations without a gradient, and why."""

_TRUTH = "its result is true or false"
_INTEGERS = "its result is an integer"
_SOURCE = "it has no inputs and no parameters"

NO_GRADIENT: dict[str, str] = {
    **dict.fromkeys(("equal", "not_equal", "less", "less_equal", "greater", "greater_equal"), _TRUTH),
    **dict.fromkeys(("logical_and", "logical_or", "logical_not"), _TRUTH),
    **dict.fromkeys(("argmax", "argmin", "one_hot"), _INTEGERS),
    **dict.fromkeys(
        ("bitwise_and", "bitwise_or", "bitwise_xor", "bitwise_not"), "it takes integers and truth values only"
    ),
    **dict.fromkeys(("bitwise_left_shift", "bitwise_right_shift"), "it takes integers only"),
    "bitcast": "bits as another type are no differentiable function of the number",
    **dict.fromkeys(("constant", "arange", "causal_mask"), _SOURCE),
    **dict.fromkeys(("normal", "uniform", "exponential", "randint", "randperm"), _SOURCE),
    **dict.fromkeys(
        ("bernoulli", "poisson", "binomial"), "its result is a random integer, of which a change of the input has none"
    ),
    **dict.fromkeys(("multinomial", "linear_sum_assignment"), _INTEGERS),
    "gamma": "the derivative of its numbers is that of an incomplete gamma function, whose work depends on the data",
    "alibi_bias": "it has no parameters, and takes the lengths of its inputs only",
    "relative_coordinates": "its table is a buffer",
    "buffer": "a buffer is not trained",
    **dict.fromkeys(
        (
            *("real", "imag", "view_as_real", "view_as_complex", "complex", "polar", "conj", "angle"),
            *("fft", "ifft", "rfft", "irfft", "hfft", "ihfft"),
        ),
        "gradients of complex numbers are not computed; a backward pass through them is refused",
    ),
    "detach": "it is there to stop it",
    "unknown": "it stands for an operator that has no rule",
}
