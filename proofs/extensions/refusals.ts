/** A start that is to be refused: the module of an extension, and what the refusal says beside its name. */
export interface RefusedStart {
  readonly fault: string;
  readonly module: string;
  readonly says: string;
  /** It follows the path in the list of extensions. */
  readonly suffix?: string;
}

const usual = `id: 'faulty', version: '1.0.0', host: '^1', setup: () => ({})`;
const defined = (fault: string, fields: string, says: string): RefusedStart => ({
  fault,
  module: `exports.default = { ${usual}, ${fields} };`,
  says,
});
const adding = (fault: string, adds: string, says: string): RefusedStart =>
  defined(fault, `setup: () => (${adds})`, says);

const gate = (fields: string): string =>
  `{ gates: [{ name: 'g', timeoutMs: 100, onError: 'open', request() {}, ${fields} }] }`;

export const refusedStarts: readonly RefusedStart[] = [
  { fault: 'its file is half a file', module: 'exports.default = {', says: 'loading ' },
  { fault: 'its file throws', module: `throw new Error('half')`, says: 'half' },
  { fault: 'its file throws null', module: 'throw null', says: 'loading ' },
  { fault: 'it has no default export', module: 'exports.other = {};', says: 'its id is not' },
  { fault: 'its default export is a text', module: `exports.default = 'x';`, says: 'no default export' },
  defined('it has no id', 'id: undefined', 'its id is not'),
  defined('its id is a path', `id: '../x'`, 'its id is not'),
  defined('it has no version', `version: ''`, 'it has no version'),
  defined('it was written for the next contract', `host: '^2'`, 'written for the contract ^2'),
  defined('it was written for a later contract', `host: '^1.999'`, 'written for the contract ^1.999'),
  defined('it was written for any contract', `host: '*'`, 'is no range such as ^1'),
  defined('it needs a port that there is not', `needs: ['ledger']`, 'it needs "ledger"'),
  defined('it has no setup', 'setup: 42', 'it has no setup()'),
  defined('setup throws', `setup() { throw new Error('no licence') }`, 'setup() failed: no licence'),
  defined('setup throws null', 'setup() { throw null }', 'setup() failed'),
  defined('setup rejects', `setup: () => Promise.reject(new Error('later'))`, 'setup() failed: later'),
  defined('setup never settles', 'setup: () => new Promise(() => undefined)', 'setup() failed'),
  defined('setup answers nothing', 'setup: () => undefined', 'did not return an object'),
  defined(
    'setup uses a port',
    `needs: ['db'], setup: ({ ports }) => ports.db`,
    'before the service had started',
  ),
  defined(
    'its settings have a fault',
    `settings: { '~standard': { version: 1, vendor: 'x', validate: () => ({ issues: [{ message: 'depth' }] }) } }`,
    'its settings have a fault',
  ),
  adding('it adds what is unknown', '{ doors: [] }', 'returned "doors"'),
  adding('its module is no class', '{ module: 42 }', 'module is no class'),
  adding('its gates are no list', '{ gates: 42 }', 'gates is no list'),
  adding('a gate is null', '{ gates: [null] }', 'is no object'),
  adding('a gate has no deadline', gate('timeoutMs: undefined'), 'needs a timeoutMs'),
  adding('a gate has all the time', gate('timeoutMs: 1e9'), 'needs a timeoutMs'),
  adding('a gate has no policy', gate(`onError: 'maybe'`), 'needs onError'),
  adding('a gate looks nowhere', gate('request: undefined'), 'has none of'),
  adding('a gate has a name of two words', gate(`name: 'a b'`), 'has no name of small letters'),
  adding('a mask looks nowhere', gate('answer: { longest: 9 }'), 'answer without find()'),
  adding('a mask looks back for ever', gate('answer: { longest: 1e9, find() {} }'), 'longest is not from'),
  adding('a tap delivers nothing', `{ taps: [{ name: 't' }] }`, 'needs deliver()'),
  adding('a tap takes none', `{ taps: [{ name: 't', batchSize: 0, deliver() {} }] }`, 'has a batchSize'),
  adding('a policy forbids nothing', `{ policies: [{ name: 'p' }] }`, 'has none of forbidsModel'),
  adding('a fee has no amount', `{ priceComponents: [{ name: 'f' }] }`, 'needs fee()'),
  adding('a job has no time', `{ jobs: [{ name: 'j', cron: 'soon', run() {} }] }`, 'needs a cron'),
  adding('a command says nothing', `{ commands: [{ name: 'c', run() {} }] }`, 'needs run() and a summary'),
  adding(
    'two fees have one name',
    `{ priceComponents: [1, 2].map(() => ({ name: 'f', fee() {} })) }`,
    'are named f',
  ),
  {
    ...defined('its files are others', '', 'its files have the digest'),
    suffix: `#sha256=${'0'.repeat(64)}`,
  },
  { ...defined('its digest is none', '', 'is not #sha256='), suffix: '#md5=1' },
];
