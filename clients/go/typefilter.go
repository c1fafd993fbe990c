package petrel

import (
	"fmt"
	"strings"
	"unicode/utf8"
)

// typeFilter is an exact type, or a prefix.
type typeFilter struct {
	text   string
	prefix bool
}

// Prefix returns the filter of all types that begin with the text, with its characters escaped: Prefix("billing.") is
// "billing.%".
func Prefix(text string) string {
	return strings.NewReplacer(`\`, `\\`, `%`, `\%`).Replace(text) + "%"
}

// parseTypeFilter reads the notation of the package comment, as the server does.
func parseTypeFilter(text string) (typeFilter, error) {
	if text == "" {
		return typeFilter{}, fmt.Errorf("petrel: a type filter is empty; %q is every type", "%")
	}
	if strings.Contains(text, "\x00") || !utf8.ValidString(text) {
		return typeFilter{}, fmt.Errorf("petrel: type filter %q holds what no type can have", text)
	}
	if !strings.Contains(text, "%") {
		return typeFilter{text: text}, nil
	}
	var plain strings.Builder
	for i := 0; i < len(text); i++ {
		switch char := text[i]; {
		case char == '%' && i == len(text)-1:
			return typeFilter{text: plain.String(), prefix: true}, nil
		case char == '%':
			return typeFilter{}, fmt.Errorf(`petrel: type filter %q: %% stands only at the end; write \%% for the character`, text)
		case char == '\\' && i+1 < len(text) && strings.IndexByte(`\%_`, text[i+1]) >= 0:
			i++
			plain.WriteByte(text[i])
		case char == '\\':
			return typeFilter{}, fmt.Errorf(`petrel: type filter %q: a backslash stands before %%, _ or another backslash`, text)
		default:
			plain.WriteByte(char)
		}
	}
	return typeFilter{text: plain.String()}, nil
}

func (f typeFilter) matches(runType string) bool {
	if f.prefix {
		return strings.HasPrefix(runType, f.text)
	}
	return runType == f.text
}

// and returns the filter of types that both filters match; false if there are none.
func (f typeFilter) and(other typeFilter) (typeFilter, bool) {
	switch {
	case !f.prefix:
		return f, other.matches(f.text)
	case !other.prefix:
		return other, f.matches(other.text)
	case strings.HasPrefix(f.text, other.text):
		return f, true
	default:
		return other, strings.HasPrefix(other.text, f.text)
	}
}

func (f typeFilter) String() string {
	switch {
	case f.prefix:
		return Prefix(f.text)
	case strings.Contains(f.text, "%"):
		return strings.NewReplacer(`\`, `\\`, `%`, `\%`).Replace(f.text)
	default:
		return f.text
	}
}
