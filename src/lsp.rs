//! Language servers: the protocol, one server as a peer, and which program serves which language.
