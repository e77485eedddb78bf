// The paths of the admission server, each with the handler behind it.
import type { KubernetesVersion } from '../routing/types.ts';
import { atLeast } from '../routing/version.ts';
import {
  CHOSEN_HINTS_PATH,
  HINTS_KINDS,
  HINTS_NAME,
  HINTS_PATH,
  createEndpointSliceHintsHandler,
} from './endpoint-slice-hints.ts';
import {
  ETCD_CLIENTS_PATH,
  ETCD_CLIENTS_RELEASED_PATH,
  SETTINGS_KINDS,
  SETTINGS_NAME,
  SETTINGS_PATH,
  createEtcdClientsHandler,
  createRoutingSettingsHandler,
} from './routing-settings.ts';
import type { AdmissionHandler, AdmissionRoute } from './review.ts';
import { EVACUATION_NAME, EVACUATION_PATH, createEvacuationHandler } from './zone-evacuation.ts';
import type { EvacuationWatch } from './evacuation-watch.ts';

/** What decisions read beside the object under review; each is asked at every review. */
export interface RoutesOptions {
  readonly version: () => KubernetesVersion;
  readonly plannerAlive: () => boolean;
  /** Users whose planned hints pass untouched. */
  readonly plannerUsers: Pick<ReadonlySet<string>, 'has'>;
  /** The user whose writes of settings are never changed. */
  readonly settingsReconcilerUser: string;
  readonly evacuations: Pick<EvacuationWatch, 'isLeft' | 'joiningOf'>;
  /** Hints are switched off in the whole cluster: an API server that has not heard of it yet may still ask. Default: never. */
  readonly off?: () => boolean;
}

export const admissionRoutes = (options: RoutesOptions): AdmissionRoute[] => {
  const { version, plannerAlive, plannerUsers, settingsReconcilerUser, evacuations, off = () => false } = options;
  const hints = (path: string, chosen: boolean): AdmissionRoute => ({
    name: HINTS_NAME,
    path,
    kinds: HINTS_KINDS,
    handle: createEndpointSliceHintsHandler({
      flowControllerUsers: plannerUsers,
      plannerAlive,
      nodeHints: () => atLeast(version(), 33),
      chosen,
    }),
  });
  const settings = (path: string, handle: AdmissionHandler): AdmissionRoute => ({
    name: SETTINGS_NAME,
    path,
    kinds: SETTINGS_KINDS,
    handle,
  });
  const routes = [
    hints(HINTS_PATH, false),
    hints(CHOSEN_HINTS_PATH, true),
    {
      name: EVACUATION_NAME,
      path: EVACUATION_PATH,
      kinds: HINTS_KINDS,
      handle: createEvacuationHandler({ ...evacuations, settingsReconcilerUser }),
    },
    settings(SETTINGS_PATH, createRoutingSettingsHandler({ settingsReconcilerUser })),
    settings(ETCD_CLIENTS_PATH, createEtcdClientsHandler({ enabled: true, version })),
    settings(ETCD_CLIENTS_RELEASED_PATH, createEtcdClientsHandler({ enabled: false, version })),
  ];
  return routes.map((route) => ({
    ...route,
    handle: (request) => (off() ? { kind: 'unchanged' } : route.handle(request)),
  }));
};
