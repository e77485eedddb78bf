// Runs the settings reconciler in this process against a sandbox.
import { type Session, serve } from '../../cmd/settings-reconciler/app.ts';
import { CONFIG_API_VERSION, loadConfiguration } from '../../pkg/apis/config/load.ts';
import { SETTINGS_RECONCILER_CONFIGURATION } from '../../pkg/apis/config/settings-reconciler.ts';
import type { Event, Service } from '../../pkg/apis/core.ts';
import type { Etcd } from '../../pkg/apis/gardener.ts';
import { ETCDS, EVENTS, SERVICES } from '../../pkg/apis/resources.ts';
import type { Sandbox, SandboxOptions, SandboxRequest } from '../sandbox/types.ts';
import { type ControllerBed, type Serving, openControllerBed, withTestDefaults } from './controller-bed.ts';

export const USER = 'settings-reconciler';

export interface Bed extends Omit<ControllerBed, 'client' | 'session' | 'start' | 'writes'> {
  /** A session with this configuration (YAML below apiVersion and kind). */
  session(yaml: string, garden?: Sandbox): Promise<Session>;
  /** Serves until `stop`; several may run one after the other. */
  start(yaml: string, garden?: Sandbox): Promise<Serving>;
  service(namespace: string, name: string): Service;
  etcd(namespace: string, name: string): Etcd;
  /** `reason: message` of every Event, oldest first. */
  events(): string[];
  /** The reconciler's requests that change something, Leases left out. */
  writes(): SandboxRequest[];
}

const HEADER = `apiVersion: ${CONFIG_API_VERSION}\nkind: ${SETTINGS_RECONCILER_CONFIGURATION.kind}\n`;

export const openBed = async (options: SandboxOptions = {}): Promise<Bed> => {
  const base = await openControllerBed(USER, options);
  const { sandbox } = base;
  const bed: Bed = {
    ...base,
    session: async (yaml, garden) => ({
      ...(await base.session()),
      config: loadConfiguration(SETTINGS_RECONCILER_CONFIGURATION, `${HEADER}${withTestDefaults(yaml)}`, 'config.yaml'),
      gardenClient: garden === undefined ? undefined : await base.client(garden),
    }),
    async start(yaml, garden) {
      const session = await bed.session(yaml, garden);
      return base.start((signal) => serve(session, signal));
    },
    service(namespace, name) {
      const found = sandbox.get<Service>(SERVICES, { namespace, name });
      if (found === undefined) throw new Error(`no Service ${namespace}/${name}`);
      return found;
    },
    etcd(namespace, name) {
      const found = sandbox.get<Etcd>(ETCDS, { namespace, name });
      if (found === undefined) throw new Error(`no Etcd ${namespace}/${name}`);
      return found;
    },
    events: () => sandbox.list<Event>(EVENTS).map(({ reason, message }) => `${reason}: ${message}`),
    writes: () => base.writes(['leases']),
  };
  return bed;
};
