package screen

import (
	"regexp"
	"strings"
)

// Marks of a procedure of chemistry. None of them says anything by itself; a passage is
// a recipe where quantities stand beside reagents and somebody is told what to do.
var (
	quantity    = regexp.MustCompile(`(?i)\b\d+(?:[.,]\d+)?\s?(?:mg|g|grams?|kg|ml|millilit(?:er|re)s?|l|lit(?:er|re)s?|mmol|mol|equiv(?:alents?)?|parts?|drops?|%|m)\b`)
	reagent     = regexp.MustCompile(`(?i)\b(?:(?:sulph?uric|nitric|hydrochloric|acetic|phosphoric|hydrofluoric|hydriodic|perchloric|formic|lysergic|picric) acid|acetic anhydride|acetone|toluene|ethanol|methanol|benzene|chloroform|dichloromethane|diethyl ether|petroleum ether|acetonitrile|hexane|(?:sodium|potassium|lithium|ammonium|calcium|magnesium|aluminium|aluminum|mercury|lead|silver|zinc|copper|iron|phosphorus|barium|methyl|ethyl|thionyl|hydrogen) (?:hydroxide|chloride|nitrate|chlorate|perchlorate|peroxide|azide|borohydride|cyanide|sulph?ide|sulph?ate|carbonate|bicarbonate|permanganate|trichloride|pentachloride|tribromide|iodide|bromide|acetate|metal|powder)|red phosphorus|white phosphorus|iodine|hydrazine|methylamine|ephedrine|pseudoephedrine|safrole|piperonal|ergot\w*|hexamine|glycerine|glycerol|nitromethane|fuel oil|charcoal|sulph?ur|thermite|bleach|sugar|ammonia|organophosph\w+|ricin|castor beans?|palladium on carbon|raney nickel)\b`)
	operation   = regexp.MustCompile(`(?i)\b(?:reflux|distil\w*|recrystalli[sz]\w*|crystalli[sz]e|precipitate|neutrali[sz]e|titrate|extract(?: it| twice| with)|filter(?: off| under)|evaporate|dissolve|stir(?:ring)?|dropwise|add (?:slowly|the|to|\d)|heat (?:to|the|at|gently|until)|cool (?:to|the|in)|keep (?:below|under|at)|wash (?:with|the)|dry (?:over|under|the)|mix (?:with|the|until|\d)|nitrate|grind|pour|ice bath|vacuum)\b`)
	temperature = regexp.MustCompile(`(?i)\b\d{1,4}\s?(?:°\s?[CF]?|degrees|celsius|fahrenheit|k\b)|\b(?:ice|oil|water) bath\b|\b(?:room temperature|boiling point)\b`)
)

// passage is how far apart the marks of one recipe may stand, in bytes.
const passage = 600

// recipes are conservative: two reagents with a quantity each and two operations, or a
// temperature for one of them, within one passage. All are for review.
func recipes(v view) []hit {
	if v.digits == 0 || !operation.MatchString(v.content) {
		return nil
	}
	reagents := reagent.FindAllStringIndex(v.content, -1)
	for i := 0; i+1 < len(reagents); i++ {
		start := max(0, reagents[i][0]-40)
		end := min(len(v.content), start+passage)
		text := v.content[start:end]
		different := map[string]bool{}
		for _, r := range reagent.FindAllString(text, -1) {
			different[strings.ToLower(r)] = true
		}
		steps := len(operation.FindAllStringIndex(text, -1))
		hot := temperature.MatchString(text)
		if len(different) >= 2 && len(quantity.FindAllStringIndex(text, 3)) >= 2 && (steps >= 2 || steps >= 1 && hot) {
			last := reagents[i+1]
			return []hit{{start: reagents[i][0], end: min(last[1], end), kind: Recipe, severity: Review}}
		}
	}
	return nil
}
