import { startEmbeddedPostgres } from '#inside/platform/database/embedded-postgres';

/** Holds an embedded server until the process is killed or terminated. */
async function main(dataFolder: string): Promise<void> {
  const terminated = new Promise((resolve) => process.once('SIGTERM', resolve));
  const server = await startEmbeddedPostgres({ dataFolder, durable: false });
  const keepAliveTimer = setInterval(() => undefined, 60_000);
  process.stdout.write(`${server.url}\n`);
  await terminated;
  clearInterval(keepAliveTimer);
  await server.stop();
}

main(process.argv[2] ?? '').catch((error: unknown) => {
  process.stderr.write(String(error));
  process.exitCode = 1;
});
