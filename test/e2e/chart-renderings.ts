// What suites about the chart share: helm for a suite, every combination rendered once, and finding objects in a rendering.
import { expect } from 'chai';
import { after, before } from 'mocha';
import { documents, matrix, openHelm } from './chart.ts';
import type { Case, Component, Helm, Rendered, Rendering } from './chart.ts';

/** Registers the hooks; the function it returns gives helm, inside tests and hooks that run later. */
export const useHelm = (): { helm(): Helm } => {
  let helm: Helm | undefined;
  before('find helm', async () => {
    helm = await openHelm();
  });
  after(() => helm?.close());
  return {
    helm() {
      if (helm === undefined) throw new Error('helm has not been found');
      return helm;
    },
  };
};

/** As many at a time as there may be processes of helm. */
const AT_ONCE = 4;

const renderAll = async (helm: Helm, items: readonly Case[]): Promise<Rendering[]> => {
  const render = async (item: Case): Promise<Rendering> => ({
    ...item,
    objects: documents(await helm.template(item.values, { kubernetes: item.kubernetes })),
  });
  const renderings: Rendering[] = [];
  for (let start = 0; start < items.length; start += AT_ONCE) {
    renderings.push(...(await Promise.all(items.slice(start, start + AT_ONCE).map(render))));
  }
  return renderings;
};

/** Registers the hooks that render every combination. */
export const useRenderings = () => {
  const { helm } = useHelm();
  let renderings: readonly Rendering[] = [];
  before('render every combination', async () => {
    renderings = await renderAll(helm(), matrix);
  });
  return {
    helm,
    all: (): readonly Rendering[] => renderings,
    async render(item: Case): Promise<Rendering> {
      const [rendering] = await renderAll(helm(), [item]);
      if (rendering === undefined) throw new Error(`${item.name}: not rendered`);
      return rendering;
    },
    /** Runs a check on every rendering that has the component; a check that ran on none shows nothing. */
    each(check: (rendering: Rendering) => void, component?: Component): void {
      const chosen = renderings.filter(({ components }) => component === undefined || components.includes(component));
      expect(chosen).not.to.be.empty;
      chosen.forEach(check);
    },
  };
};

export const find = ({ objects, name: where }: Rendering, kind: string, name: string): Rendered => {
  const found = objects.find((object) => object.kind === kind && object.metadata?.name === name);
  if (found === undefined) throw new Error(`${where}: no ${kind} ${name}`);
  return found;
};

export const ofKind = ({ objects }: Rendering, kind: string): Rendered[] =>
  objects.filter((object) => object.kind === kind);

/** The configuration file of a component. */
export const configOf = (rendering: Rendering, component: Component): string =>
  find(rendering, 'ConfigMap', component).data?.['config.yaml'] ?? '';
