"""Names of the element types that NumPy has not, for the page alone."""

bfloat16 = "bfloat16"
float8_e4m3fn = "float8_e4m3fn"
float8_e5m2 = "float8_e5m2"
float8_e8m0fnu = "float8_e8m0fnu"
