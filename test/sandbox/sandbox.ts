// Puts the sandbox together: store, admission, controllers and the TLS listener in front of them.
import { createAdmission } from './admission.ts';
import { createRuleContext } from './allocation.ts';
import { BUILT_IN } from './built-in.ts';
import { createControllers } from './controllers.ts';
import { createDirectAccess, initialNamespaces } from './direct.ts';
import { createFaultTable, matchesFault } from './faults.ts';
import { createHandlers } from './handlers.ts';
import { createJsonCache } from './object.ts';
import { createServiceResolver } from './lifecycle.ts';
import { connectInMemory } from './memory.ts';
import { createReader } from './reader.ts';
import { createRequestLog } from './request-log.ts';
import { createRouter } from './router.ts';
import { startListener } from './server.ts';
import { createRegistry, servedCustom, type ServedResource } from './served-resource.ts';
import { createStore } from './store.ts';
import { createCertificates } from './tls.ts';
import type { Sandbox, SandboxResource, StartSandbox } from './types.ts';
import { createUsers, renderKubeconfig } from './users.ts';
import { createWatchHub } from './watch.ts';
import { createWebhookCaller } from './webhook-call.ts';
import { createWriter } from './writer.ts';

const DEFAULT_VERSION = 'v1.36.3';
/** Kept of each resource for watches from an older resourceVersion; older answers 410. */
const MOST_CHANGES = 10_000;
const DEFAULT_BOOKMARK_SECONDS = 60;

const toServed = (resource: SandboxResource): ServedResource =>
  servedCustom(resource, { status: resource.status ?? false });

/** Starts the sandbox and resolves once it listens. */
export const startSandbox: StartSandbox = async (options = {}) => {
  let version = options.kubernetesVersion ?? DEFAULT_VERSION;
  const now = (): number => Date.now();
  const toJson = createJsonCache();
  const registry = createRegistry([...BUILT_IN, ...(options.resources ?? []).map((resource) => toServed(resource))]);
  const store = createStore(MOST_CHANGES);
  const ruleContext = createRuleContext(() => version);
  const rules = () => ruleContext;
  const resolveService = options.resolveService ?? createServiceResolver(store);
  const admission = createAdmission({ store, caller: createWebhookCaller(resolveService) });
  const writer = createWriter({ store, rules, admission, now });
  const controllers = createControllers({
    store,
    writer,
    registry,
    now,
    minor: () => ruleContext.minor,
    endpointSlices: options.endpointSliceController ?? true,
  });
  const reader = createReader(store, toJson);
  const watches = createWatchHub({
    store,
    toJson,
    bookmarkSeconds: options.bookmarkSeconds ?? DEFAULT_BOOKMARK_SECONDS,
  });
  const users = createUsers();
  const faults = createFaultTable();
  const log = createRequestLog();
  const direct = createDirectAccess({ store, registry, writer, rules, now });
  const handle = createHandlers({ store, reader, writer, watches, toJson });
  const router = createRouter({ registry, users, faults, handle, version: () => version, log: log.add });
  direct.seed(initialNamespaces());
  const certificates = createCertificates(now());
  const listener = await startListener(options.port ?? 0, certificates, (exchange) => void router(exchange));
  const server = `https://127.0.0.1:${listener.port}`;

  const sandbox: Sandbox = {
    server,
    caBundle: certificates.caBundle,
    kubeconfig: (user, groups = []) =>
      renderKubeconfig(server, certificates.caBundle, user, users.tokenOf(user, groups)),
    connect: () => connectInMemory((exchange) => void router(exchange)),
    ...direct,
    setKubernetesVersion(next) {
      version = next;
    },
    requests: log.requests,
    clearRequests: log.clear,
    get connections() {
      return listener.connections;
    },
    addFault: faults.add,
    clearFaults: faults.clear,
    cutWatches: (how, match) => watches.cut(how, (watch) => matchesFault(match, { verb: 'watch', ...watch })),
    compact() {
      store.compact();
      reader.expireTokens();
    },
    settled: controllers.settled,
    async stop() {
      controllers.stop();
      watches.cut('close', () => true);
      admission.close();
      await listener.close();
    },
  };
  return sandbox;
};
