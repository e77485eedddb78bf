// A client that answers from what the test gives it and keeps what was patched.
import type { KubernetesObject, ObjectRef } from '../../../../pkg/apis/meta.ts';
import type { Resource } from '../../../../pkg/apis/resources.ts';
import { ApiError } from '../../../../pkg/kubernetes/errors.ts';
import type { Client, EventInput, Selection, WriteOptions } from '../../../../pkg/kubernetes/types.ts';

export interface Patched {
  readonly resource: string;
  readonly ref: ObjectRef;
  readonly type: string;
  readonly patch: { metadata: { labels?: object; annotations?: object; resourceVersion?: string } };
  readonly options: WriteOptions;
}

export interface FakeClient extends Pick<Client, 'patch' | 'pages'> {
  readonly patched: Patched[];
  /** `plural?fieldSelector` of every list. */
  readonly listed: string[];
  /** By plural name. */
  readonly objects: Record<string, KubernetesObject[]>;
  /** What the next patch is refused with. */
  failure: number | undefined;
}

/** Answers a patch with the object of the same name and the next version; nothing is changed. */
export const fakeClient = (objects: Record<string, KubernetesObject[]> = {}): FakeClient => {
  const patched: Patched[] = [];
  const listed: string[] = [];
  const client: FakeClient = {
    patched,
    listed,
    objects,
    failure: undefined,
    patch<T extends KubernetesObject>(
      { plural }: Resource,
      ref: ObjectRef,
      type: string,
      patch: unknown,
      options: WriteOptions = {},
    ): Promise<T> {
      if (client.failure !== undefined) {
        const status = client.failure;
        client.failure = undefined;
        return Promise.reject(new ApiError({ status, method: 'PATCH', path: `/${plural}` }));
      }
      patched.push({ resource: plural, ref, type, patch: patch as Patched['patch'], options });
      const found = objects[plural]?.find(({ metadata }) => metadata?.name === ref.name);
      return Promise.resolve({ ...found, metadata: { ...found?.metadata, resourceVersion: '100' } } as T);
    },
    async *pages<T extends KubernetesObject>({ plural }: Resource, { fieldSelector = '' }: Selection = {}) {
      listed.push(`${plural}?${fieldSelector}`);
      yield { metadata: {}, items: (objects[plural] ?? []) as T[] };
    },
  };
  return client;
};

/** Keeps events as `type reason kind/name: message`. */
export const eventLog = (): { lines: string[]; record(event: EventInput): void } => {
  const lines: string[] = [];
  return {
    lines,
    record: ({ regarding, type, reason, message }) =>
      void lines.push(`${type} ${reason} ${regarding.kind}/${regarding.name}: ${message}`),
  };
};

export const never: AbortSignal = new AbortController().signal;
