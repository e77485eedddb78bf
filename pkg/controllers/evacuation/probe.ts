// SPDX-License-Identifier: Apache-2.0
// Asks the API server, by a write that is not stored, whether admission keeps slices that have the mark of an evacuation.
import type { EndpointSlice } from '../../apis/core.ts';
import { ANNOTATION_EVACUATED, NOWHERE } from '../../apis/names.ts';
import { ENDPOINT_SLICES } from '../../apis/resources.ts';
import { printMark } from '../../evacuation/mark.ts';
import { ApiError } from '../../kubernetes/errors.ts';
import type { Client } from '../../kubernetes/types.ts';
import type { Logger } from '../../telemetry/types.ts';

const ADDRESSES: Readonly<Record<string, string>> = { IPv4: '192.0.2.1', IPv6: '2001:db8::1' };

/** True where there is no slice to try: then there is nothing to keep. */
export const keepsEvacuated = async (
  zone: string,
  subjects: readonly EndpointSlice[],
  { client, logger }: { readonly client: Pick<Client, 'patch'>; readonly logger: Logger },
  signal: AbortSignal,
): Promise<boolean> => {
  const subject = subjects.find(({ addressType }) => ADDRESSES[addressType ?? ''] !== undefined);
  if (subject === undefined) return true;
  const { namespace = '', name = '' } = subject.metadata ?? {};
  const mark = printMark({ out: new Map([[zone, 'all']]), cover: [], was: { usual: 'none', except: new Map() } });
  const patch = {
    metadata: { annotations: { [ANNOTATION_EVACUATED]: mark } },
    endpoints: [{ addresses: [ADDRESSES[subject.addressType ?? '']], zone, conditions: {} }],
  };
  try {
    const ref = { namespace, name };
    const answer = await client.patch<EndpointSlice>(ENDPOINT_SLICES, ref, 'merge', patch, { dryRun: true }, signal);
    return answer.endpoints?.[0]?.hints?.forZones?.[0]?.name === NOWHERE;
  } catch (error) {
    if (signal.aborted || !(error instanceof ApiError)) throw error;
    logger.warn('cannot probe whether admission keeps evacuated slices', { error });
    return false;
  }
};
