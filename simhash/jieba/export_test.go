package jieba

// What the tests look at.
const MaxWordLength = maxWordLength

var ErrUserWord = errUserWord
