// Package modeltest is what every adapter of the model port must pass, and the peers to
// pass it with: a model without a protocol (Fake), players that decide what a model
// says, and a scripted loopback server of the chat-completions protocol (Peer) that
// checks what it is sent and can be told to misbehave.
package modeltest
