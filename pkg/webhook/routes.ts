// The paths of the admission server, each with the handler behind it.
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
import type { AdmissionHandler, AdmissionInputs, AdmissionRoute } from './review.ts';
import { EVACUATION_NAME, EVACUATION_PATH, createEvacuationHandler } from './zone-evacuation.ts';

export const admissionRoutes = (inputs: AdmissionInputs): AdmissionRoute[] => {
  const hints = (path: string, chosen: boolean) => ({
    name: HINTS_NAME,
    path,
    kinds: HINTS_KINDS,
    handle: createEndpointSliceHintsHandler(inputs, chosen),
  });
  const settings = (path: string, handle: AdmissionHandler) => ({
    name: SETTINGS_NAME,
    path,
    kinds: SETTINGS_KINDS,
    handle,
  });
  const routes: AdmissionRoute[] = [
    hints(HINTS_PATH, false),
    hints(CHOSEN_HINTS_PATH, true),
    { name: EVACUATION_NAME, path: EVACUATION_PATH, kinds: HINTS_KINDS, handle: createEvacuationHandler(inputs) },
    settings(SETTINGS_PATH, createRoutingSettingsHandler(inputs)),
    settings(ETCD_CLIENTS_PATH, createEtcdClientsHandler(inputs, true)),
    settings(ETCD_CLIENTS_RELEASED_PATH, createEtcdClientsHandler(inputs, false)),
  ];
  const { off = () => false } = inputs;
  return routes.map((route) => ({
    ...route,
    handle: (request) => (off() ? { kind: 'unchanged' } : route.handle(request)),
  }));
};
