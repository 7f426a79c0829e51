package model

import "errors"

// ErrAwaited is the cause of an [*Error] where the answer is still to come from somebody
// who answers at leisure: whoever asks may ask the next question first, and comes back.
var ErrAwaited = errors.New("the answer is awaited")
