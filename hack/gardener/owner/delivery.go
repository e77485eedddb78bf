package main

import (
	"context"
	"fmt"
	"io"
	"os"

	gardencorev1 "github.com/gardener/gardener/pkg/apis/core/v1"
	"github.com/gardener/gardener/pkg/utils/imagevector"
	"github.com/gardener/gardener/pkg/utils/oci"
)

// pull gets the chart of a ControllerDeployment or an operator's Extension as gardenlet and gardener-operator do.
func pull(ctx context.Context) error {
	archive, err := oci.NewHelmRegistry(nil).Pull(ctx, &gardencorev1.OCIRepository{Ref: ref})
	if err != nil {
		return err
	}
	return os.WriteFile(*chart, archive, 0o600)
}

// printImages prints the images of a vector for each architecture, a line each, as Gardener finds them.
func printImages(in io.Reader, out io.Writer) error {
	text, err := io.ReadAll(in)
	if err != nil {
		return err
	}
	vector, err := imagevector.Read(text)
	if err != nil {
		return err
	}
	for _, source := range vector {
		for _, architecture := range source.Architectures {
			image, err := vector.FindImage(source.Name, imagevector.Architecture(architecture))
			if err != nil {
				return err
			}
			fmt.Fprintln(out, architecture, image)
		}
	}
	return nil
}
