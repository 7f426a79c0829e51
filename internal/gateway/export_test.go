package gateway

import "net/http"

// Admin is what the gateway serves of its own.
func (g *Gateway) Admin() http.Handler { return g.admin(nil) }
