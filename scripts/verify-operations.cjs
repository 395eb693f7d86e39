/** Starts the built service on an empty folder, asks it for its routes, and prints how much of the contract they are. */
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
    console.log(`implemented ${implemented.length} of ${total}`);
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
