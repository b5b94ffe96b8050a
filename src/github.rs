//! GitHub over its REST interface: requests, answers, and whose token they carry.
