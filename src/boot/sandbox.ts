import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { parseJsonText } from '../kernel';
import type { ProviderView } from '../catalogue';
import { Logger, processEnvironment, Settings } from '../platform';

export interface Sandbox {
  readonly url: string;
  stop(): Promise<void>;
}

const START_DEADLINE_MS = 15_000;

/**
 * Returns true if the simulated supplier should run. By default: with the embedded database and no real supplier, so
 * that a newcomer's first request works.
 */
export function shouldRunSandbox(
  { sandbox, databaseUrl }: Settings,
  providers: readonly ProviderView[],
): boolean {
  if (sandbox !== 'auto') return sandbox === 'on';
  return databaseUrl === undefined && !providers.some(({ style, visible }) => visible && style !== 'sandbox');
}

export const startSandbox = (logger: Logger): Promise<Sandbox> =>
  startSimulator(logger, { name: 'supplier', entry: ['main.js', '--port', '0', '--control-port', '0'] });

/** Starts the simulated payment processor in a separate process; null if payments go to a real processor. */
export async function startPaymentSandbox(settings: Settings, logger: Logger): Promise<Sandbox | null> {
  if (settings.processor !== 'sandbox') return null;
  const { processorSecretKey = '', processorWebhookSecret = '' } = settings;
  const environment = { SANDBOX_KEY: processorSecretKey, SANDBOX_SIGNING_SECRET: processorWebhookSecret };
  return startSimulator(logger, { name: 'processor', entry: [join('processor', 'main.js')], environment });
}

interface Simulator {
  readonly name: string;
  /** Path below the simulators' folder, followed by its arguments. */
  readonly entry: readonly [file: string, ...words: string[]];
  readonly environment?: Readonly<Record<string, string>>;
}

async function startSimulator(
  logger: Logger,
  { name, entry: [file, ...words], environment = {} }: Simulator,
): Promise<Sandbox> {
  const child = spawn(process.execPath, [join(__dirname, '..', '..', 'simulator', file), ...words], {
    // The child watches the pipe and exits if this process is killed.
    stdio: ['pipe', 'pipe', 'inherit'],
    detached: true,
    env: { ...processEnvironment, ...environment },
  });
  const { url } = await firstLine(child, name);
  child.on('exit', (code) => {
    if (!child.killed) logger.error(`the sandbox ${name} ended`, { exit_code: code });
  });
  return { url, stop: () => stopChild(child) };
}

async function firstLine(child: ChildProcess, name: string): Promise<{ url: string }> {
  if (child.stdout === null) throw new Error(`the sandbox ${name} has no output`);
  const lines = createInterface({ input: child.stdout });
  const deadline = AbortSignal.timeout(START_DEADLINE_MS);
  const ended = once(child, 'exit', { signal: deadline }).then(() => {
    throw new Error(`the sandbox ${name} did not start`);
  });
  const [line] = (await Promise.race([once(lines, 'line', { signal: deadline }), ended])) as [string];
  ended.catch(() => undefined);
  return parseJsonText(line) as { url: string };
}

async function stopChild(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const exited = once(child, 'exit');
  child.kill('SIGTERM');
  const timer = setTimeout(() => child.kill('SIGKILL'), 3_000);
  await exited;
  clearTimeout(timer);
}
