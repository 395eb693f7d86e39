'use strict';
// Possible failures of a page handler of each kind.
const { fail, getter, leaving, odd, rejects } = require('../ways-to-fail.cjs');

/** The host provides this object only to extensions; the proof reads this file as well. */
const done = (...given) => globalThis[Symbol.for('switchboard.extension.host')].done(...given);

const circle = () => {
  const round = {};
  round.round = round;
  return round;
};
const any = {
  ...fail,
  ...rejects,
  'rejects with what cannot be printed': () => Promise.reject(odd()),
  'leaves promises that fail, and throws': () => {
    leaving()();
    throw new Error('it leaves some');
  },
  'answers what throws when it is awaited': () => getter('then'),
};
function* breaking() {
  yield [1];
  throw new Error('it broke between rows');
}

const faults = {
  page: {
    ...any,
    hangs: () => new Promise(() => undefined),
    'answers a model that throws when it is read': () => ({ word: getter('inner') }),
    'answers a list that throws when it is read': () => ({
      list: {
        [Symbol.iterator]() {
          throw new Error('no list');
        },
      },
    }),
    'answers what cannot be printed': () => ({ word: { inner: odd() } }),
    'its view never ends': () => ({}),
  },
  data: {
    ...any,
    'answers a circle': circle,
    'answers a huge whole number': () => ({ number: 1n }),
    'answers what throws when it is read': () => getter('field'),
    'answers what throws when it is written': () => ({ toJSON: fail.throws }),
  },
  action: {
    ...any,
    'answers a circle': circle,
    'leads to no address': () => done(undefined, {}),
    'leads to what cannot be printed': () => done(odd(), {}),
    'tells facts that are a circle': () => done('/x/pages', circle()),
    'records what throws when it is read': () => done('/x/pages', {}, { record: getter('id') }),
    'records a label that cannot be printed': () => done('/x/pages', {}, { record: { label: odd() } }),
    'records changes that throw when they are read': () =>
      done('/x/pages', {}, { record: { changes: getter('field') } }),
    'records changes that are a circle': () =>
      done('/x/pages', {}, { record: { changes: { field: [null, circle()] } } }),
  },
  csv: {
    ...any,
    'answers nothing': () => undefined,
    'answers a text': () => 'a,b',
    'answers no columns': () => ({ rows: [] }),
    'answers rows that are no list': () => ({ columns: ['a'], rows: 42 }),
    'answers a row that is no list': () => ({ columns: ['a'], rows: [42] }),
    'breaks between rows': () => ({ columns: ['a'], rows: breaking() }),
  },
};

module.exports = faults;
