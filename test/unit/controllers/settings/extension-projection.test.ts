import { expect } from 'chai';
import { describe, it } from 'mocha';
import { EXTENSION_FINALIZER, EXTENSION_TYPE } from '../../../../pkg/apis/names.ts';
import { createRoutingConfigReader } from '../../../../pkg/apis/routing-config-reader.ts';
import { createExtensionProjection } from '../../../../pkg/controllers/settings/caches.ts';
import { extension, routingConfig } from '../../../fixtures/gardener.ts';

const project = createExtensionProjection(createRoutingConfigReader());

describe('what is kept of an Extension', () => {
  it('of this type: what decides, with its configuration read', () => {
    const status = { observedGeneration: 3, conditions: [], lastOperation: undefined, providerStatus: { a: 1 } };
    const kept = project(
      extension({
        metadata: {
          uid: 'u',
          generation: 3,
          finalizers: [EXTENSION_FINALIZER],
          annotations: { 'gardener.cloud/operation': 'reconcile', 'gardener.cloud/timestamp': 'now' },
          managedFields: [{}],
        },
        spec: { type: EXTENSION_TYPE, class: 'seed', providerConfig: routingConfig({ services: [{ name: 'a' }] }) },
        status: status as object,
      }),
    );
    expect(kept.metadata).to.deep.equal({
      name: EXTENSION_TYPE,
      namespace: 'shoot--foo--bar',
      uid: 'u',
      generation: 3,
      finalizers: [EXTENSION_FINALIZER],
      annotations: { 'gardener.cloud/operation': 'reconcile' },
    });
    expect(kept.spec, 'the configuration is kept once').to.deep.equal({ type: EXTENSION_TYPE, class: 'seed' });
    expect(kept.status).to.deep.equal({ observedGeneration: 3, conditions: [] });
    expect(kept.reading).to.have.property('kind', 'valid');
  });

  it('judges the configuration by the class', () => {
    const providerConfig = routingConfig({ services: [{ name: 'a', namespace: 'b' }] });
    const kindOf = (spec: object) =>
      project(extension({ spec: { type: EXTENSION_TYPE, providerConfig, ...spec } })).reading?.kind;
    expect([kindOf({}), kindOf({ class: 'seed' }), kindOf({ class: 'planet' })]).to.deep.equal([
      'invalid',
      'valid',
      'valid',
    ]);
  });

  it('of others: who it is', () => {
    const kept = project(
      extension({ metadata: { resourceVersion: '5' }, spec: { type: 'lakom', providerConfig: {} } }),
    );
    expect(kept).to.deep.equal({
      metadata: { name: EXTENSION_TYPE, namespace: 'shoot--foo--bar', resourceVersion: '5' },
    });
  });
});
