// SPDX-License-Identifier: Apache-2.0
import { expect } from 'chai';
import { describe, it } from 'mocha';
import { decideOutcome } from '../../../../pkg/gardener/extension/outcome.ts';
import type { OutcomeInput } from '../../../../pkg/gardener/extension/outcome.ts';
import { NAME, extensionIn, governing, read, readingOf } from './support.ts';

const HOME = 'shoot--foo--bar';
const outcome = (input: Partial<OutcomeInput>) =>
  decideOutcome({ extension: extensionIn(), type: 'Reconcile', home: HOME, governing: governing({}), ...input });

describe('decideOutcome', () => {
  it('succeeds without waiting for effect, also before the cache has the Extension', () => {
    const reading = readingOf({ services: [{ name: 'not-there' }] });
    expect(outcome({ extension: extensionIn({ reading }) })).to.deep.equal({ kind: 'succeeded' });
    expect(outcome({ governing: undefined })).to.deep.equal({ kind: 'succeeded' });
  });

  const wrong: { name: string; input: Partial<OutcomeInput>; says: string }[] = [
    {
      name: 'a configuration that is no RoutingConfig',
      input: { extension: extensionIn({ reading: read({ kind: 'x' }) }) },
      says: `Extension ${NAME}: spec.providerConfig.apiVersion is required`,
    },
    {
      name: 'one that its class forbids',
      input: { extension: extensionIn({ reading: readingOf({ exclude: [{ name: 'a', namespace: 'b' }] }) }) },
      says: 'spec.providerConfig.exclude[0].namespace must be left out',
    },
    {
      name: 'a second one of the class',
      input: { governing: governing({}, { name: `${HOME}/first` }) },
      says: `Extension ${HOME}/first of the same class counts here; remove one`,
    },
    {
      name: 'one that stands where its class is not read',
      input: { extension: extensionIn({ spec: { class: 'seed' } }), home: 'garden' },
      says: 'class seed counts in namespace garden only',
    },
  ];
  for (const { name, input, says } of wrong) {
    it(`is the user's to mend: ${name}`, () => {
      const result = outcome(input);
      expect(result).to.include({ kind: 'failed', code: 'ERR_CONFIGURATION_PROBLEM' });
      expect(result).to.have.property('description').that.contains(says);
    });
    for (const type of ['Delete', 'Migrate'] as const) {
      it(`but keeps nobody from leaving (${type}): ${name}`, () =>
        expect(outcome({ ...input, type })).to.deep.equal({ kind: 'succeeded' }));
    }
  }
});
