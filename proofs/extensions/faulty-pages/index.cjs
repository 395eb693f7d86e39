'use strict';
// A route per possible failure of a handler of each kind. Decorators are called as functions.
const faults = require('./faults.cjs');
const { nameOf } = require('../ways-to-fail.cjs');

const { Access, Action, Controller, Csv, Data, Module, Page } =
  globalThis[Symbol.for('switchboard.extension.host')];

const kinds = {
  page: (path, fault) => Page(path, fault === 'its view never ends' ? 'loop' : 'word', Access.session()),
  data: (path) => Data(path, Access.session()),
  action: (path) => Action(path, Access.session(), { audit: 'changed' }),
  csv: (path) => Csv(path, Access.session(), 'proof'),
};

class Pages {}
for (const [kind, ways] of Object.entries(faults))
  for (const [fault, act] of Object.entries(ways)) {
    const path = `${kind}-${nameOf(fault)}`;
    const descriptor = { value: () => act(), writable: true, configurable: true, enumerable: false };
    Object.defineProperty(Pages.prototype, path, descriptor);
    kinds[kind](path, fault)(Pages.prototype, path, descriptor);
  }
Controller('x/pages')(Pages);
class PagesModule {}
Module({ controllers: [Pages] })(PagesModule);

exports.default = {
  id: 'pages',
  version: '1.0.0',
  host: '^1',
  views: './views',
  messages: './messages',
  setup: () => ({ module: PagesModule }),
};
