import { onEndOfLife } from '../lifetime';
import { deliverAll } from './deliveries';
import { ProcessorSimulator } from './processor-simulator';

/** Payment sandbox: accepts payments and delivers events to the service that registers for them. */
async function main(): Promise<void> {
  const { SANDBOX_KEY: key = '', SANDBOX_SIGNING_SECRET: secret = '' } = process.env;
  const simulator = await ProcessorSimulator.start({ key });
  deliverAll(simulator.account, secret);
  onEndOfLife(() => {
    void simulator.stop().then(() => process.exit(0));
  });
  process.stdout.write(`${JSON.stringify({ url: simulator.url })}\n`);
}

void main().catch((error: unknown) => {
  process.stderr.write(`payments sandbox: ${error instanceof Error ? error.message : String(error)}\n`);
  process.exitCode = 1;
});
