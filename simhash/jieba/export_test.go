package jieba

import "github.com/neardup/neardup/simhash/jieba/internal/model"

// What the tests look at.
const MaxWordLength = model.MaxWordLength

var ErrUserWord = model.ErrWord
