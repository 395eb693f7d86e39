/** Starts the artefact on an empty folder: what of the contract it does not serve, or no scenario proves, is a failure. */
const { compareOperations } = require('./operations.cjs');

async function main() {
  const { startGateway } = require('../dist/test/system/gateway.js');
  const { servedRoutes } = require('../dist/test/system/routes.js');
  const { scenarios } = require('../dist/proofs/operations/scenarios/index.js');
  const gateway = await startGateway({ WORKERS: 'off' });
  try {
    const routes = await servedRoutes(gateway.node.url);
    const { implemented, pending, total } = compareOperations(
      routes.map(({ method, path }) => [method, path]),
    );
    const proven = new Set(scenarios.map(({ operation }) => operation));
    const unproven = implemented.filter((name) => !proven.has(name));
    for (const name of pending) console.log(`pending  ${name}`);
    for (const name of unproven) console.log(`no scenario  ${name}`);
    const counted = implemented.length - unproven.length;
    console.log(`served ${implemented.length} of ${total}; with a scenario ${counted}`);
    return pending.length + unproven.length === 0 ? 0 : 1;
  } finally {
    await gateway.stop();
  }
}

main().then(
  (code) => process.exit(code),
  (error) => {
    console.error(error);
    process.exit(1);
  },
);
