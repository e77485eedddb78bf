// Command routing-1.120 is the routing helper of Gardener v1.120, which knew runtimes from 1.27 on, as `owner routing` is that of a
// newer one: a line {service, enabled, version} in, the Service out.
package main

import (
	"fmt"
	"os"
)

func main() {
	if err := answerRouting(os.Stdin, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}
