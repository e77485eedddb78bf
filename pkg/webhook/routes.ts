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
import type { AdmissionInputs, AdmissionRoute } from './review.ts';
import { EVACUATION_NAME, EVACUATION_PATH, createEvacuationHandler } from './zone-evacuation.ts';

export const admissionRoutes = (inputs: AdmissionInputs): AdmissionRoute[] => {
  const hints = { name: HINTS_NAME, kinds: HINTS_KINDS };
  const settings = { name: SETTINGS_NAME, kinds: SETTINGS_KINDS };
  const routes: AdmissionRoute[] = [
    { ...hints, path: HINTS_PATH, handle: createEndpointSliceHintsHandler(inputs, false) },
    { ...hints, path: CHOSEN_HINTS_PATH, handle: createEndpointSliceHintsHandler(inputs, true) },
    { name: EVACUATION_NAME, path: EVACUATION_PATH, kinds: HINTS_KINDS, handle: createEvacuationHandler(inputs) },
    { ...settings, path: SETTINGS_PATH, handle: createRoutingSettingsHandler(inputs) },
    { ...settings, path: ETCD_CLIENTS_PATH, handle: createEtcdClientsHandler(inputs, true) },
    { ...settings, path: ETCD_CLIENTS_RELEASED_PATH, handle: createEtcdClientsHandler(inputs, false) },
  ];
  const { off = () => false } = inputs;
  return routes.map((route) => ({
    ...route,
    handle: (request) => (off() ? { kind: 'unchanged' } : route.handle(request)),
  }));
};
