import type { Findings } from '../../test/system/findings';
import { BUSY_KEY, LANE, modelOf, STYLES, type ExtensionTestbed, exportsOf } from './testbed';
import { type FaultTrial, runTrials } from './trials';
import { nameOf } from './parts';

type StyleFaults = Readonly<Record<string, Readonly<Record<string, unknown>>>>;

const { faults } = exportsOf(STYLES) as { readonly faults: StyleFaults };

const STREAMED: readonly string[] = ['unframer', 'push', 'end'];

const all = Object.entries(faults).flatMap(([method, ways]) =>
  Object.keys(ways).map((fault) => ({ method, fault, name: nameOf(`${method} ${fault}`) })),
);

/** Gives each model a lane whose style fails and a working fallback. */
async function applyModels(testbed: ExtensionTestbed): Promise<void> {
  const providers = all.map(({ method, name }): [string, object] => [
    name,
    testbed.provider(name, method === 'readError' ? '${BUSY_KEY}' : undefined),
  ]);
  const models = all.map(({ name }): [string, object] => [name, modelOf({ ...LANE, provider: name }, LANE)]);
  await testbed.supplier.addFault({
    match: { key: BUSY_KEY },
    fault: { kind: 'status', status: 503, body: {} },
  });
  await testbed.applyCatalogue({
    providers: Object.fromEntries(providers),
    models: Object.fromEntries(models),
  });
}

/** If any method fails, only its lane fails and the next lane answers. */
export async function proveStyles(findings: Findings, testbed: ExtensionTestbed): Promise<void> {
  await applyModels(testbed);
  for (const method of Object.keys(faults)) {
    const trials = all
      .filter((each) => each.method === method)
      .map(({ fault, name }): FaultTrial => ({
        what: fault,
        culprit: `"style":"styles/${name}"`,
        isRefused: false,
        naming: 'log',
        ask: (bed) => bed.chat([], STREAMED.includes(method), name),
      }));
    await runTrials(findings, testbed, `styles of suppliers: ${method}`, trials);
  }
}
