// Which slices admission hints because their namespace says so, and takes the hints off again once it no longer does.
import type { EndpointSlice, Namespace, Service } from '../../apis/core.ts';
import { ETCD_CLIENT_SERVICES, LABEL_ETCD_CLIENTS, LABEL_SERVICE_NAME } from '../../apis/names.ts';
import { lockOn } from '../../apis/json-patch.ts';
import { refOf } from '../../apis/values.ts';
import { ENDPOINT_SLICES } from '../../apis/resources.ts';
import { strategyOf } from '../../hints/table.ts';
import type { Cache } from '../../kubernetes/cache.ts';
import { isConflict, isNotFound } from '../../kubernetes/errors.ts';
import type { Reconciler, Uses } from '../../kubernetes/types.ts';
import { isMadeByDruid } from '../../routing/etcd-clients.ts';
import { NEWEST_KNOWN_VERSION } from '../../routing/version.ts';
import { wishOf } from '../../upstream/index.ts';

/** As last seen. */
export interface EtcdClientView {
  readonly namespaces: Pick<Cache<Namespace>, 'get'>;
  readonly services: Pick<Cache<Service>, 'get'>;
}

const serviceOf = ({ metadata }: EndpointSlice): string => metadata?.labels?.[LABEL_SERVICE_NAME] ?? '';

const isEtcdClients = (slice: EndpointSlice): boolean =>
  ETCD_CLIENT_SERVICES.includes(serviceOf(slice)) && strategyOf(slice.metadata?.labels ?? {}) === undefined;

/** Whether admission gives the slice hints although no label asks for them. */
export const isChosen = (slice: EndpointSlice, { namespaces }: Pick<EtcdClientView, 'namespaces'>): boolean => {
  const namespace = namespaces.get({ name: refOf(slice).namespace });
  return isEtcdClients(slice) && namespace?.metadata?.labels?.[LABEL_ETCD_CLIENTS] === 'true';
};

const isHinted = ({ endpoints }: EndpointSlice): boolean => (endpoints ?? []).some(({ hints }) => hints !== undefined);

/** Whether the slice holds hints that only our admission can have written, and that nothing asks for any more. */
export const isLeftOver = (slice: EndpointSlice, view: EtcdClientView): boolean => {
  if (!isHinted(slice) || !isEtcdClients(slice) || isChosen(slice, view)) return false;
  const service = view.services.get({ namespace: refOf(slice).namespace, name: serviceOf(slice) });
  // With a field or an annotation, the hints are kube-controller-manager's.
  return service !== undefined && isMadeByDruid(service) && wishOf(service, NEWEST_KNOWN_VERSION).source === 'none';
};

/** API servers see a namespace's label go a moment after us; until then admission puts the hints back. */
const AGAIN_MS = 5_000;

/** Removes all hints, if the slice still is the one that was looked at: places in the list are only good for that. */
const removal = (slice: EndpointSlice) => [
  lockOn(slice),
  ...(slice.endpoints ?? []).flatMap(({ hints }, index) =>
    hints === undefined ? [] : [{ op: 'remove', path: `/endpoints/${index}/hints` }],
  ),
];

/** kube-controller-manager would remove them as well, but only when something else makes it write the slice. */
export const createHintRelease = (
  options: Uses<'client' | 'logger', 'patch'> & {
    /** Slices as cached, of managed namespaces. */
    slices(): readonly EndpointSlice[];
    view: EtcdClientView;
  },
): Reconciler => ({
  async reconcile(_key, signal) {
    const { client, view, logger } = options;
    const found = options.slices().filter((slice) => isLeftOver(slice, view));
    let again = false;
    for (const slice of found) {
      const ref = refOf(slice);
      try {
        const answer = await client.patch<EndpointSlice>(ENDPOINT_SLICES, ref, 'json', removal(slice), {}, signal);
        if (isHinted(answer)) again = true;
        else logger.info('hints removed, routing by zone is off', { namespace: ref.namespace, slice: ref.name });
      } catch (error) {
        if (isConflict(error)) again = true;
        else if (!isNotFound(error)) throw error;
      }
    }
    return again ? { kind: 'requeue', afterMs: AGAIN_MS } : { kind: 'done' };
  },
});
