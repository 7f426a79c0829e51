// Package filelock opens files that one process at a time may write. The lock belongs
// to the open file: it ends with it, and with its process, however that dies.
package filelock
