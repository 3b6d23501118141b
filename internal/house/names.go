package house

import (
	"go/ast"
	"slices"
)

// drawers are names that say where things are put and not what they are.
var drawers = []string{"common", "helper", "helpers", "manager", "managers", "misc", "types", "util", "utils"}

// packagesAreNamed: no package is a drawer.
func packagesAreNamed(t *tree) []finding {
	var found []finding
	for _, folder := range t.folders {
		for _, f := range folder.files {
			if name := f.syntax.Name; slices.Contains(drawers, name.Name) {
				found = append(found, finding{
					t.line(name.Pos()), "package " + name.Name + " says nothing of what it holds",
					"name it after the thing, or move each part to the room that uses it",
				})
			}
		}
	}
	return found
}

// options are the names of a delivery that takes options (contract I6).
var options = []string{"Send", "SendTarget", "SendOptions", "Target", "Wakeup", "NextTurn", "NextStep"}

// deliveryHasNoOptions: the three verbs are the only way in, so the public packages
// export none of the names of another.
func deliveryHasNoOptions(t *tree) []finding {
	var found []finding
	for _, folder := range t.folders {
		if !public(folder) {
			continue
		}
		for _, f := range folder.product() {
			for _, name := range declared(f.syntax) {
				if slices.Contains(options, name.Name) {
					found = append(found, finding{
						t.line(name.Pos()), name.Name + " is the name of a delivery with options",
						"use a verb (Followup, Steer, Inject), or another name if this delivers nothing",
					})
				}
			}
		}
	}
	return found
}

func public(folder *folder) bool {
	return !within(folder.dir, "internal") && !within(folder.dir, "bench") && folder.files[0].syntax.Name.Name != "main"
}

// declared yields what a file names at the top: functions, methods, types with their
// fields, constants and variables.
func declared(syntax *ast.File) []*ast.Ident {
	var names []*ast.Ident
	for _, decl := range syntax.Decls {
		switch decl := decl.(type) {
		case *ast.FuncDecl:
			names = append(names, decl.Name)
		case *ast.GenDecl:
			names = append(names, specified(decl)...)
		}
	}
	return names
}

func specified(decl *ast.GenDecl) []*ast.Ident {
	var names []*ast.Ident
	for _, spec := range decl.Specs {
		switch spec := spec.(type) {
		case *ast.ValueSpec:
			names = append(names, spec.Names...)
		case *ast.TypeSpec:
			names = append(append(names, spec.Name), members(spec.Type)...)
		}
	}
	return names
}

// members yields the fields and methods that a type spells out, however deep.
func members(typ ast.Expr) []*ast.Ident {
	var names []*ast.Ident
	ast.Inspect(typ, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.FuncType:
			return false // parameters are nobody's members
		case *ast.Field:
			names = append(names, n.Names...)
		}
		return true
	})
	return names
}
