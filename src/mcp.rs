//! The Model Context Protocol as a server of tools speaks it: a message in, the reply out.
//!
//! Every carrier of ours shares it: the pipe of an agent, the door on the loopback, standard input and output.
