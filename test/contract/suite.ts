// The contract of an API server, run unchanged against the sandbox and against the real one.
import { describeAdmission } from './admission.ts';
import { describeCustomResources } from './custom-resources.ts';
import { describeEndpointSlices } from './endpoint-slices.ts';
import { describeLeases } from './leases.ts';
import { describePatches } from './patches.ts';
import { describeReads } from './reads.ts';
import { describeExpiry, type Expiry } from './expiry.ts';
import type { ContractServer } from './server.ts';
import { describeWatches } from './watches.ts';
import { describeWrites } from './writes.ts';

/** Declares the whole suite; call it inside a `describe` whose `before` starts the server. */
export const describeContract = (server: () => ContractServer, expiry?: Expiry): void => {
  describeReads(server);
  if (expiry !== undefined) describeExpiry(server, expiry);
  describeWrites(server);
  describePatches(server);
  describeWatches(server);
  describeLeases(server);
  describeCustomResources(server);
  describeEndpointSlices(server);
  describeAdmission(server);
};
