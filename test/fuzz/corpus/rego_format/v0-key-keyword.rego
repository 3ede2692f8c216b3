package a
ds.not

p {
  false
}
