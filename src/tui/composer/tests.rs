//! Keys in, requests and text out.
