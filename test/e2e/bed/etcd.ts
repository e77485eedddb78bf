// Makes old versions of objects expire, as they do in a cluster after some minutes.
import { run } from './command.ts';
import type { Bed } from './index.ts';
import { enterPrefix } from './namespaces.ts';

const gateway = 'http://127.0.0.1:2379/v3/kv';

/** Asks etcd's JSON gateway from inside the control plane's namespace. */
const ask = async (namespace: string, method: string, body: object): Promise<{ header: { revision: string } }> => {
  const script = `process.stdout.write(await (await fetch(process.argv[1], { method: 'POST', body: process.argv[2] })).text())`;
  const [program, ...prefix] = enterPrefix(namespace);
  const node = [
    process.execPath,
    '--input-type=module',
    '--eval',
    script,
    `${gateway}/${method}`,
    JSON.stringify(body),
  ];
  return JSON.parse(await run(program, [...prefix, ...node])) as { header: { revision: string } };
};

/**
 * Compacts etcd at its present revision and restarts the API server, whose watch cache would go on answering for older
 * versions. Afterwards every older resource version and page token is answered with 410.
 */
export const expireOldVersions = async (bed: Bed): Promise<void> => {
  const { header } = await ask(bed.namespace, 'range', { key: btoa('\0'), range_end: btoa('\0'), count_only: true });
  const { apiServer, controllerManager } = bed.controlPlane;
  await Promise.all([apiServer.kill(), controllerManager.kill()]);
  await ask(bed.namespace, 'compaction', { revision: header.revision, physical: true });
  apiServer.start();
  await bed.ready();
  // A new one connects at once; the old one would wait for as long as its back-off has grown.
  controllerManager.start();
};
