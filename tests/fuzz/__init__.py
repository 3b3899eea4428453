"""Random inputs: mutations of shipped specs, generated specs, and fuzz targets with their corpus."""
