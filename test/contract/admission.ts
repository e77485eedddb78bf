// Contract: when mutating webhooks are called, with what, and what becomes of their answers.
import { expect } from 'chai';
import { after, afterEach, before, describe, it } from 'mocha';
import { text } from './api.ts';
import { aConfigMap, createScope, eventually, unique, type ContractServer, type Scope } from './server.ts';
import { patching, startWebhookServer, type Received, type WebhookServer } from './webhook-server.ts';

const CONFIGURATIONS = '/apis/admissionregistration.k8s.io/v1/mutatingwebhookconfigurations';
const LABELS_PATH = '/metadata/labels';

interface Hook {
  readonly path: string;
  readonly [field: string]: unknown;
}

/** Adds one label; creates the map where it is missing. */
const adding = (key: string, value: string) => (request: Received['request']) =>
  patching([
    ...(request['object']!['metadata']!['labels'] === undefined ? [{ op: 'add', path: LABELS_PATH, value: {} }] : []),
    { op: 'add', path: `${LABELS_PATH}/${key}`, value },
  ]);

export const describeAdmission = (server: () => ContractServer): void => {
  describe('admission', () => {
    let scope: Scope;
    let webhook: WebhookServer;
    const installed: string[] = [];

    const toWebhook = ({ path, ...rest }: Hook): Record<string, unknown> => ({
      name: `${path.slice(1).replaceAll('/', '-')}.contract.example.com`,
      clientConfig: { url: webhook.url + path, caBundle: webhook.caBundle },
      rules: [
        { apiGroups: [''], apiVersions: ['v1'], resources: ['configmaps'], operations: ['CREATE', 'UPDATE', 'DELETE'] },
      ],
      namespaceSelector: { matchLabels: { 'kubernetes.io/metadata.name': scope.namespace } },
      sideEffects: 'None',
      admissionReviewVersions: ['v1'],
      failurePolicy: 'Fail',
      timeoutSeconds: 5,
      ...rest,
    });

    /** Installs the hooks and waits until the server uses them: a last hook that only sees the probe tells. */
    const install = async (...hooks: Hook[]): Promise<string> => {
      const name = unique('contract');
      const probe: Hook = { path: `/probe/${name}`, objectSelector: { matchLabels: { probe: name } } };
      const created = await scope.api.post(CONFIGURATIONS, {
        metadata: { name },
        webhooks: [probe, ...hooks].map((hook) => toWebhook(hook)),
      });
      expect(created.status, created.text).to.equal(201);
      installed.push(name);
      await eventually('use of the webhooks', async () => {
        await scope.api.post(`${scope.core('configmaps')}?dryRun=All`, aConfigMap('probe', {}, { probe: name }));
        return webhook.received.some(({ path }) => path === probe.path) ? true : undefined;
      });
      webhook.received.splice(0);
      return name;
    };
    const calls = (path: string): Received[] => webhook.received.filter((received) => received.path === path);
    const create = (name: string, labels?: Record<string, string>) =>
      scope.api.post(scope.core('configmaps'), aConfigMap(name, {}, labels));
    const labelsOf = async (name: string): Promise<unknown> =>
      (await scope.api.get(scope.core('configmaps', name))).body['metadata']!['labels'];

    before(async () => {
      scope = await createScope(server());
      webhook = await startWebhookServer();
    });
    afterEach(async () => {
      for (const name of installed.splice(0)) await scope.api.delete(`${CONFIGURATIONS}/${name}`);
    });
    after(async () => {
      await scope.dispose();
      await webhook.close();
    });

    it('sends a complete review over HTTPS', async () => {
      await install({ path: '/review' });
      const name = unique('reviewed');
      const created = await create(name, { a: 'b' });
      const [call] = calls('/review');
      expect(call).to.include({ query: 'timeout=5s', contentType: 'application/json' });
      const { uid, userInfo, object, options, ...rest } = call!.request;
      expect(uid).to.match(/^[0-9a-f-]{36}$/);
      expect(userInfo!['username']).to.equal(scope.server.user);
      expect(object!['metadata']).to.deep.include({ name, namespace: scope.namespace, labels: { a: 'b' } });
      expect(object).to.include({ kind: 'ConfigMap', apiVersion: 'v1' });
      expect(options).to.include({ kind: 'CreateOptions', apiVersion: 'meta.k8s.io/v1' });
      expect(rest).to.deep.equal({
        kind: { group: '', version: 'v1', kind: 'ConfigMap' },
        resource: { group: '', version: 'v1', resource: 'configmaps' },
        requestKind: { group: '', version: 'v1', kind: 'ConfigMap' },
        requestResource: { group: '', version: 'v1', resource: 'configmaps' },
        name,
        namespace: scope.namespace,
        operation: 'CREATE',
        oldObject: null,
        dryRun: false,
      });
      await scope.api.patch(scope.core('configmaps', name), 'merge', { data: { a: 'b' } });
      await scope.api.delete(scope.core('configmaps', name));
      const [, update, remove] = calls('/review');
      expect(update!.request['oldObject']!['metadata']!['uid']).to.equal(created.body['metadata']!['uid']);
      expect(update!.request['object']!['data']).to.deep.equal({ a: 'b' });
      expect([update!.request['operation'], remove!.request['operation']]).to.deep.equal(['UPDATE', 'DELETE']);
      expect(remove!.request['object']).to.equal(null);
      expect(remove!.request['oldObject']!['data']).to.deep.equal({ a: 'b' });
    });

    it('sends no name on a create with generateName', async () => {
      await install({ path: '/generated' });
      const { body } = await scope.api.post(scope.core('configmaps'), { metadata: { generateName: 'gen-' } });
      expect(text(body['metadata']!['name'])).to.match(/^gen-/);
      expect(calls('/generated')[0]!.request).not.to.have.property('name');
    });

    it('stores what the patch made of the object', async () => {
      webhook.on('/patch', adding('patched', 'yes'));
      await install({ path: '/patch' });
      const name = unique('patched');
      const { body } = await create(name);
      expect(body['metadata']!['labels']).to.deep.equal({ patched: 'yes' });
      expect(await labelsOf(name)).to.deep.equal({ patched: 'yes' });
    });

    it('keeps the version when the patch undoes the change', async () => {
      await install({ path: '/undo' });
      const name = unique('undone');
      const created = await scope.api.post(scope.core('configmaps'), aConfigMap(name, { keep: 'this' }));
      webhook.on('/undo', (request) =>
        request['operation'] === ('UPDATE' as unknown)
          ? patching([{ op: 'replace', path: '/data/keep', value: 'this' }])
          : { response: { allowed: true } },
      );
      const patched = await scope.api.patch(scope.core('configmaps', name), 'merge', { data: { keep: 'that' } });
      expect(patched.body['data']).to.deep.equal({ keep: 'this' });
      expect(patched.body['metadata']!['resourceVersion']).to.equal(created.body['metadata']!['resourceVersion']);
    });

    it('calls by selector of the new or the old object', async () => {
      await install({
        path: '/selected',
        objectSelector: { matchExpressions: [{ key: 'pick', operator: 'In', values: ['me'] }] },
      });
      const name = unique('selected');
      await create(name);
      expect(calls('/selected')).to.have.length(0);
      const label = (value: string | null) =>
        scope.api.patch(scope.core('configmaps', name), 'merge', { metadata: { labels: { pick: value } } });
      await label('me');
      await label(null);
      await label('you');
      expect(calls('/selected').map(({ request }) => request['operation'])).to.deep.equal(['UPDATE', 'UPDATE']);
    });

    it('calls by operation and resource of the rules', async () => {
      await install({
        path: '/rules',
        rules: [{ apiGroups: ['*'], apiVersions: ['*'], resources: ['services'], operations: ['CREATE'] }],
      });
      await create(unique('other'));
      expect(calls('/rules')).to.have.length(0);
      await scope.api.post(scope.core('services'), {
        metadata: { name: unique('svc') },
        spec: { ports: [{ port: 1 }] },
      });
      expect(
        calls('/rules').map(({ request }) => [request['operation'], request['resource']!['resource']]),
      ).to.deep.equal([['CREATE', 'services']]);
    });

    it('calls by match conditions', async () => {
      const expressions = [
        `request.userInfo.username != "nobody"`,
        `request.operation == "CREATE" || has(oldObject.metadata.labels)`,
        `has(object.metadata.labels) && "yes" in object.metadata.labels && object.metadata.labels["yes"].startsWith("y")`,
      ];
      await install({
        path: '/conditions',
        matchConditions: expressions.map((expression, index) => ({ name: `c${index}`, expression })),
      });
      await create(unique('no'));
      await create(unique('other'), { yes: 'n' });
      expect(calls('/conditions')).to.have.length(0);
      await create(unique('yes'), { yes: 'yes' });
      expect(calls('/conditions')).to.have.length(1);
    });

    it('judges a failing match condition by the failure policy', async () => {
      const matchConditions = [{ name: 'broken', expression: 'object.metadata.labels["absent"] == "x"' }];
      const name = await install({ path: '/broken', matchConditions });
      const refused = await create(unique('refused'), { a: 'b' });
      expect(refused.status, refused.text).to.be.at.least(400);
      await scope.api.delete(`${CONFIGURATIONS}/${name}`);
      await install({ path: '/ignored', matchConditions, failurePolicy: 'Ignore' });
      expect((await create(unique('accepted'), { a: 'b' })).status).to.equal(201);
      expect(calls('/ignored')).to.have.length(0);
    });

    it('passes on a denial and its code', async () => {
      webhook.on('/deny', () => ({ response: { allowed: false, status: { code: 418, message: 'not this one' } } }));
      await install({ path: '/deny' });
      const { status, body } = await create(unique('denied'));
      expect(status).to.equal(418);
      expect(body['message']).to.equal(
        'admission webhook "deny.contract.example.com" denied the request: not this one',
      );
      webhook.on('/deny', () => ({ response: { allowed: false } }));
      const plain = await create(unique('denied'));
      expect([plain.status, plain.body['message']]).to.deep.equal([
        400,
        'admission webhook "deny.contract.example.com" denied the request without explanation',
      ]);
    });

    for (const { name, reply } of [
      { name: 'an error status', reply: { status: 500, body: 'boom' } },
      { name: 'an answer that is no JSON', reply: { status: 200, body: 'hello' } },
      {
        name: 'no response',
        reply: { status: 200, body: '{"apiVersion":"admission.k8s.io/v1","kind":"AdmissionReview"}' },
      },
      { name: 'another uid', reply: { response: { uid: 'other', allowed: true } } },
      { name: 'a patch without its type', reply: { response: { allowed: true, patch: 'W10=' } } },
      { name: 'a type without a patch', reply: { response: { allowed: true, patchType: 'JSONPatch' } } },
    ]) {
      it(`counts ${name} as a failed call`, async () => {
        const path = `/${unique('fault')}`;
        webhook.on(path, () => reply);
        const configuration = await install({ path });
        const failed = await create(unique('failed'));
        expect([failed.status, failed.body['reason']]).to.deep.equal([500, 'InternalError']);
        expect(text(failed.body['message'])).to.match(/^Internal error occurred: failed calling webhook "fault-/);
        await scope.api.delete(`${CONFIGURATIONS}/${configuration}`);
        await install({ path, failurePolicy: 'Ignore' });
        expect((await create(unique('passed'))).status).to.equal(201);
      });
    }

    it('answers 500 to a patch that does not apply, even under Ignore', async () => {
      webhook.on('/bad-patch', () => patching([{ op: 'remove', path: '/metadata/labels/none' }]));
      await install({ path: '/bad-patch', failurePolicy: 'Ignore' });
      const { status, body } = await create(unique('bad'));
      expect([status, body['reason']]).to.deep.equal([500, 'InternalError']);
    });

    it('fails on a webhook that is not listening, that is not trusted, or that is slow', async () => {
      webhook.on('/slow', () => ({ hang: true }));
      for (const { clientConfig, reason, path } of [
        {
          path: '/refused',
          clientConfig: { url: 'https://127.0.0.1:1/x', caBundle: webhook.caBundle },
          reason: 'connection refused',
        },
        {
          path: '/foreign',
          clientConfig: { url: `${webhook.url}/foreign`, caBundle: webhook.foreignBundle },
          reason: 'x509',
        },
        {
          path: '/slow',
          clientConfig: { url: `${webhook.url}/slow`, caBundle: webhook.caBundle },
          reason: 'context deadline exceeded',
        },
      ]) {
        const name = await install({
          path,
          clientConfig,
          timeoutSeconds: path === '/slow' ? 1 : 10,
          objectSelector: { matchLabels: { hit: 'yes' } },
        });
        const { status, body } = await create(unique('failed'), { hit: 'yes' });
        expect(status).to.equal(500);
        expect(text(body['message'])).to.include(
          `failed calling webhook "${path.slice(1)}.contract.example.com": failed to call webhook: Post "`,
        );
        expect(text(body['message'])).to.include(reason);
        await scope.api.delete(`${CONFIGURATIONS}/${name}`);
      }
    });

    it('calls webhooks in order and passes the changed object on', async () => {
      webhook.on('/first', adding('first', 'yes'));
      webhook.on('/second', adding('second', 'yes'));
      await install({ path: '/first' }, { path: '/second' });
      await create(unique('ordered'));
      expect(webhook.received.map(({ path }) => path)).to.deep.equal(['/first', '/second']);
      expect(calls('/second')[0]!.request['object']!['metadata']!['labels']).to.deep.equal({ first: 'yes' });
    });

    it('calls again what asked for it after a later change', async () => {
      webhook.on('/again', adding('again', 'yes'));
      webhook.on('/later', adding('later', 'yes'));
      await install(
        { path: '/again', reinvocationPolicy: 'IfNeeded' },
        { path: '/later', reinvocationPolicy: 'IfNeeded' },
      );
      await create(unique('again'));
      expect(webhook.received.map(({ path }) => path)).to.deep.equal(['/again', '/later', '/again']);
    });

    it('calls on dry runs and says so', async () => {
      await install({ path: '/dry' });
      await scope.api.post(`${scope.core('configmaps')}?dryRun=All`, aConfigMap(unique('dry')));
      expect(calls('/dry').map(({ request }) => request['dryRun'])).to.deep.equal([true]);
    });

    it('passes warnings on', async () => {
      webhook.on('/warn', () => ({ response: { allowed: true, warnings: ['look out'] } }));
      await install({ path: '/warn' });
      const { headers } = await create(unique('warned'));
      expect(String(headers['warning'])).to.equal('299 - "look out"');
    });
  });
};
