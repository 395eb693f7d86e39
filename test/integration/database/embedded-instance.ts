import { startEmbeddedPostgres } from '../../../src/platform/database/embedded-postgres';

/** A process that holds an embedded server until it is killed or asked to end. */
async function main(dataFolder: string): Promise<void> {
  const asked = new Promise((resolve) => process.once('SIGTERM', resolve));
  const server = await startEmbeddedPostgres({ dataFolder, durable: false });
  const waiting = setInterval(() => undefined, 60_000);
  console.log(server.url);
  await asked;
  clearInterval(waiting);
  await server.stop();
}

main(process.argv[2] ?? '').catch((error: unknown) => {
  console.error(error instanceof Error ? `${error.name}: ${error.message}` : error);
  process.exitCode = 1;
});
