// Watches: initial state, history, live changes, bookmarks, timeouts and their ends.
import { apiVersionOf } from '../../pkg/apis/resources.ts';
import { expired, invalidOptions } from './errors.ts';
import type { Exchange } from './exchange.ts';
import { type StoredObject, namespaceOf } from './object.ts';
import { matcherOf, versionOf, type ObjectMatcher } from './reader.ts';
import type { Route } from './route.ts';
import type { ServedResource } from './served-resource.ts';
import { resourceKey, type Change, type ObjectStore } from './store.ts';

export interface WatchHub {
  /** Serves the watch until the client, the timeout or `cut` ends it. Throws a Status error before the first byte. */
  serve(resource: ServedResource, route: Route, user: string, exchange: Exchange): void;
  cut(how: '410' | 'reset' | 'close', matches: (watch: OpenWatch) => boolean): void;
}

/** An open watch as faults see it. */
export interface OpenWatch {
  readonly user: string;
  readonly resource: string;
  readonly name: string;
}

interface Watch extends OpenWatch {
  readonly key: string;
  readonly served: ServedResource;
  readonly namespace: string | undefined;
  readonly matches: ObjectMatcher;
  readonly exchange: Exchange;
  readonly stop: () => void;
}

interface Options {
  readonly store: ObjectStore;
  readonly toJson: (object: StoredObject) => string;
  readonly bookmarkSeconds: number;
}

/** What the real server takes when a client names no timeout: half an hour to an hour. */
const DEFAULT_TIMEOUT_SECONDS = 1800;

const frame = (type: string, object: string): string => `{"type":"${type}","object":${object}}\n`;

/** The error event that ends a watch whose version is gone. */
const expiredFrame = (message: string): string =>
  frame('ERROR', JSON.stringify({ metadata: {}, ...expired(message).status }));

/** How a change looks through a selector: coming into it is ADDED, leaving it is DELETED. */
const visible = ({ type, object, previous }: Change, matches: ObjectMatcher): Change['type'] | undefined => {
  const before = previous !== undefined && matches(previous);
  if (type === 'DELETED') return before ? 'DELETED' : undefined;
  const after = matches(object);
  if (after) return before ? 'MODIFIED' : 'ADDED';
  return before ? 'DELETED' : undefined;
};

export const createWatchHub = ({ store, toJson, bookmarkSeconds }: Options): WatchHub => {
  const watches = new Set<Watch>();
  const byKey = new Map<string, Set<Watch>>();

  const deliver = (watch: Watch, change: Change): void => {
    if (watch.namespace !== undefined && namespaceOf(change.object) !== watch.namespace) return;
    const type = visible(change, watch.matches);
    if (type === undefined) return;
    // An object that left the selection is shown as it was, at the version at which it left.
    const leaving = type === 'DELETED' && change.type === 'MODIFIED' && change.previous !== undefined;
    const shown = leaving
      ? { ...change.previous, metadata: { ...change.previous.metadata, resourceVersion: String(change.version) } }
      : change.object;
    watch.exchange.write(frame(type, toJson(shown)));
  };

  store.subscribe((change) => {
    for (const watch of byKey.get(resourceKey(change.resource)) ?? []) deliver(watch, change);
  });

  const bookmark = (watch: Watch, extra: Record<string, unknown> = {}): void => {
    const metadata = { resourceVersion: String(store.version), creationTimestamp: null, ...extra };
    const { served } = watch;
    watch.exchange.write(
      frame('BOOKMARK', JSON.stringify({ kind: served.kind, apiVersion: apiVersionOf(served), metadata })),
    );
  };

  const open = (watch: Watch): void => {
    watches.add(watch);
    const peers = byKey.get(watch.key) ?? new Set();
    byKey.set(watch.key, peers.add(watch));
  };

  const sendInitial = (watch: Watch, listAll: boolean, from: number): boolean => {
    if (listAll) {
      for (const object of store.list(watch.key, watch.namespace)) {
        if (watch.matches(object)) watch.exchange.write(frame('ADDED', toJson(object)));
      }
      return true;
    }
    const changes = store.since(watch.key, from);
    if (changes === undefined) {
      watch.exchange.write(expiredFrame(`too old resource version: ${from} (${store.version})`));
      return false;
    }
    for (const change of changes) deliver(watch, change);
    return true;
  };

  const start = (watch: Watch, query: Route['query'], timers: NodeJS.Timeout[]): void => {
    const bookmarks = query['allowWatchBookmarks'] === 'true';
    const streaming = query['sendInitialEvents'] === 'true';
    const from = versionOf(query['resourceVersion']) ?? 0;
    watch.exchange.stream();
    if (!sendInitial(watch, streaming || from === 0, from)) {
      watch.stop();
      return;
    }
    if (streaming) bookmark(watch, { annotations: { 'k8s.io/initial-events-end': 'true' } });
    open(watch);
    const seconds = Number(query['timeoutSeconds'] ?? 0) || DEFAULT_TIMEOUT_SECONDS;
    timers.push(setTimeout(() => watch.stop(), seconds * 1000));
    if (bookmarks) timers.push(setInterval(() => bookmark(watch), bookmarkSeconds * 1000));
  };

  return {
    serve(resource, route, user, exchange) {
      const { query } = route;
      if (query['sendInitialEvents'] === 'true' && query['resourceVersionMatch'] !== 'NotOlderThan')
        throw invalidOptions('ListOptions', {
          field: 'resourceVersionMatch',
          reason: 'FieldValueForbidden',
          message: 'Forbidden: sendInitialEvents requires setting resourceVersionMatch to NotOlderThan',
        });
      const timers: NodeJS.Timeout[] = [];
      const selected = matcherOf(resource, route);
      const watch: Watch = {
        user,
        resource: resource.plural,
        name: route.name,
        key: resourceKey(resource),
        served: resource,
        namespace: resource.namespaced && route.namespace !== '' ? route.namespace : undefined,
        matches: route.name === '' ? selected : (object) => object.metadata.name === route.name && selected(object),
        exchange,
        stop() {
          forget();
          exchange.end();
        },
      };
      const forget = (): void => {
        for (const timer of timers) clearTimeout(timer);
        watches.delete(watch);
        byKey.get(watch.key)?.delete(watch);
      };
      versionOf(query['resourceVersion']);
      exchange.onClose(forget);
      start(watch, query, timers);
    },
    cut(how, matches) {
      for (const watch of [...watches].filter((candidate) => matches(candidate))) {
        if (how === '410') watch.exchange.write(expiredFrame(`too old resource version: 1 (${store.version})`));
        if (how === 'reset') watch.exchange.reset(false);
        watch.stop();
      }
    },
  };
};
