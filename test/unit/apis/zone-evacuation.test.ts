// Tests of the definition of ZoneEvacuations as far as no API server is needed; suite `evacuate` asks a real one.
import { expect } from 'chai';
import { describe, it } from 'mocha';
import { zoneEvacuationDefinition } from '../../../pkg/apis/crd.ts';

/** A node of an OpenAPI schema. */
interface Schema {
  readonly type?: string;
  readonly description?: string;
  readonly required?: readonly string[];
  readonly default?: unknown;
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly items?: Schema;
}

const definition = zoneEvacuationDefinition() as unknown as {
  spec: { scope: string; versions: { schema: { openAPIV3Schema: Schema } }[] };
};
const { openAPIV3Schema: root } = definition.spec.versions[0]!.schema;

describe('the definition of ZoneEvacuations', () => {
  it('is cluster-scoped, needs zone and duration, and fills in all else', () => {
    expect(definition.spec.scope).to.equal('Cluster');
    expect(root.required).to.deep.equal(['spec']);
    const { required, properties = {} } = root.properties!['spec']!;
    expect(required).to.deep.equal(['zone', 'duration']);
    const defaults = Object.entries(properties).filter(([, property]) => property.default !== undefined);
    expect(Object.fromEntries(defaults.map(([name, property]) => [name, property.default]))).to.deep.equal({
      percent: 100,
      rounding: 'Up',
      force: false,
      capacityCheck: 'Refuse',
    });
  });

  it('gives each field a type and a description, as structural schemas need and kubectl explain shows', () => {
    const walk = (schema: Schema, path: string): void => {
      expect(schema.type, path).to.be.a('string');
      for (const [name, property] of Object.entries(schema.properties ?? {})) {
        expect(property.description, `${path}.${name}`).to.be.a('string').and.not.empty;
        walk(property, `${path}.${name}`);
      }
      if (schema.items !== undefined) walk(schema.items, `${path}[]`);
    };
    walk(root.properties!['spec']!, 'spec');
    walk(root.properties!['status']!, 'status');
  });
});
