import { expect } from 'chai';
import { describe, it } from 'mocha';
import { stringify } from 'yaml';
import type { HintsReport } from '../../pkg/diagnosis/models/hints.ts';
import { node, service, slice } from '../fixtures/core.ts';
import { temporaryFolder } from '../fixtures/temporary-folder.ts';
import { clusterFile, runTopology, topologyJson } from '../fixtures/topology-command.ts';
import { list } from './topology-objects.ts';

const NODE_YAML = `apiVersion: v1
kind: Node
metadata:
  name: n1
  labels:
    topology.kubernetes.io/zone: a
status:
  allocatable:
    cpu: 4
`;

describe('kubectl topology, its input', () => {
  const folder = temporaryFolder();

  const bad: readonly (readonly [name: string, file: string, text: string, message: RegExp])[] = [
    ['YAML that is none', 'a.yaml', 'kind: Node\nmetadata: {name: [}', /a\.yaml:2:\d+: not valid YAML/],
    [
      'JSON that is none',
      'a.json',
      '{\n "kind": "Node",\n "metadata": {"name": tru}\n}',
      /^error: [^:]*a\.json:1: not valid JSON\n$/,
    ],
    [
      'JSON with a key that is none',
      'a.json',
      '{"kind": "Node",\n "metadata": {"na\\xme": "a"}}',
      /a\.json:2:19: not valid JSON\n/,
    ],
    [
      'a kind as long as a book, in a line',
      'a.json',
      JSON.stringify({ apiVersion: 'v1', kind: `${'Node'.repeat(20_000)}List`, items: 7 }),
      /^error: .{1,700}expected a list of objects, found 7\n$/,
    ],
    [
      'control characters, without handing them to the terminal',
      'a.json',
      '["\u009b31m\u001b]0;x\u0007"]',
      /^error: [^\u0000-\u0009\u000b-\u001f\u007f-\u009f]*\n$/,
    ],
    ['JSON that ends too early', 'a.json', '{"kind": "Node",\n', /a\.json:2:1: not valid JSON\n/],
    [
      'a list of something else',
      'a.json',
      '["text"]',
      /a\.json:1: items\[0\]: expected a Kubernetes object \(apiVersion, kind, metadata\), found a string/,
    ],
    ['no kind', 'a.yaml', 'metadata: {name: x}', /a\.yaml:1: kind: expected a string that is not empty, found nothing/],
    [
      'no name',
      'a.yaml',
      'kind: Node\nmetadata: {}',
      /a\.yaml:1: Node: metadata\.name: expected a string that is not empty/,
    ],
    [
      'CPU that is no quantity',
      'a.yaml',
      NODE_YAML.replace('cpu: 4', 'cpu: four'),
      /a\.yaml:1: Node n1: status\.allocatable\.cpu: expected a quantity such as 4, 3920m or 1\.5, found a string/,
    ],
    [
      'a label that is no string',
      'a.yaml',
      NODE_YAML.replace('zone: a', 'zone: true'),
      /a\.yaml:1: Node n1: .*expected a string \(put quotes around it\), found true/,
    ],
    [
      'the second of two documents',
      'a.yaml',
      `${NODE_YAML}---\nkind: Service\nmetadata: {name: s}\nspec:\n  ports: [{port: http}]\n`,
      /a\.yaml:11: Service s: spec\.ports\[0\]\.port: expected a port from 0 to 65535, found a string/,
    ],
    [
      'an item of a List in YAML',
      'a.yaml',
      'kind: List\nitems:\n- kind: EndpointSlice\n  metadata: {name: s}\n  addressType: IPv5\n',
      /a\.yaml:1: EndpointSlice s: addressType: expected IPv4, IPv6 or FQDN, found a string/,
    ],
    [
      'an item of a List in JSON',
      'a.json',
      list([node(), { ...slice(), endpoints: [{ conditions: {} }] }]),
      /a\.json:1: EndpointSlice default\/server-abcde: endpoints\[0\]\.addresses: expected a list of at least one address, found nothing/,
    ],
    [
      'a port out of range',
      'a.json',
      JSON.stringify(service({ spec: { ports: [{ port: 70_000 }] } })),
      /spec\.ports\[0\]\.port: expected a port from 0 to 65535, found 70000/,
    ],
    ['nothing', 'a.yaml', '# nothing\n---\n', /expected Kubernetes objects, found none/],
  ];
  for (const [name, file, text, message] of bad) {
    it(`exit code 2, with place and what was expected: ${name}`, async () => {
      const { code, out, err } = await runTopology(['hints', '-f', folder.write(file, text)]);
      expect(code).to.equal(2);
      expect(out).to.equal('');
      expect(err).to.match(message);
    });
  }

  it('exit code 2 for a file that is not there and a folder without objects', async () => {
    const long = await runTopology(['hints', '-f', 'x'.repeat(5_000)]);
    expect(long.err.length, 'of a message that could be any length').to.be.below(1_100);
    const missing = await runTopology(['hints', '-f', folder.at('missing.yaml')]);
    expect([missing.code, missing.err]).to.deep.equal([
      2,
      `error: ${folder.at('missing.yaml')}: no such file or folder\n`,
    ]);
    folder.write('empty/readme.txt', 'nothing');
    const empty = await runTopology(['hints', '-f', folder.at('empty')]);
    expect([empty.code, empty.err]).to.deep.equal([
      2,
      `error: ${folder.at('empty')}: expected .yaml, .yml or .json files in the folder\n`,
    ]);
  });

  const wrong: readonly (readonly [name: string, words: string, message: RegExp])[] = [
    ['an unknown command', 'explian', /unknown command 'explian'\n\(Did you mean explain\?\)/],
    ['an unknown flag', 'hints --outptu', /unknown option '--outptu'\n\(Did you mean --output\?\)/],
    ['an unknown Service', 'explain shop/wbe', /no Service "wbe" in namespace "shop"; did you mean "shop\/web"\?/],
    [
      'a Service of another namespace',
      'explain garden/web',
      /no Service "web" in namespace "garden"; did you mean "shop\/web"\?/,
    ],
    ['a Service like none', 'explain database', /no Service "database"; there is 1/],
    ['no Service', 'explain a/b/c', /expected a Service as NAME or NAMESPACE\/NAME, found "a\/b\/c"/],
    ['an unknown Node', 'route --service web --node node-eu-1d', /no Node "node-eu-1d"; did you mean "node-eu-1/],
    ['an unknown port', 'route --service web --port https', /has no port "https"; it has http \(80\)/],
    [
      'an unknown gate',
      'hints --feature-gates TopologyAwareHint=true',
      /unknown feature gate "TopologyAwareHint"; did you mean TopologyAwareHints\?/,
    ],
    [
      'a gate without value',
      'hints --feature-gates TopologyAwareHints',
      /expected TopologyAwareHints=true or TopologyAwareHints=false/,
    ],
    ['a version that is none', 'hints --kubernetes-version latest', /expected something like 1\.33 or v1\.30\.4/],
    ['a format that is none', 'hints -o xml', /Allowed choices are table, wide, json, yaml/],
    [
      'demand without cores',
      'plan --service web --demand eu-1a --capacity 1',
      /expected zone=cores such as eu-1a=1\.5, found "eu-1a"/,
    ],
    ['negative demand', 'plan --service web --demand eu-1a=-1 --capacity 1', /expected zone=cores/],
    ['no capacity', 'plan --service web --demand eu-1a=1 --capacity 0', /expected cores above 0/],
    [
      'no target',
      'plan --service web --demand eu-1a=1 --capacity 1 --target-utilization much',
      /expected a percentage > 0/,
    ],
    ['files and a cluster', 'hints --context x', /--filename reads no cluster/],
    ['a namespace and all of them', 'hints -n x -A', /exclude each other/],
    ['a kubeconfig that is not there', 'hints --kubeconfig /nonexistent/config', /cannot load \/nonexistent\/config/],
  ];
  for (const [name, words, message] of wrong) {
    it(`exit code 2: ${name}`, async () => {
      const files = /kubeconfig|-A/.test(words) ? [] : ['-f', clusterFile('effective')];
      const { code, err } = await runTopology([...words.split(' '), ...files]);
      expect(err).to.match(message);
      expect(code).to.equal(2);
    });
  }

  it('reads the same from YAML, JSON, Lists, typed lists, folders and standard input', async () => {
    const objects = [node(), service({ spec: { trafficDistribution: 'PreferClose' } }), slice()];
    const yaml = objects.map((object) => stringify(object)).join('---\n');
    folder.write('dir/1.yaml', stringify(objects[0]));
    folder.write('dir/2.yml', stringify(objects[1]));
    folder.write('dir/3.json', JSON.stringify(objects[2]));
    const bare = ({ apiVersion: _version, kind: _kind, ...rest }: { apiVersion?: string; kind?: string }) => rest;
    const typed = [
      list([bare(objects[0]!)], 'NodeList'),
      list([bare(objects[1]!)], 'ServiceList'),
      list([bare(objects[2]!)], 'EndpointSliceList', 'discovery.k8s.io/v1'),
    ].join('\n');
    const inputs: readonly (readonly [string, readonly string[], string])[] = [
      ['documents', ['-f', folder.write('all.yaml', yaml)], ''],
      [
        'a comment first, and Windows line ends',
        ['-f', folder.write('crlf.yaml', `# exported\n---\n${yaml}`.replaceAll('\n', '\r\n'))],
        '',
      ],
      [
        'a List in YAML',
        ['-f', folder.write('list.yaml', stringify({ apiVersion: 'v1', kind: 'List', items: objects }))],
        '',
      ],
      ['a List in JSON', ['-f', folder.write('list.json', list(objects))], ''],
      ['JSON in a file that says YAML', ['-f', folder.write('json.yaml', list(objects))], ''],
      ['typed lists one after the other', ['-f', folder.write('typed.json', typed)], ''],
      ['a folder', ['-f', folder.at('dir')], ''],
      [
        'several files',
        ['-f', folder.at('dir/1.yaml'), '-f', folder.at('dir/2.yml'), '--filename', folder.at('dir/3.json')],
        '',
      ],
      ['standard input, YAML', ['-f', '-'], yaml],
      ['standard input, JSON', ['-f', '-'], list(objects)],
    ];
    const wanted = await topologyJson<HintsReport>(['hints', '-f', folder.at('list.json')]).catch(() => undefined);
    for (const [name, flags, stdin] of inputs) {
      const { services } = await topologyJson<HintsReport>(['hints', ...flags], { stdin });
      expect(services, name).to.have.length(1);
      expect(
        services[0]?.endpoints.map(({ hints }) => hints?.forZones),
        name,
      ).to.deep.equal([['eu-1a'], ['eu-1b'], ['eu-1c']]);
      if (wanted !== undefined) expect({ services }, name).to.deep.equal(wanted);
    }
  });

  it('passes over kinds it does not need, and lets the last of two equal names count', async () => {
    const other = { apiVersion: 'serving.knative.dev/v1', kind: 'Service', metadata: { name: 'server' }, spec: 7 };
    const stdin = list([
      other,
      { kind: 'Widget' },
      service(),
      service({ spec: { trafficDistribution: 'PreferClose' } }),
      slice(),
      node(),
    ]);
    const { services } = await topologyJson<HintsReport>(['hints', '-f', '-'], { stdin });
    expect(services.map(({ source }) => source)).to.deep.equal(['trafficDistribution']);
  });

  it('every command has help with an example, and the program without arguments too', async () => {
    const { out } = await runTopology([]);
    const names = [...out.matchAll(/^ {2}([a-z]+) {2,}\S/gm)]
      .map(([, name]) => name!)
      .filter((name) => name !== 'help');
    const hidden = ['hints', 'route', 'plan', 'replay'];
    expect(names).to.include.members(['explain', 'evacuations']).and.not.to.include.members(hidden);
    for (const name of [...names, ...hidden]) {
      const help = await runTopology([name, '--help']);
      expect(help.code).to.equal(0);
      expect(help.out, name).to.match(/Examples:\n {2}# .+\n {2}kubectl topology /);
    }
  });
});
