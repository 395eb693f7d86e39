import { once } from 'node:events';
import { createServer } from 'node:net';
import { errorCode } from '../config/error-code';
import type { Settings } from '../config/settings';
import { SettingsError } from '../config/settings-error';

/** The first start creates keys and shows them once it serves, so a port that is in use must be detected before. */
export async function assertPortsFree(settings: Settings): Promise<void> {
  const ports = [
    { name: 'PORT', host: settings.host, port: settings.port },
    { name: 'METRICS_PORT', host: settings.metricsHost, port: settings.metricsPort },
  ];
  const issues = [];
  for (const { name, host, port } of ports) {
    const problem = port === 0 ? undefined : await portProblem(host, port);
    if (problem !== undefined) issues.push({ name, problem });
  }
  if (issues.length > 0) throw new SettingsError(issues);
}

async function portProblem(host: string, port: number): Promise<string | undefined> {
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
