//! Tables of the room.
