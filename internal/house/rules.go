package house

import "fmt"

// rules are the promises that can be judged by reading the tree.
var rules = []rule{
	{"imports follow the table of rooms", importsFollowTable},
	{"every package says what it is for", packagesAreDocumented},
	{"a file tells one story", filesAreShort},
	{"nothing happens by importing", nothingHappensOnImport},
	{"packages keep no state", packagesKeepNoState},
	{"packages are named after what they hold", packagesAreNamed},
	{"no delivery options in the public names", deliveryHasNoOptions},
	{"decisions are noted alike", decisionsAreNoted},
	{"plugin folders look like their neighbours", pluginFoldersLookAlike},
	{"no file tells where it was made", filesKeepQuiet},
}

// rule is one promise of the house. check reads only what it is given.
type rule struct {
	name  string
	check func(*tree) []finding
}

// finding is one broken promise.
type finding struct {
	where  string // path or path:line, slash-separated, from the top folder
	wrong  string
	comply string
}

func (f finding) String() string {
	return fmt.Sprintf("%s: %s\n\tTo comply: %s", f.where, f.wrong, f.comply)
}
