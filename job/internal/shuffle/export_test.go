package shuffle

var RoomFor = roomFor
