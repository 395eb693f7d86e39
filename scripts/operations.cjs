/** Compares the routes a running service has with the operations of the contract. */
const { readFileSync } = require('node:fs');
const { join } = require('node:path');

const contractFolder = join(__dirname, '..', 'test', 'contract');
const { operations } = JSON.parse(readFileSync(join(contractFolder, 'operations.json'), 'utf8'));

/** Nest drops a slash at the end of a path, so routes that have one are written with an optional one. */
const shape = (path) => path.replace('{/}', '/').replace(/\{[^}]+\}|:[^/]+/g, '{}');
const nameOf = ({ method, path }) => `${method} ${path}`;

/** `routes` is a list of [method, path] as the adapter knows them. */
function compareOperations(routes) {
  const served = new Set(routes.map(([method, path]) => `${method} ${shape(path)}`));
  const isServed = ({ method, path }) => served.has(`${method} ${shape(path)}`);
  return {
    total: operations.length,
    implemented: operations.filter(isServed).map(nameOf),
    pending: operations.filter((operation) => !isServed(operation)).map(nameOf),
  };
}

module.exports = { compareOperations };
