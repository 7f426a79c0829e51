package screen

import (
	"bytes"
	"crypto/sha256"
	"math/big"
	"regexp"
	"strings"
)

var (
	base58Wallet = regexp.MustCompile(`[13LMDTA9][1-9A-HJ-NP-Za-km-z]{25,34}`)
	otherWallet  = regexp.MustCompile(`0x[0-9a-fA-F]{40}|(?i:bc1|tb1|ltc1)[02-9ac-hj-np-zA-HJ-NP-Z]{25,87}|4[0-9AB][1-9A-HJ-NP-Za-km-z]{93}|addr1[02-9ac-hj-np-z]{50,110}|r[1-9A-HJ-NP-Za-km-z]{33}|cosmos1[02-9ac-hj-np-z]{38}`)
)

// wallets are addresses of crypto-currencies: Bitcoin and its kin by their check sum
// (base58check), the others by their prefix and length.
func wallets(v view) []hit {
	var places [][2]int
	if v.longest < 26 {
		return nil
	}
	for _, p := range find(v.content, base58Wallet) {
		if base58check(v.content[p[0]:p[1]]) {
			places = append(places, p)
		}
	}
	for _, p := range find(v.content, otherWallet) {
		if text := v.content[p[0]:p[1]]; text[0] != 'r' || strings.ContainsAny(text, "123456789") && strings.ToLower(text) != text {
			places = append(places, p)
		}
	}
	return hitsOf(Wallet, Block, places)
}

// base58check verifies the last four of 25 bytes: a double SHA-256 over the others.
func base58check(text string) bool {
	const alphabet = "123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz"
	n, radix := new(big.Int), big.NewInt(58)
	for _, r := range text {
		n.Add(n.Mul(n, radix), big.NewInt(int64(strings.IndexRune(alphabet, r))))
	}
	if n.BitLen() > 200 {
		return false
	}
	b := n.FillBytes(make([]byte, 25))
	once := sha256.Sum256(b[:21])
	twice := sha256.Sum256(once[:])
	return bytes.Equal(twice[:4], b[21:])
}
