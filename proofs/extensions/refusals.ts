/** A start to be rejected: the source of an extension, and the expected text of the rejection next to its name. */
export interface RefusedStart {
  readonly fault: string;
  readonly module: string;
  readonly says: string;
  /** Appended to the path in the list of extensions. */
  readonly suffix?: string;
}

const validFields = `id: 'faulty', version: '1.0.0', host: '^1', setup: () => ({})`;
const withField = (fault: string, fields: string, says: string): RefusedStart => ({
  fault,
  module: `exports.default = { ${validFields}, ${fields} };`,
  says,
});
const withRegistration = (fault: string, adds: string, says: string): RefusedStart =>
  withField(fault, `setup: () => (${adds})`, says);

const gate = (fields: string): string =>
  `{ gates: [{ name: 'g', timeoutMs: 100, onError: 'open', request() {}, ${fields} }] }`;

export const refusedStarts: readonly RefusedStart[] = [
  { fault: 'its file is half a file', module: 'exports.default = {', says: 'loading ' },
  { fault: 'its file throws', module: `throw new Error('half')`, says: 'half' },
  { fault: 'its file throws null', module: 'throw null', says: 'loading ' },
  { fault: 'it has no default export', module: 'exports.other = {};', says: 'its id is not' },
  { fault: 'its default export is a text', module: `exports.default = 'x';`, says: 'no default export' },
  withField('it has no id', 'id: undefined', 'its id is not'),
  withField('its id is a path', `id: '../x'`, 'its id is not'),
  withField('it has no version', `version: ''`, 'it has no version'),
  withField('it was written for the next contract', `host: '^2'`, 'written for the contract ^2'),
  withField('it was written for a later contract', `host: '^1.999'`, 'written for the contract ^1.999'),
  withField('it was written for any contract', `host: '*'`, 'is no range such as ^1'),
  withField('it needs a port that there is not', `needs: ['ledger']`, 'it needs "ledger"'),
  withField('it has no setup', 'setup: 42', 'it has no setup()'),
  withField('setup throws', `setup() { throw new Error('no licence') }`, 'setup() failed: no licence'),
  withField('setup throws null', 'setup() { throw null }', 'setup() failed'),
  withField('setup rejects', `setup: () => Promise.reject(new Error('later'))`, 'setup() failed: later'),
  withField('setup never settles', 'setup: () => new Promise(() => undefined)', 'setup() failed'),
  withField('setup answers nothing', 'setup: () => undefined', 'did not return an object'),
  withField(
    'setup uses a port',
    `needs: ['db'], setup: ({ ports }) => ports.db`,
    'before the service had started',
  ),
  withField(
    'its settings have a fault',
    `settings: { '~standard': { version: 1, vendor: 'x', validate: () => ({ issues: [{ message: 'depth' }] }) } }`,
    'its settings have a fault',
  ),
  withRegistration('it adds what is unknown', '{ doors: [] }', 'returned "doors"'),
  withRegistration('its module is no class', '{ module: 42 }', 'module is no class'),
  withRegistration('its gates are no list', '{ gates: 42 }', 'gates is no list'),
  withRegistration('a gate is null', '{ gates: [null] }', 'is no object'),
  withRegistration('a gate has no deadline', gate('timeoutMs: undefined'), 'needs a timeoutMs'),
  withRegistration('a gate has all the time', gate('timeoutMs: 1e9'), 'needs a timeoutMs'),
  withRegistration('a gate has no policy', gate(`onError: 'maybe'`), 'needs onError'),
  withRegistration('a gate looks nowhere', gate('request: undefined'), 'has none of'),
  withRegistration('a gate has a name of two words', gate(`name: 'a b'`), 'has no name of small letters'),
  withRegistration('a mask looks nowhere', gate('answer: { longest: 9 }'), 'answer without find()'),
  withRegistration(
    'a mask looks back for ever',
    gate('answer: { longest: 1e9, find() {} }'),
    'longest is not from',
  ),
  withRegistration('a tap delivers nothing', `{ taps: [{ name: 't' }] }`, 'needs deliver()'),
  withRegistration(
    'a tap takes none',
    `{ taps: [{ name: 't', batchSize: 0, deliver() {} }] }`,
    'has a batchSize',
  ),
  withRegistration('a policy forbids nothing', `{ policies: [{ name: 'p' }] }`, 'has none of forbidsModel'),
  withRegistration('a fee has no amount', `{ priceComponents: [{ name: 'f' }] }`, 'needs fee()'),
  withRegistration('a job has no time', `{ jobs: [{ name: 'j', cron: 'soon', run() {} }] }`, 'needs a cron'),
  withRegistration(
    'a command says nothing',
    `{ commands: [{ name: 'c', run() {} }] }`,
    'needs run() and a summary',
  ),
  withRegistration(
    'two fees have one name',
    `{ priceComponents: [1, 2].map(() => ({ name: 'f', fee() {} })) }`,
    'are named f',
  ),
  {
    ...withField('its files are others', '', 'its files have the digest'),
    suffix: `#sha256=${'0'.repeat(64)}`,
  },
  { ...withField('its digest is none', '', 'is not #sha256='), suffix: '#md5=1' },
];
