package petrel

import (
	"testing"
)

// Type filters are read as the server reads them.
func TestTypeFiltersAreReadAsTheServerReadsThem(t *testing.T) {
	t.Parallel()
	for text, wanted := range map[string]typeFilter{
		`billing.invoice.v1`: {text: `billing.invoice.v1`},
		`a\b`:                {text: `a\b`},
		`%`:                  {prefix: true},
		`billing.%`:          {text: `billing.`, prefix: true},
		`a_b.%`:              {text: `a_b.`, prefix: true},
		`a\_b.%`:             {text: `a_b.`, prefix: true},
		`100\%.%`:            {text: `100%.`, prefix: true},
		`100\%`:              {text: `100%`},
		`a\\%`:               {text: `a\`, prefix: true},
	} {
		filter, err := parseTypeFilter(text)
		if err != nil || filter != wanted {
			t.Errorf("%s is %+v, %v", text, filter, err)
		}
		again, err := parseTypeFilter(filter.String())
		if err != nil || again != filter {
			t.Errorf("%s written as %s is %+v, %v", text, filter, again, err)
		}
	}
	for _, text := range []string{``, `%.v1`, `a.%.%`, `a\b%`, `a\` + "\x00", "a\xff"} {
		if filter, err := parseTypeFilter(text); err == nil {
			t.Errorf("%q is %+v", text, filter)
		}
	}
	if Prefix(`50%_\x`) != `50\%_\\x%` {
		t.Error(Prefix(`50%_\x`))
	}
}

// Two type filters intersect in the narrower one, or not at all.
func TestTwoFiltersMeetInTheNarrower(t *testing.T) {
	t.Parallel()
	for _, row := range [][3]string{
		{"a.b.v1", "a.%", "a.b.v1"},
		{"a.%", "a.b.v1", "a.b.v1"},
		{"a.%", "a.b%", "a.b%"},
		{"a.b%", "%", "a.b%"},
		{"a.v1", "a.v1", "a.v1"},
		{"a.v1", "b.v1", ""},
		{"a.%", "b.%", ""},
		{"a.v1", "b.%", ""},
		{"a_b.%", "axb.%", ""},
	} {
		first, _ := parseTypeFilter(row[0])
		second, _ := parseTypeFilter(row[1])
		both, any := first.and(second)
		if any != (row[2] != "") || (any && both.String() != row[2]) {
			t.Errorf("%s and %s is %s, %v", row[0], row[1], both, any)
		}
	}
}
