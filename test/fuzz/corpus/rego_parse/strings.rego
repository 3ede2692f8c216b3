package d
# METADATA
# title: x
raw := `a\nb`
t := "\u00e9\n"
