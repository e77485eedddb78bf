// Remembers what the API server answered to our own writes until the cache has caught up, so that nothing is written twice.
import type { KubernetesObject } from '../apis/meta.ts';

export interface RecentWrites<T extends KubernetesObject> {
  /** Remembers the answer to a write; `before` is the resourceVersion that the cache held then. */
  remember(key: string, answer: T, before: string | undefined): void;
  /** The newer of the cached object and our own last write. */
  freshest(key: string, cached: T): T;
  forget(key: string): void;
  readonly size: number;
}

const asNumber = (version: string | undefined): bigint | undefined =>
  version !== undefined && /^\d+$/.test(version) ? BigInt(version) : undefined;

/**
 * resourceVersions are ordered numbers (KEP-5504); where they are not, any change counts as caught up. A write that changed
 * nothing shows that the cache was wrong about this very version, as when a CRD prunes a field for a while: only
 * another version is better than its answer.
 */
const caughtUp = (cached: string | undefined, written: string | undefined, before: string | undefined): boolean => {
  if (written === before) return cached !== written;
  const [cachedNumber, writtenNumber] = [asNumber(cached), asNumber(written)];
  if (cachedNumber !== undefined && writtenNumber !== undefined) return cachedNumber >= writtenNumber;
  return cached !== before;
};

export const createRecentWrites = <T extends KubernetesObject>(): RecentWrites<T> => {
  const writes = new Map<string, { answer: T; before: string | undefined }>();
  return {
    remember: (key, answer, before) => void writes.set(key, { answer, before }),
    freshest(key, cached) {
      const write = writes.get(key);
      if (write === undefined) return cached;
      const { answer, before } = write;
      // A new object under the old name is never our write.
      const replaced = cached.metadata?.uid !== answer.metadata?.uid;
      if (!replaced && !caughtUp(cached.metadata?.resourceVersion, answer.metadata?.resourceVersion, before))
        return answer;
      writes.delete(key);
      return cached;
    },
    forget: (key) => void writes.delete(key),
    get size() {
      return writes.size;
    },
  };
};
