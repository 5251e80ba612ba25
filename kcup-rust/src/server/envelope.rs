//! How many connections, and how many bytes for them, this process may hold. Sibling: kcup-go/server/envelope.go.
