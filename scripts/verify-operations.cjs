/** Starts the built service on an empty folder and prints how much of the contract it serves, and how much is proven. */
const { mkdtempSync, rmSync, chmodSync } = require('node:fs');
const { tmpdir } = require('node:os');
const { join } = require('node:path');
const { compareOperations } = require('./operations.cjs');

async function main() {
  const { startService } = require('../dist/src/boot/start-service.js');
  const { LeanAdapter, loadSettings, Logger } = require('../dist/src/platform/index.js');
  const folder = mkdtempSync(join(tmpdir(), 'switchboard-operations-'));
  chmodSync(folder, 0o711);
  const settings = loadSettings({
    NODE_ENV: 'test',
    PORT: '0',
    METRICS_PORT: '0',
    LOG_LEVEL: 'error',
    SANDBOX: 'off',
    WORKERS: 'off',
    DATA_FOLDER: folder,
  });
  const service = await startService(settings, Logger.create(settings));
  try {
    const { implemented, pending, total } = compareOperations(
      service.application.get(LeanAdapter).routes.added,
    );
    if (process.argv.includes('--list')) for (const name of pending) console.log(`pending  ${name}`);
    const { scenarios } = require('../dist/proofs/operations/scenarios/index.js');
    const proven = new Set(scenarios.map(({ operation }) => operation));
    const counted = implemented.filter((name) => proven.has(name));
    if (process.argv.includes('--list')) {
      for (const name of implemented) if (!proven.has(name)) console.log(`no scenario  ${name}`);
    }
    console.log(`served ${implemented.length} of ${total}; with a scenario ${counted.length}`);
  } finally {
    await service.close();
    rmSync(folder, { recursive: true, force: true });
  }
}

main().then(
  () => process.exit(0),
  (error) => {
    console.error(error);
    process.exit(1);
  },
);
