// The settings-reconciler and the admission of evacuated slices in this process against a sandbox: all that evacuates a zone.
import { serve } from '../../cmd/settings-reconciler/app.ts';
import { CONFIG_API_VERSION, loadConfiguration } from '../../pkg/apis/config/load.ts';
import { SETTINGS_RECONCILER_CONFIGURATION } from '../../pkg/apis/config/settings-reconciler.ts';
import { MUTATING_WEBHOOK_CONFIGURATIONS } from '../../pkg/apis/resources.ts';
import { createClient } from '../../pkg/kubernetes/client.ts';
import { systemClock } from '../../pkg/kubernetes/wait.ts';
import { loadKubeConfig } from '../../pkg/kubernetes/kubeconfig.ts';
import type { Clock } from '../../pkg/kubernetes/types.ts';
import { nullLogger } from '../../pkg/telemetry/log.ts';
import { HINTS_KINDS } from '../../pkg/webhook/endpoint-slice-hints.ts';
import { EVACUATION_NAME, EVACUATION_PATH, createEvacuationHandler } from '../../pkg/webhook/zone-evacuation.ts';
import { createEvacuationWatch } from '../../pkg/webhook/evacuation-watch.ts';
import { admissionRoutes, registrationFor, startAdmission } from '../fixtures/admission-server.ts';
import { temporaryFolder } from '../fixtures/temporary-folder.ts';
import type { Sandbox } from '../sandbox/types.ts';
import { withTestDefaults } from './controller-bed.ts';

/** Whom the sandbox takes the settings-reconciler for. */
export const RECONCILER = 'settings-reconciler';
const REGISTRATION = 'evacuation';

const connect = (sandbox: Sandbox, user: string, file: string) =>
  createClient({ config: loadKubeConfig({ kubeconfig: file }), userAgent: user, transport: sandbox.connect() });

/** Follows the ZoneEvacuations as the command does, and is registered while a zone is evacuated, or from the start for `zones`. */
export const startEvacuationAdmission = async (
  sandbox: Sandbox,
  zones: readonly string[],
  clock: Clock = systemClock,
): Promise<() => Promise<void>> => {
  const folder = temporaryFolder();
  const client = connect(sandbox, 'webhook', folder.write('webhook', sandbox.kubeconfig('webhook')));
  const watch = createEvacuationWatch({ client, clock, random: Math.random, logger: nullLogger });
  const route = {
    name: EVACUATION_NAME,
    path: EVACUATION_PATH,
    kinds: HINTS_KINDS,
    handle: createEvacuationHandler({ evacuations: watch, settingsReconcilerUser: RECONCILER }),
  };
  const { server, ca, stop } = await startAdmission({ routes: [...admissionRoutes(), route] });
  sandbox.seed([
    registrationFor({ server, ca }, { name: REGISTRATION, settingsReconcilerUser: RECONCILER, evacuating: zones }),
  ]);
  const ended = new AbortController();
  const following = watch.run(ended.signal);
  return async () => {
    ended.abort(new Error('test is over'));
    await following;
    await sandbox.remove(MUTATING_WEBHOOK_CONFIGURATIONS, { name: REGISTRATION });
    await stop();
    await client.close();
  };
};

/** The settings-reconciler alone, in real time. Resolves with how to stop it. */
export const startReconciler = (sandbox: Sandbox): (() => Promise<void>) => {
  const folder = temporaryFolder();
  const client = connect(sandbox, RECONCILER, folder.write('reconciler', sandbox.kubeconfig(RECONCILER)));
  const stop = new AbortController();
  const text = `apiVersion: ${CONFIG_API_VERSION}\nkind: ${SETTINGS_RECONCILER_CONFIGURATION.kind}\n${withTestDefaults('modes: {cluster: {}}')}`;
  const served = serve(
    {
      config: loadConfiguration(SETTINGS_RECONCILER_CONFIGURATION, text, 'config.yaml'),
      client,
      gardenClient: undefined,
      namespace: 'default',
      ownNamespace: 'default',
      identity: 'leader',
      clock: systemClock,
      random: Math.random,
      logger: nullLogger,
      print: () => undefined,
    },
    stop.signal,
  );
  served.catch(() => undefined);
  return async () => {
    stop.abort(new Error('test is over'));
    await served;
    await client.close();
  };
};
