// Puts objects straight into a bed's etcd: clusters whose creation through the API server would take longer than what is measured in them.
import { randomUUID } from 'node:crypto';
import type { KubernetesObject } from '../../../pkg/apis/meta.ts';
import { NAMESPACES, type Resource } from '../../../pkg/apis/resources.ts';
import { collectionPath } from '../../../pkg/kubernetes/request.ts';
import type { Client } from '../../../pkg/kubernetes/types.ts';
import { waitFor } from './machine.ts';

/** An object and its key beneath `/registry/`, as the API server chooses it: `pods/default/web`. */
export interface StoredObject {
  readonly key: string;
  readonly object: object;
}

/**
 * @param folder - Where the API server keeps the resource: its plural, after the group of a custom resource; `minions` and `services/specs`.
 */
export const stored = (folder: string, object: KubernetesObject): StoredObject => {
  const { namespace, name = '' } = object.metadata ?? {};
  return { key: [folder, ...(namespace === undefined ? [] : [namespace]), name].join('/'), object };
};

/** Works inside the control plane's namespace only. */
const TRANSACTION = 'http://127.0.0.1:2379/v3/kv/txn';
/** etcd's limits of a transaction: 128 operations (--max-txn-ops) and 1.5 MiB (--max-request-bytes). */
const [MOST_OPERATIONS, MOST_BYTES] = [128, 1_000_000];
const CONNECTIONS = 4;

const base64 = (text: string): string => Buffer.from(text).toString('base64');

/** As the API server would have created it. */
const textOf = (object: object, now: string): string => {
  const { metadata, ...rest } = object as { readonly metadata?: object };
  return JSON.stringify({ ...rest, metadata: { uid: randomUUID(), creationTimestamp: now, ...metadata } });
};

function* transactions(objects: Iterable<StoredObject>): Generator<object> {
  const now = `${new Date().toISOString().slice(0, 19)}Z`;
  let [operations, bytes]: [object[], number] = [[], 0];
  for (const { key, object } of objects) {
    const text = textOf(object, now);
    if (operations.length === MOST_OPERATIONS || bytes + text.length > MOST_BYTES) {
      yield { success: operations };
      [operations, bytes] = [[], 0];
    }
    operations.push({ request_put: { key: base64(`/registry/${key}`), value: base64(text) } });
    bytes += text.length;
  }
  if (operations.length > 0) yield { success: operations };
}

/**
 * Stores whole objects, apiVersion and kind included. The API server decodes JSON as well as the protobuf that it writes itself, and learns of them through its
 * watch of etcd; nothing validates, allocates or admits them.
 *
 * @throws Error with etcd's answer.
 */
export const storeObjects = async (objects: Iterable<StoredObject>): Promise<void> => {
  const queue = transactions(objects);
  const work = async (): Promise<void> => {
    for (const transaction of queue) {
      const answer = await fetch(TRANSACTION, { method: 'POST', body: JSON.stringify(transaction) });
      const text = await answer.text();
      if (!answer.ok || !text.includes('"succeeded":true')) throw new Error(`etcd: ${answer.status} ${text}`);
    }
  };
  await Promise.all(Array.from({ length: CONNECTIONS }, work));
};

/** Until the API server, which reads what changes in etcd one by one, serves these resources as they are now: it refuses what asks for more. */
export const untilKnown = async (client: Client, resources: readonly Resource[]): Promise<void> => {
  const { metadata } = await client.list(NAMESPACES, { limit: 1 });
  const query = `limit=1&resourceVersion=${metadata.resourceVersion ?? ''}&resourceVersionMatch=NotOlderThan`;
  for (const resource of resources)
    await waitFor(
      `the API server knows all ${resource.plural}`,
      () => client.raw(`${collectionPath(resource)}?${query}`),
      () => true,
      { timeoutSeconds: 300, intervalMs: 500 },
    );
};
