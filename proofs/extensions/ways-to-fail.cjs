'use strict';
// Possible failures of any part.

const endless = 'x'.repeat(1_000_000);
const odd = () => Object.create(null);

exports.odd = odd;
exports.fail = {
  throws: () => {
    throw new Error('it broke');
  },
  'throws null': () => {
    throw null;
  },
  'throws what cannot be printed': () => {
    throw odd();
  },
  'throws a huge message': () => {
    throw new Error(endless);
  },
};
exports.rejects = {
  rejects: () => Promise.reject(new Error('it broke later')),
  'rejects with nothing': () => Promise.reject(),
};
/** Returns a value and leaves a rejected promise that nothing awaits. */
exports.leaving = (answer) => () => {
  void Promise.reject(new Error('nobody waits for this'));
  setTimeout(() => void Promise.reject(new Error('nor for this')), 1);
  return answer;
};
exports.getter = (name) => ({
  get [name]() {
    throw new Error('a getter');
  },
});
/** Names of parts consist of lower-case letters and hyphens. */
exports.nameOf = (fault) => fault.toLowerCase().replaceAll(/[^a-z0-9]+/g, '-');
