import { once } from 'node:events';
import { createServer } from 'node:net';
import { errorCode } from '../config/error-code';
import type { Settings } from '../config/settings';
import { SettingsError } from '../config/settings-error';

/** The first start makes keys and shows them once it serves: a port that is taken has to be found before. */
export async function assertPortsFree(settings: Settings): Promise<void> {
  const ports = [
    { name: 'PORT', host: settings.host, port: settings.port },
    { name: 'METRICS_PORT', host: settings.metricsHost, port: settings.metricsPort },
  ];
  const faults = [];
  for (const { name, host, port } of ports) {
    const problem = port === 0 ? undefined : await problemOf(host, port);
    if (problem !== undefined) faults.push({ name, problem });
  }
  if (faults.length > 0) throw new SettingsError(faults);
}

async function problemOf(host: string, port: number): Promise<string | undefined> {
  const server = createServer();
  try {
    await once(server.listen({ host, port }), 'listening');
  } catch (error) {
    return errorCode(error) === 'EADDRINUSE'
      ? `port ${port} of ${host} is taken; choose another`
      : `cannot listen on port ${port} of ${host} (${errorCode(error)})`;
  }
  server.close();
  await once(server, 'close');
  return undefined;
}
