// Gardener's own routing helper as the oracle of pkg/routing: random Services, the versions that a current Gardener knows, vendors' suffixes.
// Needs no bed.
// Needs built: gardener/owner/owner
import { describeOracle } from '../gardener/routing-oracle.ts';

// Below 1.31 this release knows no difference any more.
describeOracle('Gardener v1.141', ['gardener/owner/owner', 'routing'], [31, 32, 33, 34, 35, 36]);
