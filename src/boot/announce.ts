import { ownProcess, Settings } from '../platform';
import type { FirstKeys } from './first-boot';
import type { RunningService } from './start-service';

/** The start message for a person at the terminal. Keys appear here once and nowhere else. */
export function announce(service: RunningService, settings: Settings, milliseconds: number): void {
  // The supervisor speaks for its processes, but only one of them knows the keys that it made.
  if (ownProcess !== null && service.firstKeys === null) return;
  const lines = [`${settings.brandName} is ready at ${service.url} (${(milliseconds / 1000).toFixed(1)} s).`];
  if (service.sandbox) {
    lines.push(
      'The built-in sandbox simulates the sim-* models. Once a supplier of yours serves a model, the overview offers to ' +
        'remove it.',
    );
  }
  if (settings.processor === 'sandbox') {
    lines.push(
      'Payments are simulated (PROCESSOR=sandbox): no money moves, and cards and customers there go with this start.',
    );
  }
  if (service.firstKeys !== null) {
    // Cookies and passkeys are bound to this host, which an address of the machine is not.
    lines.push(...firstStart(settings.baseUrl, service.firstKeys));
    lines.push(...(service.sandbox ? firstRequest(service.url, service.firstKeys.demo) : firstSupplier));
  }
  process.stdout.write(`\n${lines.join('\n')}\n\n`);
}

const firstStart = (portal: string, keys: FirstKeys): string[] => [
  '',
  'This is the first start. Two keys were made; they are shown only now:',
  `  root admin key  ${keys.root}`,
  `  demo key        ${keys.demo}`,
  '',
  'The owner signs in with this link, once, within 24 hours:',
  `  ${portal}/sign-in-link?token=${keys.signIn}`,
  '',
];

const firstRequest = (url: string, key: string): string[] => [
  'A first request:',
  `  curl ${url}/v1/chat/completions \\`,
  `    -H "Authorization: Bearer ${key}" -H "Content-Type: application/json" \\`,
  `    -d '{"model":"sim-small","messages":[{"role":"user","content":"Hello"}]}'`,
];

const firstSupplier = [
  'There is no model yet. Describe a supplier and its models in a file like examples/gateway.yaml, then:',
  '  npm run cli -- apply gateway.yaml',
];
