package hamming

const haveSIMD = false
