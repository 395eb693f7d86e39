import { startEmbeddedPostgres } from '#inside/platform/database/embedded-postgres';

/** A process that holds an embedded server until it is killed or asked to end. */
async function main(dataFolder: string): Promise<void> {
  const asked = new Promise((resolve) => process.once('SIGTERM', resolve));
  const server = await startEmbeddedPostgres({ dataFolder, durable: false });
  const waiting = setInterval(() => undefined, 60_000);
  process.stdout.write(`${server.url}\n`);
  await asked;
  clearInterval(waiting);
  await server.stop();
}

main(process.argv[2] ?? '').catch((error: unknown) => {
  process.stderr.write(String(error));
  process.exitCode = 1;
});
