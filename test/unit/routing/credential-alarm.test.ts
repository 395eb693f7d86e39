import type { CredentialStore, LaneView } from '../../../src/catalogue';
import { fault } from '../../../src/kernel';
import { Logger } from '../../../src/platform';
import { CredentialAlarm } from '../../../src/routing/credential-alarm';

const lane = (upstreamModel: string): LaneView =>
  ({ provider: { id: 7, name: 'a supplier' }, upstreamModel, region: 'eu' }) as unknown as LaneView;

function alarmWith(): {
  alarm: CredentialAlarm;
  lines: () => string[];
  marks: string[];
  pass: (ms: number) => void;
  looks: () => number;
} {
  const written: string[] = [];
  const marks: string[] = [];
  let shiftMs = 0;
  const real = performance.now.bind(performance);
  jest.spyOn(performance, 'now').mockImplementation(() => real() + shiftMs);
  let looked = 0;
  const store = {
    resolve: () => ({ id: 1, kind: 'api-key' }),
    noteHealth: (_id: number, health: string) => Promise.resolve(void marks.push(health)),
    noteAccepted: () => {
      looked += 1;
      if (marks.at(-1) === 'rejected') marks.push('ok');
      return Promise.resolve();
    },
  } as unknown as CredentialStore;
  const logger = Logger.create(
    { logLevel: 'info', logFormat: 'json' },
    { write: (line: string) => written.push(line) },
  );
  const lines = (): string[] => written.map((line) => (JSON.parse(line) as { msg: string }).msg);
  return {
    alarm: new CredentialAlarm(store, logger),
    lines,
    marks,
    pass: (ms) => (shiftMs += ms),
    looks: () => looked,
  };
}

const problem = fault('provider_unavailable');

afterEach(() => jest.restoreAllMocks());

test('a credential that is refused is told once a minute, and marked until it is accepted', () => {
  const { alarm, lines, marks, pass } = alarmWith();
  for (let call = 0; call < 3; call += 1) alarm.refused(lane('one'), 401, problem);
  expect([lines(), marks]).toEqual([['alert: the supplier refuses our credential'], ['rejected']]);
  const { name: provider } = lane('one').provider;
  expect(alarm.states()).toEqual([{ provider, refused: 1 }]);
  pass(61_000);
  alarm.refused(lane('one'), 401, problem);
  expect([lines().length, marks]).toEqual([2, ['rejected']]);
  for (let call = 0; call < 3; call += 1) alarm.accepted(lane('one'));
  expect(lines().slice(2)).toEqual(['the supplier accepts our credential again']);
  expect(marks).toEqual(['rejected', 'ok']);
  expect(alarm.states()).toEqual([{ provider, refused: 0 }]);
});

test('a supplier that refuses one model and serves another is told of once a minute, and the credential stays', () => {
  const { alarm, lines, marks, pass } = alarmWith();
  alarm.accepted(lane('served'));
  for (let call = 0; call < 50; call += 1) {
    alarm.refused(lane('refused'), 403, problem);
    alarm.accepted(lane('served'));
  }
  expect(lines()).toEqual(['alert: the supplier refuses our credential for this model']);
  pass(61_000);
  alarm.accepted(lane('served'));
  alarm.refused(lane('refused'), 403, problem);
  expect(lines()).toHaveLength(2);
  expect(marks).toEqual([]);
  alarm.accepted(lane('refused'));
  expect(lines()[2]).toBe('the supplier accepts our credential again');
  expect(marks).toEqual([]);
});

test('also where minutes pass between the requests: one refused model neither marks nor clears again', () => {
  const { alarm, lines, marks, pass } = alarmWith();
  alarm.refused(lane('refused'), 403, problem);
  pass(90_000);
  alarm.accepted(lane('served'));
  expect(marks).toEqual(['rejected', 'ok']);
  const told = lines().length;
  for (let round = 0; round < 3; round += 1) {
    pass(90_000);
    alarm.refused(lane('refused'), 403, problem);
    pass(90_000);
    alarm.accepted(lane('served'));
  }
  expect(marks).toEqual(['rejected', 'ok']);
  expect([...new Set(lines().slice(told))]).toEqual([
    'alert: the supplier refuses our credential for this model',
  ]);
  // A model that was served until now says that the credential itself is refused.
  pass(90_000);
  alarm.refused(lane('served'), 403, problem);
  expect(marks.at(-1)).toBe('rejected');
});

test('a mark of another node, or of before the start, is looked for at the first answer and then once a minute', () => {
  const { alarm, marks, pass, looks } = alarmWith();
  marks.push('rejected');
  for (let call = 0; call < 3; call += 1) alarm.accepted(lane('one'));
  expect([marks, looks()]).toEqual([['rejected', 'ok'], 1]);
  marks.push('rejected');
  pass(61_000);
  for (let call = 0; call < 3; call += 1) alarm.accepted(lane('one'));
  expect([marks, looks()]).toEqual([['rejected', 'ok', 'rejected', 'ok'], 2]);
});
