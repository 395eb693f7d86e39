import type { Findings } from '../../test/system/findings';
import { BUSY_KEY, LANE, modelOf, STYLES, type Testbed, offeredBy } from './testbed';
import { type Trial, tryAll } from './trials';
import { nameOf } from './parts';

type Faults = Readonly<Record<string, Readonly<Record<string, unknown>>>>;

const { faults } = offeredBy(STYLES) as { readonly faults: Faults };

const STREAMED: readonly string[] = ['unframer', 'push', 'end'];

const all = Object.entries(faults).flatMap(([method, ways]) =>
  Object.keys(ways).map((fault) => ({ method, fault, name: nameOf(`${method} ${fault}`) })),
);

/** Each model has a lane whose style fails, and one that works behind it. */
async function furnish(testbed: Testbed): Promise<void> {
  const providers = all.map(({ method, name }): [string, object] => [
    name,
    testbed.provider(name, method === 'readError' ? '${BUSY_KEY}' : undefined),
  ]);
  const models = all.map(({ name }): [string, object] => [name, modelOf({ ...LANE, provider: name }, LANE)]);
  await testbed.supplier.addFault({
    match: { key: BUSY_KEY },
    fault: { kind: 'status', status: 503, body: {} },
  });
  await testbed.furnish({ providers: Object.fromEntries(providers), models: Object.fromEntries(models) });
}

/** Whichever method fails, its lane does, and the next one answers. */
export async function proveStyles(findings: Findings, testbed: Testbed): Promise<void> {
  await furnish(testbed);
  for (const method of Object.keys(faults)) {
    const trials = all
      .filter((each) => each.method === method)
      .map(({ fault, name }): Trial => ({
        what: fault,
        culprit: `"style":"styles/${name}"`,
        isRefused: false,
        naming: 'log',
        ask: (bed) => bed.chat([], STREAMED.includes(method), name),
      }));
    await tryAll(findings, testbed, `styles of suppliers: ${method}`, trials);
  }
}
