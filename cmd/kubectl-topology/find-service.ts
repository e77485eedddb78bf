// Finds the Service (or another thing) that a person named, or says which one was probably meant.
import type { Node, Service } from '../../pkg/apis/core.ts';
import { nameOf } from '../../pkg/apis/object.ts';
import { serviceKeyOfRef, serviceRefOf, sortedServices } from '../../pkg/diagnosis/models/lookup.ts';
import { nearest } from '../../pkg/diagnosis/nearest.ts';
import { itemsOf } from '../../pkg/diagnosis/snapshot.ts';
import { UsageError } from './errors.ts';
import type { InputFlags } from './flags.ts';
import type { Loaded } from './session.ts';

export interface ServiceName {
  readonly namespace: string | undefined;
  readonly name: string;
}

const TYPES: ReadonlySet<string> = new Set(['svc', 'service', 'services']);

/** `name`, `namespace/name`, and as kubectl writes it `svc/name`. */
export const parseServiceName = (text: string, namespace: string | undefined): ServiceName => {
  const parts = text.split('/');
  const [first = '', second] = parts;
  if (parts.length > 2 || parts.includes(''))
    throw new UsageError(`expected a Service as NAME or NAMESPACE/NAME, found "${text}"`);
  if (second === undefined) return { namespace, name: first };
  return TYPES.has(first) ? { namespace, name: second } : { namespace: first, name: second };
};

export const nameOfService = (text: string): string => parseServiceName(text, undefined).name;

/** The namespace that the Service's name names is the one to read. */
export const inNamespaceOf = <F extends InputFlags>(flags: F, text: string): F => {
  const { namespace } = parseServiceName(text, undefined);
  return namespace === undefined ? flags : { ...flags, namespace, allNamespaces: false };
};

const missing = (text: string, all: readonly Service[], { namespace, name }: ServiceName): UsageError => {
  const names = all.map((service) => serviceRefOf(service));
  const there = names.filter((ref) => namespace === undefined || ref.namespace === namespace);
  const near = nearest(
    name,
    there.map((ref) => ref.name),
  );
  const meant =
    there.find((ref) => ref.name === near) ??
    names.find((ref) => ref.name === name) ??
    names.find(
      (ref) =>
        ref.name ===
        nearest(
          name,
          names.map((other) => other.name),
        ),
    );
  const where = namespace === undefined ? '' : ` in namespace "${namespace}"`;
  const bare = text.split('/').at(-1) ?? text;
  const hint =
    meant === undefined
      ? `there ${names.length === 1 ? 'is 1' : `are ${names.length}`}`
      : `did you mean "${serviceKeyOfRef(meant)}"?`;
  return new UsageError(`no Service "${bare}"${where}; ${hint}`);
};

/** @throws UsageError where there is none, or more than one, of that name. */
export const findService = ({ snapshot, namespace }: Loaded, text: string): Service => {
  const wanted = parseServiceName(text, namespace);
  const all = sortedServices(snapshot);
  if (snapshot.services.kind === 'unknown') throw new UsageError(`Services cannot be read: ${snapshot.services.why}`);
  const found = all.filter((service) => {
    const ref = serviceRefOf(service);
    return ref.name === wanted.name && (wanted.namespace === undefined || ref.namespace === wanted.namespace);
  });
  const [only, another] = found;
  if (only === undefined) throw missing(text, all, wanted);
  if (another !== undefined) {
    const names = found.map((service) => serviceKeyOfRef(serviceRefOf(service))).join(', ');
    throw new UsageError(`more than one Service "${wanted.name}": ${names}; add --namespace`);
  }
  return only;
};

/** All Nodes, or the one named. */
export const findNodes = ({ snapshot }: Loaded, name: string | undefined): readonly Node[] => {
  const all = itemsOf(snapshot.nodes);
  if (name === undefined) return all;
  const found = all.filter(({ metadata }) => metadata?.name === name);
  if (found.length > 0) return found;
  const near = nearest(name, all.map(nameOf));
  throw new UsageError(
    `no Node "${name}"; ${near === undefined ? `there are ${all.length}` : `did you mean "${near}"?`}`,
  );
};

/** Name of the Service's port that is given by name or by number. */
export const findPort = (service: Service, port: string): string => {
  const ports = service.spec?.ports ?? [];
  const found =
    ports.find(({ name = '' }) => name === port) ?? ports.find((candidate) => String(candidate.port) === port);
  if (found !== undefined) return found.name ?? '';
  const known = ports.map(({ name, port: number }) => (name === undefined ? String(number) : `${name} (${number})`));
  throw new UsageError(
    `Service "${serviceKeyOfRef(serviceRefOf(service))}" has no port "${port}"; it has ${known.length === 0 ? 'none' : known.join(', ')}`,
  );
};
