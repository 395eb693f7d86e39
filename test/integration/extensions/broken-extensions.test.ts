import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { checkExtension, type KitResult } from '#extension/kit';
import { projectFolder } from '../../system/program';

/*
 * "The kit passes broken extensions: a failing form, a tenant leak, an inline script, a throwing job, a tap that
 * swallows failures, a supplier that doubles usage. […] ten broken extensions are kept and each must be caught".
 */

const DEADLINE_MS = 240_000;
const fixtures = join(projectFolder, 'test/fixtures/extensions/kit');

let sink: Server;
beforeAll(async () => {
  sink = createServer((request, response) => {
    request.resume().on('end', () => response.end('{}'));
  });
  await new Promise<void>((resolve) => sink.listen(0, '127.0.0.1', resolve));
});
afterAll(() => {
  sink.closeAllConnections();
  sink.close();
});

const check = (name: string, topics: readonly string[]): Promise<readonly KitResult[]> =>
  checkExtension(join(fixtures, `${name}.cjs`), {
    product: projectFolder,
    settings: { sink: `http://127.0.0.1:${(sink.address() as AddressInfo).port}/` },
    texts: ['Write to ada@example.org.'],
    topics,
  });

const namesWithOutcome = (results: readonly KitResult[], outcome: KitResult['outcome']): string[] =>
  results.filter((result) => result.outcome === outcome).map((result) => `${result.topic}: ${result.check}`);

const cases: readonly (readonly [fixture: string, topic: string, check: string, reason: string])[] = [
  ['failing-form', 'pages', 'every form takes what its page offers', '/x/kit-fixture/notes'],
  ['tenant-leak', 'pages', 'what one organisation enters, another never sees or changes', '/x/kit-fixture'],
  [
    'inline-script',
    'pages',
    'no page has an inline script, an event handler or a file of another host',
    'an inline script',
  ],
  [
    'throwing-job',
    'jobs',
    'each succeeds, succeeds again, and ends when its signal does',
    'the month was never closed',
  ],
  [
    'swallowing-tap',
    'taps',
    'a delivery that its sink did not take is rejected',
    'although its sink was away',
  ],
  [
    'doubling-supplier',
    'suppliers',
    'callers are shown and charged what the supplier counted, once',
    'tokens were counted',
  ],
  ['wavering-gate', 'gates', 'the same text is rewritten the same way every time', 'and then'],
  [
    'stateful-mask',
    'masks',
    'the same text gives the same spans every time, in order and within the text',
    'and then',
  ],
  ['wavering-fee', 'fees', 'the same request gives the same fee, and no fee is negative', 'and then'],
  ['open-directory', 'sign-in', 'a directory recognises nobody by a wrong password', 'for *'],
];

test.each(cases)(
  'the kit fails %s in the check "%s: %s"',
  async (fixture, topic, checkName, reason) => {
    const results = await check(`broken-${fixture}`, [topic]);
    expect(namesWithOutcome(results, 'failed')).toContain(`${topic}: ${checkName}`);
    expect(results.find((result) => result.check === checkName)?.reason).toContain(reason);
  },
  DEADLINE_MS,
);

test(
  'the kit passes the same extension without the defect',
  async () => {
    const results = await check('sound', [
      ...new Set(cases.map(([, topic]) => topic)),
      'policies',
      'commands',
    ]);
    expect(results.filter(({ outcome }) => outcome === 'failed')).toEqual([]);
    const passedChecks = namesWithOutcome(results, 'passed');
    for (const [, topic, checkName] of cases) expect(passedChecks).toContain(`${topic}: ${checkName}`);
    // A check that has nothing to test counts as skipped, not as passed.
    expect(namesWithOutcome(results, 'skipped')).toContain('gates: settled() takes every record');
  },
  DEADLINE_MS,
);
