import { expect } from 'chai';
import { describe, it } from 'mocha';
import { type Flags, configurationOf, parseFlags } from '../../../cmd/endpointslice-webhook/options.ts';

const flagsOf = (...args: string[]): Flags => {
  const parsed = parseFlags(args);
  if (parsed.kind === 'exit') throw new Error(parsed.text);
  return parsed.flags;
};
const HEADER =
  'apiVersion: config.topology.extensions.gardener.cloud/v1alpha1\nkind: EndpointSliceWebhookConfiguration\n';

describe('the flags of endpointslice-webhook', () => {
  it('what is not given has the defaults', () => {
    const config = configurationOf({}, undefined);
    expect(config.server).to.include({ port: 10250, drainSeconds: 5, bindAddress: '::' });
    expect([config.health.port, config.metrics.port]).to.deep.equal([8081, 8080]);
    expect(config.registration).to.include({ mode: 'self', timeoutSeconds: 5 }).and.not.have.property('failurePolicy');
    expect(config.log).to.deep.equal({ level: 'info', format: 'json' });
  });

  it('flags win over the file, the file over the defaults', () => {
    const file = `${HEADER}kubernetesVersion: "1.30"\nserver: { port: 1, drainSeconds: 9 }\nhealth: { port: 2 }\nflowController: { users: [a] }\n`;
    const flags = flagsOf(
      '--kubernetes-version',
      '1.36',
      '--port',
      '0',
      '--flow-controller-user',
      'b',
      '--flow-controller-user',
      'c',
      '--bind-address',
      '127.0.0.1',
      '--cert-dir',
      '/certs',
      '--settings-reconciler-user',
      'd',
      '--log-level',
      'warn',
    );
    const config = configurationOf(flags, file);
    expect(config.kubernetesVersion).to.equal('1.36');
    expect(config.server).to.include({ port: 0, drainSeconds: 9, bindAddress: '127.0.0.1' });
    expect(config.health).to.deep.equal({ port: 2, bindAddress: '127.0.0.1' });
    expect(config.flowController.users).to.deep.equal(['b', 'c']);
    expect(config.certificates.directory).to.equal('/certs');
    expect(config.settingsReconciler.user).to.equal('d');
    expect(config.log).to.deep.equal({ level: 'warn', format: 'json' });
  });

  const invalid: readonly (readonly [name: string, text: string, message: RegExp])[] = [
    ['an unknown field', 'sever: {}\n', /^x\.yaml:3:1: sever: is not a field/],
    [
      'a value that is not allowed',
      'registration:\n  failurePolicy: Sometimes\n',
      /^x\.yaml:4:\d+: registration\.failurePolicy: .*allowed: Ignore, Fail/,
    ],
    ['a timeout above 5', 'registration: { timeoutSeconds: 30 }\n', /^x\.yaml:3:\d+: registration\.timeoutSeconds: /],
    [
      'an address that is two',
      "registration: { address: { url: 'https://a', service: {} } }\n",
      /registration\.address\.url: excludes/,
    ],
    ['a URL with a path', "registration: { address: { url: 'https://a/b' } }\n", /registration\.address\.url: /],
    [
      'a namespace both included and excluded',
      'registration: { includedNamespaces: [a], excludedNamespaces: [a] }\n',
      /registration\.includedNamespaces: includes "a"/,
    ],
  ];
  for (const [name, text, message] of invalid) {
    it(`a file with ${name} is refused, naming file, line and field`, () => {
      expect(() => configurationOf({ config: 'x.yaml' }, `${HEADER}${text}`)).to.throw(message);
    });
  }
});
