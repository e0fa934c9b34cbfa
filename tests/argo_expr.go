// Evaluates expressions with the library that Argo evaluates them with.
//
//	cd FOLDER && go mod init x && go get github.com/expr-lang/expr && go run .../tests/argo_expr.go FILE
//
// FILE has a list of {code, env, value}. Prints how many there are and which differ, as one line of JSON.
package main

import (
	"encoding/json"
	"fmt"
	"os"

	"github.com/expr-lang/expr"
)

func main() {
	var cases []struct {
		Code  string
		Env   map[string]any
		Value any
	}
	text, err := os.ReadFile(os.Args[1])
	if err == nil {
		err = json.Unmarshal(text, &cases)
	}
	if err != nil {
		panic(err)
	}
	wrong := []any{}
	for _, one := range cases {
		found, err := expr.Eval(one.Code, one.Env)
		if err != nil {
			found = "error: " + err.Error()
		}
		if found != one.Value {
			wrong = append(wrong, map[string]any{"code": one.Code, "value": one.Value, "found": found})
		}
	}
	if len(wrong) > 5 {
		wrong = wrong[:5]
	}
	line, _ := json.Marshal(map[string]any{"cases": len(cases), "wrong": wrong})
	fmt.Println(string(line))
}
