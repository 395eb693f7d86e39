import type { Answer } from '../caller';
import { everyWay, type Place, prices, streams } from '../catalogue';
import { at } from '../dialects';
import type { Drill } from '../drill';
import type { Testbed } from '../testbed';
import { type Scene, WORDS } from '../scene';
import { eventsBeforeText } from './broken-streams';

/** The head, the bill and the record name the lane that answered, and the attempts the one that did not. */
export const accounting: Drill = {
  name: '16 accounting names who answered',
  scenes: {
    ...everyWay(3),
    ...Object.fromEntries(
      Object.entries(everyWay(2, { retries: 1, namesSupplier: true })).map(([name, way]) => [
        `named ${name}`,
        way,
      ]),
    ),
    ...Object.fromEntries(Object.entries(streams(2)).map(([name, way]) => [`continued ${name}`, way])),
  },
  run: async (context) => {
    await context.inScenes(/^(chat|messages|responses)/, async (scene, sheet) => {
      await scene.fault('a', { kind: 'status', status: 500 }, 1);
      const answer = await scene.ask();
      const wrong = [
        ...faultsInHead(scene, answer),
        ...(await faultsInAccount(context.testbed, scene, answer)),
      ];
      const wanted = 'head, tokens, price and record are b’s; attempts a, b';
      sheet.add('', wanted, wrong.length === 0 ? 'all so' : wrong.join('; '), wrong.length === 0);
    });
    // The primary is away for good: what the answer names is who gave it, as `answer_model: supplier` says.
    await context.inScenes(/^named/, async (scene, sheet) => {
      await scene.fault('a', { kind: 'status', status: 503 });
      const answer = await scene.ask();
      const { a: tries } = await scene.counts();
      const wrong = [
        ...faultsInHead(scene, answer),
        ...(await faultsInAccount(context.testbed, scene, answer)),
      ];
      expectSame(wrong, 'model', answer.models, [scene.upstream(BACKUP)]);
      if (tries > 6) wrong.push(`a was asked ${tries} times`);
      const wanted = 'the answer, its tokens, price and record are b’s by name; a at most 6 times';
      sheet.add('', wanted, wrong.length === 0 ? 'all so' : wrong.join('; '), wrong.length === 0);
    });
    // The head has left with the name of the first lane; what it cost to begin with it is not the caller's.
    await context.inScenes(/^continued/, async (scene, sheet) => {
      await scene.fault('a', { kind: 'cut', after: eventsBeforeText(scene) + 40 });
      const answer = await scene.ask();
      const wrong = await faultsInAccount(context.testbed, scene, answer);
      const wanted = 'tokens once, price and record are b’s; attempts a, b';
      sheet.add('', wanted, wrong.length === 0 ? 'all so' : wrong.join('; '), wrong.length === 0);
    });
  },
};

const BACKUP: Place = 'b';

function faultsInHead(scene: Scene, { headers }: Answer): string[] {
  const wrong: string[] = [];
  expectSame(wrong, 'x-svc-supplier', headers['x-svc-supplier'], scene.provider(BACKUP));
  expectSame(wrong, 'x-svc-region', headers['x-svc-region'], `region-${BACKUP}`);
  expectSame(wrong, 'x-svc-failover', headers['x-svc-failover'], 'true');
  return wrong;
}

async function faultsInAccount(testbed: Testbed, scene: Scene, answer: Answer): Promise<string[]> {
  const wrong: string[] = [];
  const same = (name: string, seen: unknown, expected: unknown): void =>
    expectSame(wrong, name, seen, expected);
  const settled = scene.layout.stream ? answer.trailers : answer.headers;
  const [input, output] = [Number(settled['x-svc-input-tokens']), Number(settled['x-svc-output-tokens'])];
  // A price for a million tokens is that of one token in millionths of a dollar.
  const cost = (input * prices[BACKUP].input + output * prices[BACKUP].output) / 1e6;
  same('ending', answer.ending, 'whole');
  same('output tokens', output, WORDS);
  same('x-svc-cost-usd', Number(settled['x-svc-cost-usd']), cost);

  const record = await testbed.generation(String(answer.headers['x-request-id']));
  same('supplier', at(record, 'supplier'), scene.provider(BACKUP));
  same('region', at(record, 'region'), `region-${BACKUP}`);
  same('served_model', at(record, 'served_model'), scene.upstream(BACKUP));
  same('model', at(record, 'model'), scene.model);
  same('failover', at(record, 'failover'), true);
  same('status', at(record, 'status'), 200);
  same('cost_usd', at(record, 'cost_usd'), cost);
  same('tokens', [at(record, 'input_tokens'), at(record, 'output_tokens')], [input, output]);
  const attempts = at(record, 'attempts');
  const tried = Array.isArray(attempts) ? attempts : [];
  same(
    'attempts',
    tried.map((attempt) => [
      at(attempt, 'supplier'),
      at(attempt, 'model'),
      at(attempt, 'outcome') === 'answered',
    ]),
    [
      [scene.provider('a'), scene.upstream('a'), false],
      [scene.provider(BACKUP), scene.upstream(BACKUP), true],
    ],
  );
  return wrong;
}

function expectSame(wrong: string[], name: string, seen: unknown, expected: unknown): void {
  const [shown, wanted] = [JSON.stringify(seen), JSON.stringify(expected)];
  if (shown !== wanted) wrong.push(`${name} ${shown}, not ${wanted}`);
}
