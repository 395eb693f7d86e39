'use strict';
// Taps, jobs, commands and directories that each fail in one way, next to working ones.
const { appendFileSync } = require('node:fs');
const { join } = require('node:path');
const { fail, getter, leaving, nameOf, odd, rejects } = require('./ways-to-fail.cjs');

const after = (ms, message) => new Promise((_, reject) => setTimeout(() => reject(new Error(message)), ms));
const never = () => new Promise(() => undefined);
/** Throws outside any call that could catch the error. */
const listening = (signal) => {
  signal.addEventListener('abort', () => {
    throw new Error('a listener broke');
  });
  return never();
};
const printsNothing = { 'rejects with what cannot be printed': () => Promise.reject(odd()) };

const taps = {
  ...fail,
  ...rejects,
  ...printsNothing,
  hangs: never,
  'fails after its deadline': () => after(400, 'late'),
  'throws where its signal ends': (_records, signal) => listening(signal),
  'throws what throws when it is read': () => {
    throw getter('message');
  },
  'answers what throws when it is awaited': () => getter('then'),
  'changes its records and throws': (records) => {
    for (const record of records) for (const name of Object.keys(record)) delete record[name];
    throw new Error('it changed them');
  },
  'leaves promises that fail, and throws': () => {
    leaving()();
    throw new Error('it leaves some');
  },
};

const jobs = {
  ...fail,
  ...rejects,
  ...printsNothing,
  'hangs past its deadline': never,
  'fails after its deadline': () => after(1_500, 'late'),
  'fails when nobody waits any more': () => after(7_000, 'too late'),
  'throws where its signal ends': listening,
  'leaves promises that fail, and throws': () => {
    leaving()();
    throw new Error('it leaves some');
  },
  'answers what throws when it is awaited': () => getter('then'),
};

const commands = {
  ...fail,
  ...rejects,
  ...printsNothing,
  'ends with 256': () => 256,
  'ends with less than nothing': () => -1,
  'ends with a half': () => 0.5,
  'ends with no number': () => NaN,
  'ends with a text': () => '0',
  'ends with null': () => null,
  'ends with an object': odd,
  'ends with a list': () => Promise.resolve([0]),
  'answers what throws when it is awaited': () => getter('then'),
  'writes what cannot be printed': (_words, { write }) => write(odd()),
};

const person = { subject: 'u-1', email: 'u@proof.example', emailVerified: true };
const directories = {
  ...fail,
  ...rejects,
  ...printsNothing,
  hangs: never,
  'throws where its signal ends': (_typed, signal) => listening(signal),
  'fails after its deadline': () => after(10_500, 'late'),
  'answers nothing': () => undefined,
  'answers true': () => true,
  'answers a text': () => 'u-1',
  'answers a function': () => odd,
  'answers a list': () => [person],
  'answers nobody': () => ({}),
  'answers an empty subject': () => ({ ...person, subject: '' }),
  'answers a subject that is a number': () => ({ ...person, subject: 42 }),
  'answers a subject that is an object': () => ({ ...person, subject: odd() }),
  'answers what throws when it is read': () => ({ ...person, ...getter('subject') }),
  'answers what throws when it is awaited': () => getter('then'),
};

const partsOf = (faults, part) =>
  Object.entries(faults).map(([fault, act]) => ({ name: nameOf(fault), ...part(act, fault) }));

/** Writes one line per received record to a file. */
const keeper = (folder, name) => (records) =>
  appendFileSync(join(folder, name), records.map(({ request_id }) => `${request_id}\n`).join(''));

function workingTaps(folder) {
  const [all, back, others] = ['all', 'back', 'others'].map((name) => keeper(folder, name));
  let refused = 0;
  let poison;
  return [
    { name: 'all', deliver: async (records) => all(records) },
    {
      name: 'back',
      deliver: async (records) => {
        refused += 1;
        if (refused <= 5) throw new Error('it is down');
        back(records);
      },
    },
    {
      name: 'others',
      deliver: async (records) => {
        poison ??= records[0].request_id;
        if (records.some(({ request_id }) => request_id === poison)) throw new Error('a record is at fault');
        others(records);
      },
    },
  ];
}

exports.faults = { taps, jobs, commands, directories };
exports.default = {
  id: 'parts',
  version: '1.0.0',
  host: '^1',
  settings: { '~standard': { version: 1, vendor: 'proof', validate: (value) => ({ value }) } },
  setup: ({ settings: { folder } }) => ({
    taps: [...workingTaps(folder), ...partsOf(taps, (deliver) => ({ timeoutMs: 100, deliver }))],
    jobs: [
      { name: 'works', cron: '* * * * * *', run: async () => undefined },
      ...partsOf(jobs, (run) => ({ cron: '* * * * * *', deadlineMs: 1_000, run })),
    ],
    commands: partsOf(commands, (run, summary) => ({ summary, run })),
    identityProviders: partsOf(directories, (authenticate, fault) => ({
      label: fault.slice(0, 60),
      authenticate,
    })),
  }),
};
