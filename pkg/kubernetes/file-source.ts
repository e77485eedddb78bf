// Contents of small files that rotate under us (tokens, certificates), read again only when they changed on disk.
import { readFileSync, statSync } from 'node:fs';
import type { Clock } from './types.ts';

export interface FileSource {
  /**
   * Content of the file now, as far as it was looked at within `intervalMs`.
   *
   * @throws Error of the file system when the file was never readable; afterwards the last good content stays, because
   * a rotation may leave an instant without a file.
   */
  read(): Buffer;
  /** Looks at the file at the next `read`, whatever the interval. */
  expire(): void;
}

// A mounted Secret or token changes by a swapped symbolic link: another inode, which stat sees through the link.
const stampOf = (path: string): string => {
  const { ino, size, mtimeMs, ctimeMs } = statSync(path);
  return `${ino}:${size}:${mtimeMs}:${ctimeMs}`;
};

/**
 * @param intervalMs - The file is looked at (stat) no more often than this; it is read only when the stamp changed.
 */
export const createFileSource = (path: string, clock: Clock, intervalMs: number): FileSource => {
  let content: Buffer | undefined;
  let stamp: string | undefined;
  let checkedAt = Number.NEGATIVE_INFINITY;

  const look = (): Buffer => {
    const next = stampOf(path);
    if (content === undefined || next !== stamp) {
      // The stamp is taken before the content: a change in between is seen at the next look, never missed.
      content = readFileSync(path);
      stamp = next;
    }
    return content;
  };

  return {
    read() {
      if (content !== undefined && clock.monotonic() - checkedAt < intervalMs) return content;
      checkedAt = clock.monotonic();
      try {
        return look();
      } catch (error) {
        if (content === undefined) throw error;
        return content;
      }
    },
    expire() {
      checkedAt = Number.NEGATIVE_INFINITY;
    },
  };
};
