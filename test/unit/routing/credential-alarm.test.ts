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
  const logOutput: string[] = [];
  const storedMarks: string[] = [];
  let shiftMs = 0;
  const realNow = performance.now.bind(performance);
  jest.spyOn(performance, 'now').mockImplementation(() => realNow() + shiftMs);
  let lookupCount = 0;
  const store = {
    resolve: () => ({ id: 1, kind: 'api-key' }),
    setHealth: (_id: number, health: string) => Promise.resolve(void storedMarks.push(health)),
    clearRejected: () => {
      lookupCount += 1;
      if (storedMarks.at(-1) === 'rejected') storedMarks.push('ok');
      return Promise.resolve();
    },
  } as unknown as CredentialStore;
  const logger = Logger.create(
    { logLevel: 'info', logFormat: 'json' },
    { write: (line: string) => logOutput.push(line) },
  );
  const lines = (): string[] => logOutput.map((line) => (JSON.parse(line) as { msg: string }).msg);
  return {
    alarm: new CredentialAlarm(store, logger),
    lines,
    marks: storedMarks,
    pass: (ms) => (shiftMs += ms),
    looks: () => lookupCount,
  };
}

const problem = fault('provider_unavailable');

afterEach(() => jest.restoreAllMocks());

test('rejected credential is logged once a minute and marked until it is accepted', () => {
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

test('supplier that rejects a single model is logged once a minute without marking the credential', () => {
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

test('requests minutes apart: a single rejected model neither sets nor clears a mark', () => {
  const { alarm, lines, marks, pass } = alarmWith();
  alarm.refused(lane('refused'), 403, problem);
  pass(90_000);
  alarm.accepted(lane('served'));
  expect(marks).toEqual(['rejected', 'ok']);
  const lineCount = lines().length;
  for (let attempt = 0; attempt < 3; attempt += 1) {
    pass(90_000);
    alarm.refused(lane('refused'), 403, problem);
    pass(90_000);
    alarm.accepted(lane('served'));
  }
  expect(marks).toEqual(['rejected', 'ok']);
  expect([...new Set(lines().slice(lineCount))]).toEqual([
    'alert: the supplier refuses our credential for this model',
  ]);
  // A rejection of a model that was served until now means that the credential itself is rejected.
  pass(90_000);
  alarm.refused(lane('served'), 403, problem);
  expect(marks.at(-1)).toBe('rejected');
});

test('mark of another node or of an earlier run is looked up at the first response and then once a minute', () => {
  const { alarm, marks, pass, looks } = alarmWith();
  marks.push('rejected');
  for (let call = 0; call < 3; call += 1) alarm.accepted(lane('one'));
  expect([marks, looks()]).toEqual([['rejected', 'ok'], 1]);
  marks.push('rejected');
  pass(61_000);
  for (let call = 0; call < 3; call += 1) alarm.accepted(lane('one'));
  expect([marks, looks()]).toEqual([['rejected', 'ok', 'rejected', 'ok'], 2]);
});
