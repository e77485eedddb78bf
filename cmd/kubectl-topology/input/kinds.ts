// By which object files are known to be a snapshot of kubectl topology, and what a snapshot says was read.
import { isFields } from '../../../pkg/apis/fields.ts';

export const SNAPSHOT_KIND = 'TopologySnapshot';

const namesIn = (value: unknown): string[] =>
  Array.isArray(value) ? value.filter((item) => typeof item === 'string') : [];

/** What a snapshot says of what was read; undefined for any other object. */
export const snapshotFacts = (
  object: unknown,
): { serverVersion: unknown; read: ReadonlySet<string>; unread: ReadonlyMap<string, string> } | undefined => {
  if (!isFields(object) || object['kind'] !== SNAPSHOT_KIND) return undefined;
  const unread = Array.isArray(object['unread']) ? object['unread'].filter(isFields) : [];
  return {
    serverVersion: object['serverVersion'],
    read: new Set(namesIn(object['read'])),
    unread: new Map(unread.map(({ what, why }) => [String(what), String(why)])),
  };
};
