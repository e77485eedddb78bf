// The version of a cluster, as given in a file or by the API server.
import type { KubernetesVersion } from '../../../pkg/routing/types.ts';
import { InvalidVersionError, parseVersion } from '../../../pkg/routing/version.ts';

/** Undefined where it is no version. */
export const versionIn = (answer: unknown): KubernetesVersion | undefined => {
  try {
    return parseVersion(answer);
  } catch (error) {
    if (error instanceof InvalidVersionError) return undefined;
    throw error;
  }
};
