// `npm run bench:meter`: the traffic-meter and its conntrack on real connections, in namespaces of their own.
import { spawnSync } from 'node:child_process';
import { parseArgs } from 'node:util';
import { runLive } from './live.ts';

const USAGE = `Usage: npm run bench:meter [-- --node-flag FLAG ...]

The bundled meter with 5,000 Services and 50,000 endpoints in its caches, and conntrack, on 200 and 5,000 real connections a second in a
network namespace of their own. Needs root, conntrack, nftables and \`npm run bundle\`.
`;

const { values } = parseArgs({
  options: {
    inside: { type: 'boolean', default: false },
    'node-flag': { type: 'string', multiple: true, default: [] },
    help: { type: 'boolean', short: 'h', default: false },
  },
});
const flags = values['node-flag'].map((flag) => `--node-flag=${flag}`);
if (values.help) process.stdout.write(USAGE);
else if (values.inside) await runLive(values['node-flag']);
else {
  const inside = ['--net', '--mount', process.execPath, import.meta.filename, '--inside', ...flags];
  process.exitCode = spawnSync('unshare', inside, { stdio: 'inherit' }).status ?? 1;
}
