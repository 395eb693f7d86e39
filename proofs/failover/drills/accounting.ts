import type { ObservedResponse } from '../caller';
import { allLayouts, type SupplierId, prices, streamingLayouts } from '../catalogue';
import { valueAt } from '../dialects';
import type { FailoverDrill } from '../drill';
import type { FailoverTestbed } from '../testbed';
import { type Scene, ANSWER_WORDS } from '../scene';
import { eventsBeforeText } from './broken-streams';

/** Headers, cost and record name the lane that served the request; attempts also list the one that did not. */
export const accounting: FailoverDrill = {
  name: '16 accounting names who answered',
  scenes: {
    ...allLayouts(3),
    ...Object.fromEntries(
      Object.entries(allLayouts(2, { retries: 1, namesSupplier: true })).map(([name, way]) => [
        `named ${name}`,
        way,
      ]),
    ),
    ...Object.fromEntries(
      Object.entries(streamingLayouts(2)).map(([name, way]) => [`continued ${name}`, way]),
    ),
  },
  run: async (context) => {
    await context.inScenes(/^(chat|messages|responses)/, async (scene, report) => {
      await scene.fault('a', { kind: 'status', status: 500 }, 1);
      const answer = await scene.send();
      const mismatches = [
        ...findHeadMismatches(scene, answer),
        ...(await findAccountMismatches(context.testbed, scene, answer)),
      ];
      const expectation = 'head, tokens, price and record are b’s; attempts a, b';
      report.add(
        '',
        expectation,
        mismatches.length === 0 ? 'all so' : mismatches.join('; '),
        mismatches.length === 0,
      );
    });
    // The primary is permanently down: responses name the lane that served them, as `answer_model: supplier` requires.
    await context.inScenes(/^named/, async (scene, report) => {
      await scene.fault('a', { kind: 'status', status: 503 });
      const answer = await scene.send();
      const { a: tries } = await scene.counts();
      const mismatches = [
        ...findHeadMismatches(scene, answer),
        ...(await findAccountMismatches(context.testbed, scene, answer)),
      ];
      expectSame(mismatches, 'model', answer.models, [scene.upstream(BACKUP)]);
      if (tries > 6) mismatches.push(`supplier a received ${tries} requests`);
      const expectation = 'the answer, its tokens, price and record are b’s by name; a at most 6 times';
      report.add(
        '',
        expectation,
        mismatches.length === 0 ? 'all so' : mismatches.join('; '),
        mismatches.length === 0,
      );
    });
    // The headers were sent with the first lane's name; the caller does not pay for that lane's attempt.
    await context.inScenes(/^continued/, async (scene, report) => {
      await scene.fault('a', { kind: 'cut', after: eventsBeforeText(scene) + 40 });
      const answer = await scene.send();
      const mismatches = await findAccountMismatches(context.testbed, scene, answer);
      const expectation = 'tokens once, price and record are b’s; attempts a, b';
      report.add(
        '',
        expectation,
        mismatches.length === 0 ? 'all so' : mismatches.join('; '),
        mismatches.length === 0,
      );
    });
  },
};

const BACKUP: SupplierId = 'b';

function findHeadMismatches(scene: Scene, { headers }: ObservedResponse): string[] {
  const mismatches: string[] = [];
  expectSame(mismatches, 'x-svc-supplier', headers['x-svc-supplier'], scene.provider(BACKUP));
  expectSame(mismatches, 'x-svc-region', headers['x-svc-region'], `region-${BACKUP}`);
  expectSame(mismatches, 'x-svc-failover', headers['x-svc-failover'], 'true');
  return mismatches;
}

async function findAccountMismatches(
  testbed: FailoverTestbed,
  scene: Scene,
  answer: ObservedResponse,
): Promise<string[]> {
  const mismatches: string[] = [];
  const expectEqual = (name: string, actual: unknown, expected: unknown): void =>
    expectSame(mismatches, name, actual, expected);
  const settled = scene.layout.stream ? answer.trailers : answer.headers;
  const [input, output] = [Number(settled['x-svc-input-tokens']), Number(settled['x-svc-output-tokens'])];
  // A price per 1M tokens equals the price per token in micro-dollars.
  const cost = (input * prices[BACKUP].input + output * prices[BACKUP].output) / 1e6;
  expectEqual('ending', answer.ending, 'whole');
  expectEqual('output tokens', output, ANSWER_WORDS);
  expectEqual('x-svc-cost-usd', Number(settled['x-svc-cost-usd']), cost);

  const generation = await testbed.generation(String(answer.headers['x-request-id']));
  expectEqual('supplier', valueAt(generation, 'supplier'), scene.provider(BACKUP));
  expectEqual('region', valueAt(generation, 'region'), `region-${BACKUP}`);
  expectEqual('served_model', valueAt(generation, 'served_model'), scene.upstream(BACKUP));
  expectEqual('model', valueAt(generation, 'model'), scene.model);
  expectEqual('failover', valueAt(generation, 'failover'), true);
  expectEqual('status', valueAt(generation, 'status'), 200);
  expectEqual('cost_usd', valueAt(generation, 'cost_usd'), cost);
  expectEqual(
    'tokens',
    [valueAt(generation, 'input_tokens'), valueAt(generation, 'output_tokens')],
    [input, output],
  );
  const attempts = valueAt(generation, 'attempts');
  const attemptList = Array.isArray(attempts) ? attempts : [];
  expectEqual(
    'attempts',
    attemptList.map((attempt) => [
      valueAt(attempt, 'supplier'),
      valueAt(attempt, 'model'),
      valueAt(attempt, 'outcome') === 'answered',
    ]),
    [
      [scene.provider('a'), scene.upstream('a'), false],
      [scene.provider(BACKUP), scene.upstream(BACKUP), true],
    ],
  );
  return mismatches;
}

function expectSame(mismatches: string[], name: string, actual: unknown, expected: unknown): void {
  const [actualText, expectedText] = [JSON.stringify(actual), JSON.stringify(expected)];
  if (actualText !== expectedText) mismatches.push(`${name} ${actualText}, not ${expectedText}`);
}
