package shuffle

var RoomFor = roomFor

const DocumentPostings = documentPostings
