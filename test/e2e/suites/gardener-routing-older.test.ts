// The same with the helper of a Gardener that still knew Kubernetes 1.27 to 1.30.
// Needs no bed.
// Needs built: gardener/routing-1.120/routing-1.120
import { describeOracle } from './gardener-routing.test.ts';

// From 1.34 on it writes the older name of the same value.
describeOracle('Gardener v1.120', ['gardener/routing-1.120/routing-1.120'], [27, 28, 29, 30, 31, 32, 33]);
