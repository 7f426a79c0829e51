// Package replay stands before a model and keeps what it says: a Recorder writes every
// exchange to a file, a Recording answers from such a file and asks nobody, a Cache
// answers again what was answered before. None of them knows a vendor's protocol.
//
// # Plays
//
// An exchange belongs to a play, one go at a trial or at a judge's verdict
// ([model.Play], from the context). Plays run at the same time; within one, turns follow
// each other. So an exchange is found by its trial and its turn, whatever ran beside
// it. One that belongs to no trial is found by the whole of its request, and the n-th
// of equal ones gets the n-th answer.
//
// # Time
//
// A replay takes no time, and must show the times of what was recorded. So both give
// the play's clock the milliseconds of each exchange, and nothing else moves it.
package replay
